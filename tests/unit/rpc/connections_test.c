/* connection.*: who is connected, and away with them. */
#include <stdio.h>

#include "server/tasks/calls/home.h"
#include "tests/support/rpc_stage.h"

static struct script other, third;

static const char *after(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    if (at == NULL)
        fail_msg("no %s in %s", what, text);
    return at + strlen(what);
}

/* How many times. */
static int times(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

RPC_TEST(list_shows_who_is_connected_and_what_goes_on)
{
    net_connect(&other);
    stage_run();
    stage_ask(&other, 7, "hang", "[]");
    stage_notify(&other, "hang", "[]");
    stage_run_ms(50);
    const char *said = stage_answer("connection.list", "[]");
    const char *second = after(said, "{'connections': [{'id': 2, ");
    after(second, "'principal': 'address:192.0.2.1', ");
    after(second, "'tls': nil, 'state': 'OPEN', 'age_ms': 50, ");
    after(second, "'in_flight': 2, 'polls': 0, 'workers': 0, 'messages': 2, 'partial_bytes': 0, "
                  "'output_bytes': 0, 'bytes': ");
    after(second, "'stopped': false, 'calls': [{'method': 'hang', 'age_ms': 50, "
                  "'notification': false}, {'method': 'hang', 'age_ms': 50, 'notification': "
                  "true}]}, {'id': 1, ");
    after(second, "[{'method': 'connection.list', 'age_ms': 0, 'notification': false}]}], "
                  "'next': nil, 'away': 0}\n");
}

RPC_TEST(list_shows_the_eight_calls_that_have_gone_on_longest)
{
    net_connect(&other);
    stage_run();
    stage_ask(&other, 1, "task.wait", "[['t0000000000001']]");
    for (uint8_t i = 0; i < 20; i++)
        stage_ask(&other, i, i < 2 ? "sleep" : "hang", "[100000]");
    stage_run_ms(5);
    const char *said = stage_answer("connection.list", "[{'id': 2}]");
    assert_int_equal(times(said, "'method': 'sleep'"), 2);
    assert_int_equal(times(said, "'method': 'hang'"), 6);
    after(said, "'in_flight': 20, ");
}

RPC_TEST(list_filters_and_pages)
{
    net_connect(&other);
    net_connect(&third);
    stage_run();
    const char *said = stage_answer("connection.list", "[{'limit': 2}]");
    assert_int_equal(times(said, "'id': "), 2);
    after(said, "'next': '0-2'");
    said = stage_answer("connection.list", "[{'limit': 2, 'cursor': '0-2'}]");
    assert_int_equal(times(said, "'id': "), 1);
    after(said, "'id': 1, ");
    after(said, "'next': nil");
    assert_int_equal(
        times(stage_answer("connection.list", "[{'principal': 'address:192.0.2.1'}]"), "'id'"), 3);
    assert_int_equal(times(stage_answer("connection.list", "[{'principal': 'bob'}]"), "'id'"), 0);
    assert_int_equal(times(stage_answer("connection.list", "[{'nobody': true}]"), "'id'"), 0);
    assert_int_equal(times(stage_answer("connection.list", "[{'id': 3}]"), "'id'"), 1);
    stage_run_ms(500);
    assert_int_equal(times(stage_answer("connection.list", "[{'idle': '400ms'}]"), "'id'"), 2);
    assert_int_equal(times(stage_answer("connection.list", "[{'idle': '600ms'}]"), "'id'"), 0);
}

RPC_TEST(a_page_has_an_end_whatever_is_asked_for)
{
    enum { MOST = 1000 };
    static struct script many[MOST];

    for (int i = 0; i < MOST; i++) {
        net_connect(&many[i]);
        stage_run();
    }
    script_forget(&peer);
    stage_ask(&peer, 1, "connection.list", "[{'limit': 100000}]");
    stage_run();
    const uint8_t *end = memmem(peer.out, peer.out_len, "\xa4next", 5);
    assert_non_null(memmem(peer.out, peer.out_len,
                           "\xab"
                           "connections\xdc\x03\xe8",
                           15));
    assert_non_null(end);
    assert_memory_equal(end + 5,
                        "\xa3"
                        "0-2",
                        4); /* the oldest is left */
}

RPC_TEST(what_is_no_filter_is_refused)
{
    static const char *const wrong[] = {
        "[{'cursor': '9-2'}]", "[{'cursor': '0-'}]", "[{'cursor': '0-2x'}]", "[{'cursor': 2}]",
        "[{'id': 0}]",         "[{'limit': 0}]",     "[{'all': true}]",      "[1, 2]",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        after(stage_answer("connection.list", wrong[i]), "BAD_PARAMS");
    after(stage_answer("connection.kill", "[]"), "connection.kill takes [id: int] or ");
    after(stage_answer("connection.kill", "[{}]"), "pass all: true");
    after(stage_answer("connection.kill", "[{'dry_run': true}]"), "pass all: true");
    after(stage_answer("connection.kill", "['x']"), "BAD_PARAMS");
    after(stage_answer("connection.kill", "[{'limit': 1, 'id': 1}]"), "BAD_PARAMS");
    after(stage_answer("connection.kill", "[9]"), "NOT_FOUND: no connection has the id 9");
}

RPC_TEST(kill_closes_and_cancels_what_is_in_flight)
{
    net_connect(&other);
    stage_run();
    stage_ask(&other, 7, "hang", "[]");
    stage_notify(&other, "hang", "[]");
    stage_notify(&other, "hang", "[]");
    stage_run();
    assert_int_equal(stage.rpc.home->calls.taken, 3);
    assert_string_equal(stage_answer("connection.kill", "[{'id': 2, 'dry_run': true}]"),
                        "1: {'killed': 1, 'dry_run': true, 'away': 0}\n");
    assert_int_equal(stage.rpc.home->calls.taken, 3);
    assert_string_equal(stage_answer("connection.kill", "[2]"),
                        "1: {'killed': 1, 'dry_run': false, 'away': 0}\n");
    stage_run();
    assert_true(other.closed);
    assert_int_equal(stage.rpc.home->calls.taken, 0);
    assert_string_equal(stage_said_to(&other), "");
    after(stage_answer("connection.kill", "[2]"), "NOT_FOUND");
}

/* Who is on a loop that hangs is not known, so nobody says that there is no such connection. */
RPC_TEST(one_that_may_be_on_a_loop_that_hangs_is_no_missing_one)
{
    static struct net_loop hangs;
    struct net_loop *two[] = {net.loop, &hangs};

    atomic_store(&hangs.away, true);
    stage.shared.net_loops = two;
    stage.shared.loop_count = 2;
    after(stage_answer("connection.kill", "[9]"),
          "BUSY: no connection has the id 9, or it is on one of the 1 loops that hang");
    after(stage_answer("connection.list", "[]"), "'next': nil, 'away': 1}");
    stage.shared.net_loops = stage.nets;
    stage.shared.loop_count = 1;
}

RPC_TEST(kill_by_principal_spares_who_asks)
{
    net_connect(&other);
    net_connect(&third);
    stage_run();
    assert_string_equal(stage_answer("connection.kill", "[{'principal': 'address:192.0.2.1'}]"),
                        "1: {'killed': 2, 'dry_run': false, 'away': 0}\n");
    stage_run();
    assert_true(other.closed && third.closed && !peer.closed);
    assert_string_equal(stage_answer("connection.kill", "[{'all': true}]"),
                        "1: {'killed': 0, 'dry_run': false, 'away': 0}\n");
}

RPC_TEST(who_names_itself_is_killed)
{
    stage_ask(&peer, 1, "connection.kill", "[1]");
    stage_run();
    assert_true(peer.closed);
    assert_int_equal(stage.rpc.censuses, 0);
}

RPC_TEST(a_census_can_be_cancelled_and_its_asker_may_go)
{
    stage_ask(&peer, 1, "connection.list", "[]");
    stage_ask(&peer, 2, "server.cancel", "[1]");
    assert_string_equal(stage_said(), "1 failed: 'CANCELLED: the call was cancelled'\n2: true\n");
    net_connect(&other);
    stage_run();
    stage_ask(&other, 1, "connection.list", "[]");
    script_reset(&other);
    stage_run();
    assert_int_equal(stage.rpc.censuses, 0);
}

RPC_TEST(so_many_at_a_time_and_no_more)
{
    for (uint8_t i = 1; i <= 9; i++)
        stage_ask(&peer, i, "connection.list", "[{'id': 99}]");
    for (uint8_t i = 11; i <= 19; i++)
        stage_ask(&peer, i, "connection.kill", "[{'id': 99, 'dry_run': true}]");
    const char *said = stage_said();
    assert_int_equal(times(said, "'connections': []"), 8);
    after(said, "9 failed: 'BUSY: 8 requests look through the connections already");
    assert_int_equal(times(said, "NOT_FOUND"), 8); /* who lists keeps nobody from killing */
    after(said, "19 failed: 'BUSY: 16 requests look through the connections already");
}

RPC_TEST(what_a_list_holds_is_charged_to_who_asks)
{
    static char long_name[5000];

    snprintf(long_name, sizeof long_name, "[{'principal': '%0*d'}]", 4500, 0);
    after(stage_answer("connection.list", long_name), "TOO_LARGE: at most 4096 bytes");
    after(stage_answer("connection.kill", long_name), "TOO_LARGE");
    stage_ask(&peer, 1, "connection.list", "[]");
    while (stage.rpc.censuses == 0)
        virtual_round(&net.v, net.activator);
    assert_in_range(stage.conn->charged, 256 * 1024, 300 * 1024);
    after(stage_said(), "'connections': [{");
    assert_int_equal(stage.conn->charged, 0);
}

static int open_small(void **state)
{
    net_wish.accounts =
        (struct account_limits){.bytes_in_all = 1 << 20, .bytes = 300000, .calls = UINT32_MAX};
    return stage_open(state);
}

/* Its principal has no room for a list. */
TEST_WITH(open_small, stage_close, a_kill_waits_for_no_room)
{
    static char call[160100];

    net_connect(&other);
    stage_run();
    snprintf(call, sizeof call, "['%0*d']", 160000, 0);
    stage_ask(&other, 1, "hang", call);
    stage_run_ms(10);
    stage_ask(&peer, 1, "connection.list", "[]");
    stage_run_ms(20);
    assert_string_equal(stage_said_to(&peer), "");
    net_connect(&third);
    stage_run_ms(30);
    stage_ask(&third, 2, "connection.kill", "[2]");
    stage_run_ms(40);
    after(stage_said_to(&third), "2: {'killed': 1, ");
    after(stage_said_to(&peer), "1: {'connections': [{");
}

RPC_TEST_GUARDED(who_may_not_is_refused)
{
    after(stage_answer("connection.list", "[]"), "AUTH");
    stage_answer("server.auth", "['" STAGE_BOB "']");
    after(stage_answer("connection.list", "[]"), "DENIED");
    after(stage_answer("connection.kill", "[{'all': true}]"), "DENIED");
}
