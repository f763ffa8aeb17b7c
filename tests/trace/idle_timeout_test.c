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
