/* What becomes of the work of a client that has left. */
#include "tests/support/rpc_stage.h"

#include <stdio.h>

RPC_TEST(its_requests_end_and_its_notifications_go_on)
{
    stage_ask(&peer, 1, "hang", "[]");
    stage_ask(&peer, 2, "block", "[]");
    stage_notify(&peer, "sleep", "[20]");
    net_run_ms(5);
    script_leave(&peer);
    stage_run();
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] executor 1 run task 3\n"
               "[   0] manager    task 2 -> executor 2 (loads 0)\n"
               "[   5] conn 1     OPEN -> CLOSED (peer has left, 3 in flight)\n"
               "[   5] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
               "[   5] executor 2 drop task 2\n"
               "[  20] executor 1 done task 3 -> home: loop 0\n"
               "[  20] conn 1     freed\n");
}

RPC_TEST(hello_makes_fin_the_end)
{
    stage_notify(&peer, "server.hello", "[{'half_close': false}]");
    stage_ask(&peer, 1, "hang", "[]");
    stage_run_ms(5);
    assert_true(conn_mode(stage.conn)->fin_ends);
    script_send_eof(&peer);
    stage_run();
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   5] conn 1     OPEN -> CLOSED (peer has left, 1 in flight)\n"
               "[   5] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
               "[   5] conn 1     freed\n");
}

RPC_TEST(hello_takes_it_back)
{
    stage_notify(&peer, "server.hello", "[{'half_close': false}]");
    stage_notify(&peer, "server.hello", "[{'errors': 'pair'}]");
    stage_run();
    assert_true(conn_mode(stage.conn)->fin_ends);
    stage_notify(&peer, "server.hello", "[{'half_close': true}]");
    stage_ask(&peer, 1, "sleep", "[10]");
    stage_run_ms(5);
    script_send_eof(&peer);
    assert_string_equal(stage_said(), "1: [10]\n");
}

RPC_TEST(it_is_true_or_false)
{
    assert_string_equal(stage_answer("server.hello", "[{'half_close': 0}]"),
                        "1 failed: 'BAD_PARAMS: option \"half_close\" must be true or false'\n");
}

/* Behind a limit stand notifications that nobody has read when their client leaves. */
RPC_TEST(notifications_behind_a_limit_are_not_lost)
{
    net.loop->limits.in_flight = 2;
    stage_ask(&peer, 1, "hang", "[]");
    stage_ask(&peer, 2, "hang", "[]");
    for (int i = 0; i < 60; i++)
        stage_notify(&peer, "sleep", "[20]");
    stage_run_ms(5);
    script_leave(&peer);
    stage_run();
    assert_int_equal(counter_read(&stage.rpc.stats.notifications), 60);
    assert_true(peer.closed);
}

/* It would do nothing but wait. */
RPC_TEST(a_notification_of_a_wait_ends)
{
    char id[16] = "", params[64];
    const char *submitted = stage_answer("task.submit", "['hang', [], {'durable': 'none'}]");
    const char *at = strstr(submitted, "'t");

    assert_non_null(at);
    snprintf(id, sizeof id, "%.14s", at + 1);
    snprintf(params, sizeof params, "['%s', {'timeout': '1h'}]", id);
    stage_notify(&peer, "task.wait", params);
    stage_run_ms(5);
    assert_int_equal(conn_polls(stage.conn), 1);
    script_leave(&peer);
    stage_run_ms(10);
    assert_null(LIST_FIRST(&net.loop->all));
}

/* The loop goes, and its connections with it. */
RPC_TEST(a_notification_does_not_outlive_the_loop)
{
    struct tasks_info info;

    stage_notify(&peer, "hang", "[]");
    stage_run_ms(5);
    script_leave(&peer);
    stage_run_ms(10);
    assert_non_null(LIST_FIRST(&net.loop->all));
    net_stop();
    tasks_info(stage.tasks, &info);
    assert_int_equal(info.cancelled, 1);
}
