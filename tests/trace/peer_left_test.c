/* The peer has left for good: then nobody reads answers, and what it asked for ends.  A half-close
 * is another thing (half_close_test.c). */
#include "tests/support/net_world.h"

NET_TEST(a_full_close_ends_what_is_in_flight)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "poll", "");
    net_run_ms(2);
    script_leave(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 1);
    echo_release(&net.echo, 2);
    net_run_ms(4);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   2] conn 1     OPEN -> CLOSED (peer has left, 2 in flight)\n"
               "[   3] conn 1     freed\n");
}

NET_TEST(it_may_half_close_first)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    script_send_eof(&peer);
    net_run_ms(5);
    assert_int_equal(net.echo.gone, 0);
    script_leave(&peer);
    net_run_ms(6);
    assert_int_equal(net.echo.gone, 1);
    echo_release(&net.echo, 1);
    net_run_ms(7);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     OPEN -> DRAINING (peer eof, 1 in flight)\n"
               "[   5] conn 1     DRAINING -> CLOSED (peer has left, 1 in flight)\n"
               "[   6] conn 1     freed\n");
}

/* The system asks for us, and the answer of a peer that is no more is a reset. */
NET_TEST(a_half_closed_peer_is_asked_whether_it_is_there)
{
    net.limits.keepalive = AO_S(15);
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_run_ms(1);
    assert_int_equal(peer.period, 0);
    script_send_eof(&peer);
    net_run_ms(2);
    assert_int_equal(peer.period, 3);
    script_reset(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 1);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   1] conn 1     OPEN -> DRAINING (peer eof, 1 in flight)\n"
               "[   2] conn 1     DRAINING -> CLOSED (peer has left, 1 in flight)\n");
    echo_release(&net.echo, 1);
}

NET_TEST(to_one_that_never_half_closes_fin_is_the_end)
{
    struct connection *c = net_connect(&peer);

    conn_mode(c)->fin_ends = true;
    net_send(&peer, 1, "hold", "");
    script_send_eof(&peer);
    net_run_ms(1);
    assert_int_equal(net.echo.gone, 1);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     OPEN -> CLOSED (peer has left, 1 in flight)\n");
    echo_release(&net.echo, 1);
}

/* Requests that a limit keeps from being read: their peer is not read either when it leaves. */
static struct connection *connect_and_send_too_much(void)
{
    net.limits.in_flight = 4;
    struct connection *c = net_connect(&peer);
    for (uint8_t i = 1; i <= 40; i++)
        net_send(&peer, i, "hold", "");
    net_run_ms(1);
    assert_int_equal(net.echo.held_count, 4 + RESERVE_MESSAGES);
    net_send(&peer, 41, "hold", "");
    net_run_ms(2);
    return c;
}

static void end_held(void)
{
    for (uint32_t i = 0; i < net.echo.held_count; i++)
        conn_call_ended(net.echo.held[i].c, net.echo.held[i].counted);
    net.echo.held_count = 0;
}

NET_TEST(it_is_heard_of_while_input_is_stopped)
{
    connect_and_send_too_much();
    assert_int_equal(peer.stream->watched, STREAM_CLOSED);
    script_leave(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 1);
    end_held(); /* as whoever hears that it has gone does: then more is read, and stops again */
    net_run_ms(4);
    assert_int_equal(net.echo.gone, 2);
    end_held();
    net_run_ms(5);
    end_held();
    net_run_ms(6);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     stops reading (20 in flight, 0 to write)\n"
               "[   2] conn 1     its peer has left\n"
               "[   3] conn 1     reads again\n"
               "[   3] conn 1     stops reading (20 in flight, 0 to write)\n"
               "[   4] conn 1     reads again\n"
               "[   4] conn 1     OPEN -> CLOSED (peer has left, 1 in flight)\n"
               "[   5] conn 1     freed\n");
    assert_int_equal(net.echo.requests, 41);
}

NET_TEST(so_is_the_fin_of_one_that_never_half_closes)
{
    conn_mode(connect_and_send_too_much())->fin_ends = true;
    script_send_eof(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 1);
    end_held();
}

NET_TEST(another_one_is_read_to_its_end)
{
    connect_and_send_too_much();
    script_send_eof(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 0);
    echo_release(&net.echo, 20);
    net_run_ms(4);
    echo_release(&net.echo, 20);
    net_run_ms(5);
    echo_release(&net.echo, 20);
    net_run_ms(6);
    assert_int_equal(net.echo.requests, 41);
    assert_true(peer.closed);
    assert_int_equal(peer.out_len, 41 * 5);
}

NET_TEST(it_is_heard_of_while_the_server_drains)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_run_ms(1);
    net_order(LOOP_DRAIN);
    net_run_ms(2);
    script_leave(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 1);
    echo_release(&net.echo, 1);
}
