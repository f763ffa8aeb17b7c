/* A connection on which nothing happens is closed; one that waits for an answer is not. */
#include "tests/support/net_world.h"

NET_TEST(silence_ends_it)
{
    net.limits.idle_timeout = AO_MS(100);
    net_connect(&peer);
    net_run_ms(60);
    net_send(&peer, 1, "echo", "");
    net_run_ms(1000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[  60] conn 1     wrote 6 bytes, 0 left\n"
               "[ 160] conn 1     OPEN -> CLOSED (idle for too long)\n"
               "[ 160] conn 1     freed\n");
    assert_int_equal(net.echo.gone, 1);
}

NET_TEST(a_call_in_flight_is_no_silence)
{
    net.limits.idle_timeout = AO_MS(100);
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_run_ms(1050);
    echo_release(&net.echo, 1);
    net_run_ms(2000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[1050] conn 1     wrote 5 bytes, 0 left\n"
               "[1150] conn 1     OPEN -> CLOSED (idle for too long)\n"
               "[1150] conn 1     freed\n");
}

static void end_call(void *connection)
{
    conn_call_ended(connection, true);
}

/* Its end begins the silence, even if nothing is answered: it was a notification. */
NET_TEST(nor_is_one_without_an_answer)
{
    net.limits.idle_timeout = AO_MS(100);
    struct connection *c = net_connect(&peer);
    net_run_ms(1);
    conn_call_began(c, true);
    virtual_at(&net.v, AO_MS(1050), net.activator, end_call, c);
    net_run_ms(2000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[1150] conn 1     OPEN -> CLOSED (idle for too long)\n"
               "[1150] conn 1     freed\n");
}

NET_TEST(nor_is_a_long_poll)
{
    net.limits.idle_timeout = AO_MS(100);
    net_connect(&peer);
    net_send(&peer, 1, "poll", "");
    net_run_ms(1050);
    echo_release(&net.echo, 1);
    net_run_ms(2000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[1050] conn 1     wrote 5 bytes, 0 left\n"
               "[1150] conn 1     OPEN -> CLOSED (idle for too long)\n"
               "[1150] conn 1     freed\n");
}

/* Each byte begins it anew, also of a message that is not whole. */
NET_TEST(nor_is_half_a_message)
{
    net.limits.idle_timeout = AO_MS(100);
    net_connect(&peer);
    net_run_ms(60);
    script_send(&peer, span_of("\x94", 1));
    net_run_ms(120);
    script_send(&peer, span_of("\x00", 1));
    net_run_ms(1000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[ 220] conn 1     OPEN -> CLOSED (idle for too long)\n"
               "[ 220] conn 1     freed\n");
}

/* And each that the peer reads; but one that reads nothing is silent, half-closed or not. */
NET_TEST(nor_is_an_answer_that_is_read_slowly)
{
    net.limits.idle_timeout = AO_MS(100);
    net_connect(&peer);
    net_run_ms(1);
    peer.window = 2;
    net_send(&peer, 1, "echo", "");
    net_run_ms(60);
    script_widen(&peer, 1);
    net_run_ms(120);
    script_send_eof(&peer);
    net_run_ms(1000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   1] conn 1     wrote 2 bytes, 4 left\n"
               "[  60] conn 1     wrote 1 bytes, 3 left\n"
               "[ 120] conn 1     OPEN -> DRAINING (peer eof)\n"
               "[ 220] conn 1     DRAINING -> CLOSED (idle for too long)\n"
               "[ 220] conn 1     freed\n");
}

/* A listener may have a limit of its own, and it may be none. */
NET_TEST(a_listener_may_say_otherwise)
{
    net.limits.idle_timeout = AO_MS(100);
    net.rules.idle_timeout = AO_MS(30);
    net_connect(&peer);
    net_run_ms(1000);
    net.rules.idle_timeout = AO_NEVER;
    net_connect(&peer);
    net_run_ms(9000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[  30] conn 1     OPEN -> CLOSED (idle for too long)\n"
               "[  30] conn 1     freed\n"
               "[1000] conn 2     HANDSHAKE -> OPEN (scripted)\n");
}

NET_TEST(without_a_limit_silence_is_good)
{
    net_connect(&peer);
    net_run_ms(3600 * 1000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n");
}
