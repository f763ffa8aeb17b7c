/* The server drains: what was read is answered, what was not is left. */
#include "tests/support/net_world.h"

NET_TEST(what_is_in_flight_is_answered)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_run_ms(1);
    net_order(LOOP_DRAIN);
    net_run_ms(2);
    net_send(&peer, 2, "echo", ""); /* too late */
    net_run_ms(5);
    echo_release(&net.echo, 1);
    net_run_ms(6);
    assert_string_equal(net_answered(&peer), "1");
    script_send_eof(&peer);
    net_run_ms(7);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   1] conn 1     OPEN -> DRAINING (server drains, 1 in flight)\n"
               "[   5] conn 1     wrote 5 bytes, 0 left\n"
               "[   5] conn 1     DRAINING -> LINGERING (all answered)\n"
               "[   6] conn 1     LINGERING -> CLOSED (peer eof)\n"
               "[   6] conn 1     freed\n");
}

/* Whole messages that a limit has left over were read: they are served first. */
NET_TEST(what_was_read_is_served)
{
    net.limits.in_flight = 1;
    net_connect(&peer);
    for (uint8_t i = 1; i <= RESERVE_MESSAGES + 3; i++)
        net_send(&peer, i, "hold", "");
    net_run_ms(1);
    assert_int_equal(net.echo.held_count, 1 + RESERVE_MESSAGES);
    net_order(LOOP_DRAIN);
    net_run_ms(2);
    assert_int_equal(LIST_FIRST(&net.loop->all)->state, CONN_OPEN);
    echo_release(&net.echo, 1 + RESERVE_MESSAGES);
    net_run_ms(3);
    assert_int_equal(LIST_FIRST(&net.loop->all)->state, CONN_DRAINING);
    echo_release(&net.echo, 2);
    net_run_ms(4);
    assert_string_equal(net_answered(&peer), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
}

NET_TEST(an_abort_waits_for_nothing)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_run_ms(1);
    net_order(LOOP_DRAIN);
    net_order(LOOP_ABORT);
    net_run_ms(2);
    assert_int_equal(net.echo.gone, 1);
    echo_release(&net.echo, 1);
    net_run_ms(3);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     OPEN -> CLOSED (server stops, 1 in flight)\n"
               "[   2] conn 1     freed\n");
}
