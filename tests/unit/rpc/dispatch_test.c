/* Where a message becomes a call, and the end of a call a response. */
#include "server/tasks/tasks_parts.h"
#include "tests/support/rpc_stage.h"

static uint64_t count_of(const _Atomic uint64_t *f)
{
    return atomic_load_explicit(f, memory_order_relaxed);
}

RPC_TEST(a_handlers_name_is_a_method)
{
    assert_string_equal(stage_answer("echo", "[5, 'six']"), "1: [5, 'six']\n");
    assert_string_equal(stage_answer("block", "[5]"), "1: [5]\n");
    assert_string_equal(stage_answer("again", "[3]"), "1: nil\n");
}

RPC_TEST(each_way_to_fail_is_answered)
{
    assert_string_equal(stage_answer("fail", "[]"), "1 failed: 'NO_LUCK: none today'\n");
    assert_non_null(strstr(stage_answer("fault", "[]"), "1 failed: 'FAILED: "));
    assert_non_null(strstr(stage_answer("late_fault", "[]"), "1 failed: 'FAILED: "));
    assert_string_equal(stage_answer("echo", "[5]"), "1: [5]\n");
}

RPC_TEST(unknown_methods_of_requests_are_answered)
{
    static const char *const names[] = {"none", "", "server.nothing", "task.nothing",
                                        "sem.nothing"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(strstr(stage_answer(names[i], "[]"), "1 failed: 'NO_METHOD: no method \""));
    assert_int_equal(count_of(&stage.rpc.stats.refused), sizeof names / sizeof names[0]);
}

RPC_TEST(unknown_notifications_are_ignored)
{
    stage_notify(&peer, "nvim_set_client_info", "['x', {}, 'remote', {}, {}]");
    stage_notify(&peer, "nvim_error_event", "[0, 'Invalid method']");
    assert_string_equal(stage_said(), "");
    assert_int_equal(count_of(&stage.rpc.stats.ignored), 2);
    assert_int_equal(count_of(&stage.rpc.stats.notifications), 2);
    assert_string_equal(stage_answer("echo", "[5]"), "1: [5]\n");
}

RPC_TEST(notifications_run_and_are_not_answered)
{
    struct tasks_info info;

    stage_notify(&peer, "echo", "[5]");
    stage_notify(&peer, "fail", "[]");
    stage_notify(&peer, "sleep", "[10]");
    stage_notify(&peer, "block", "[]");
    assert_string_equal(stage_said(), "");
    tasks_info(stage.tasks, &info);
    assert_int_equal(info.calls, 4);
    assert_int_equal(info.done, 3);
    assert_int_equal(info.failed, 1);
    assert_int_equal(stage.conn->in_flight, 0);
}

/* Else refusals would add up, until the connection is not read any more. */
RPC_TEST(a_call_that_is_refused_is_not_in_flight)
{
    enum { MOST = 2000 }; /* more than the queue and its reserve take */
    struct manager_inbox *in = &stage.tasks->shared.inbox;

    for (int i = 0; i < MOST; i++)
        manager_admit(in, stage.tasks->shared.local[POOL_BLOCKING], NULL, true);
    assert_non_null(strstr(stage_answer("block", "[5]"), "1 failed: 'BUSY: "));
    assert_int_equal(stage.conn->in_flight, 0);
    manager_dismiss(in, stage.tasks->shared.local[POOL_BLOCKING], MOST);
    assert_string_equal(stage_answer("block", "[5]"), "1: [5]\n");
}

RPC_TEST(responses_to_nothing_are_ignored)
{
    static const uint8_t responses[] = "\x94\x01\x07\xc0\x05\x94\x01\x00\xa1x\xc0";

    script_send(&peer, span_of(responses, sizeof responses - 1));
    assert_string_equal(stage_said(), "");
    assert_int_equal(count_of(&stage.rpc.stats.ignored), 2);
}

/* But for notifications, which nobody waits for in any case. */
RPC_TEST(a_peer_that_is_gone_takes_its_requests_with_it)
{
    struct tasks_info info;

    stage_ask(&peer, 1, "hang", "[]");
    stage_ask(&peer, 2, "sleep", "[50]");
    stage_ask(&peer, 3, "block", "[]");
    stage_notify(&peer, "sleep", "[70]");
    net_run_ms(0);
    assert_int_equal(stage.conn->in_flight, 4);
    script_reset(&peer);
    assert_string_equal(stage_said(), "");
    tasks_info(stage.tasks, &info);
    assert_int_equal(info.cancelled, 3);
    assert_int_equal(info.done, 1);
    assert_null(LIST_FIRST(&net.loop->all));
}

RPC_TEST(after_its_fin_a_peer_is_answered)
{
    stage_ask(&peer, 1, "sleep", "[50]");
    stage_ask(&peer, 2, "block", "[5]");
    script_send_eof(&peer);
    assert_string_equal(stage_said(), "2: [5]\n1: [50]\n");
    assert_true(peer.closed);
}

RPC_TEST(peers_know_nothing_of_each_other)
{
    static struct script other;

    net_connect(&other);
    stage_ask(&peer, 1, "sleep", "[50]");
    stage_ask(&other, 1, "sleep", "[60]");
    stage_ask(&other, 2, "server.cancel", "[1]");
    assert_string_equal(stage_said(), "1: [50]\n");
    assert_string_equal(stage_said_to(&other),
                        "1 failed: 'CANCELLED: the call was cancelled'\n2: true\n");
    script_reset(&other);
    stage_run();
}
