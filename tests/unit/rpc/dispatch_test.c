/* Where a message becomes a call, and the end of a call a response. */
#include "tests/unit/rpc/stage.h"

static uint64_t count_of(const _Atomic uint64_t *f)
{
    return atomic_load_explicit(f, memory_order_relaxed);
}

static void a_handlers_name_is_a_method(void **state)
{
    (void)state;
    assert_string_equal(stage_answer("echo", "[5, 'six']"), "1: [5, 'six']\n");
    assert_string_equal(stage_answer("block", "[5]"), "1: [5]\n");
    assert_string_equal(stage_answer("again", "[3]"), "1: nil\n");
}

static void each_way_to_fail_is_answered(void **state)
{
    (void)state;
    assert_string_equal(stage_answer("fail", "[]"), "1 failed: 'NO_LUCK: none today'\n");
    assert_non_null(strstr(stage_answer("fault", "[]"), "1 failed: 'FAILED: "));
    assert_non_null(strstr(stage_answer("late_fault", "[]"), "1 failed: 'FAILED: "));
    assert_string_equal(stage_answer("echo", "[5]"), "1: [5]\n");
}

static void unknown_methods_of_requests_are_answered(void **state)
{
    static const char *const names[] = {"none", "", "server.nothing", "task.nothing",
                                        "sem.acquire"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(strstr(stage_answer(names[i], "[]"), "1 failed: 'NO_METHOD: no method \""));
    assert_int_equal(count_of(&stage.w.rpc.stats.refused), sizeof names / sizeof names[0]);
}

static void unknown_notifications_are_ignored(void **state)
{
    (void)state;
    rpc_world_notify(&stage.peer, "nvim_set_client_info", "['x', {}, 'remote', {}, {}]");
    rpc_world_notify(&stage.peer, "nvim_error_event", "[0, 'Invalid method']");
    assert_string_equal(stage_said(), "");
    assert_int_equal(count_of(&stage.w.rpc.stats.ignored), 2);
    assert_int_equal(count_of(&stage.w.rpc.stats.notifications), 2);
    assert_string_equal(stage_answer("echo", "[5]"), "1: [5]\n");
}

static void notifications_run_and_are_not_answered(void **state)
{
    struct tasks_info info;

    (void)state;
    rpc_world_notify(&stage.peer, "echo", "[5]");
    rpc_world_notify(&stage.peer, "fail", "[]");
    rpc_world_notify(&stage.peer, "sleep", "[10]");
    rpc_world_notify(&stage.peer, "block", "[]");
    assert_string_equal(stage_said(), "");
    tasks_info(stage.w.tasks, &info);
    assert_int_equal(info.calls, 4);
    assert_int_equal(info.done, 3);
    assert_int_equal(info.failed, 1);
    assert_int_equal(stage.conn->in_flight, 0);
}

static void responses_to_nothing_are_ignored(void **state)
{
    static const uint8_t responses[] = "\x94\x01\x07\xc0\x05\x94\x01\x00\xa1x\xc0";

    (void)state;
    script_send(&stage.peer, span_of(responses, sizeof responses - 1));
    assert_string_equal(stage_said(), "");
    assert_int_equal(count_of(&stage.w.rpc.stats.ignored), 2);
}

static void a_peer_that_is_gone_takes_its_calls_with_it(void **state)
{
    struct tasks_info info;

    (void)state;
    rpc_world_ask(&stage.peer, 1, "hang", "[]");
    rpc_world_ask(&stage.peer, 2, "sleep", "[50]");
    rpc_world_ask(&stage.peer, 3, "block", "[]");
    rpc_world_notify(&stage.peer, "hang", "[]");
    virtual_run_until(&stage.w.v, 0);
    assert_int_equal(stage.conn->in_flight, 4);
    script_reset(&stage.peer);
    assert_string_equal(stage_said(), "");
    tasks_info(stage.w.tasks, &info);
    assert_int_equal(info.cancelled, 4);
    assert_null(LIST_FIRST(&stage.w.net->all));
}

static void after_its_fin_a_peer_is_answered(void **state)
{
    (void)state;
    rpc_world_ask(&stage.peer, 1, "sleep", "[50]");
    rpc_world_ask(&stage.peer, 2, "block", "[5]");
    script_send_eof(&stage.peer);
    assert_string_equal(stage_said(), "2: [5]\n1: [50]\n");
    assert_true(stage.peer.closed);
}

static void a_draining_task_system_refuses(void **state)
{
    (void)state;
    tasks_drain(stage.w.tasks, NULL, NULL);
    rpc_world_run(&stage.w);
    assert_string_equal(stage_answer("echo", "[]"),
                        "1 failed: 'DRAINING: the server is shutting down'\n");
    assert_string_equal(stage_answer("server.ping", "[]"), "1: 'pong'\n");
    assert_int_equal(stage.conn->in_flight, 0);
}

static void peers_know_nothing_of_each_other(void **state)
{
    struct script other;

    (void)state;
    rpc_world_connect(&stage.w, &other);
    rpc_world_ask(&stage.peer, 1, "sleep", "[50]");
    rpc_world_ask(&other, 1, "sleep", "[60]");
    rpc_world_ask(&other, 2, "server.cancel", "[1]");
    assert_string_equal(stage_said(), "1: [50]\n");
    assert_string_equal(rpc_world_said(&stage.w, &other),
                        "1 failed: 'CANCELLED: the call was cancelled'\n2: true\n");
    script_reset(&other);
    rpc_world_run(&stage.w);
    script_fini(&other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, stage_open, stage_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_handlers_name_is_a_method),
        TEST(each_way_to_fail_is_answered),
        TEST(unknown_methods_of_requests_are_answered),
        TEST(unknown_notifications_are_ignored),
        TEST(notifications_run_and_are_not_answered),
        TEST(responses_to_nothing_are_ignored),
        TEST(a_peer_that_is_gone_takes_its_calls_with_it),
        TEST(after_its_fin_a_peer_is_answered),
        TEST(a_draining_task_system_refuses),
        TEST(peers_know_nothing_of_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
