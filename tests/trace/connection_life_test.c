/* The life of a connection, from the first byte to the last. */
#include "tests/support/net_world.h"

NET_TEST(one_request_and_an_orderly_end)
{
    net_connect(&peer);
    net_run_ms(1);
    net_send(&peer, 7, "echo", "hello");
    net_run_ms(4);
    assert_string_equal(net_answered(&peer), "7");
    script_send_eof(&peer);
    net_run_ms(9);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   1] conn 1     wrote 11 bytes, 0 left\n"
               "[   4] conn 1     OPEN -> DRAINING (peer eof)\n"
               "[   4] conn 1     DRAINING -> CLOSED (all answered)\n"
               "[   4] conn 1     freed\n");
    assert_true(peer.closed);
    assert_int_equal(net.echo.gone, 1);
}

NET_TEST(a_reset_with_calls_in_flight)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "poll", "");
    net_run_ms(2);
    script_reset(&peer);
    net_run_ms(3);
    assert_int_equal(net.echo.gone, 1);
    assert_true(peer.closed);
    net_run_ms(8);
    echo_release(&net.echo, 2); /* nobody reads the answers; the memory is freed */
    net_run_ms(9);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   2] conn 1     OPEN -> CLOSED (read error, 2 in flight)\n"
               "[   8] conn 1     freed\n");
    assert_int_equal(peer.out_len, 0);
}

NET_TEST(malformed_input_ends_it_behind_the_answers)
{
    net_connect(&peer);
    net_send(&peer, 1, "echo", "good");
    script_send(&peer, span_of("\xc1\x00", 2));
    net_run_ms(1);
    assert_string_equal(net_answered(&peer), "1");
    assert_true(peer.shut);
    net_run_ms(5);
    script_send(&peer, span_of("more", 4)); /* thrown away */
    net_run_ms(6);
    script_send_eof(&peer);
    net_run_ms(7);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     OPEN -> FLUSHING (byte 0xc1, which MessagePack never uses)\n"
               "[   0] conn 1     wrote 10 bytes, 0 left\n"
               "[   0] conn 1     FLUSHING -> LINGERING (all written)\n"
               "[   6] conn 1     LINGERING -> CLOSED (peer eof)\n"
               "[   6] conn 1     freed\n");
}

NET_TEST(a_peer_that_does_not_close_is_cut_off)
{
    net_connect(&peer);
    net_send(&peer, 1, "close", "");
    net_run_ms(10000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     OPEN -> FLUSHING (the port closes)\n"
               "[   0] conn 1     FLUSHING -> LINGERING (all written)\n"
               "[2000] conn 1     LINGERING -> CLOSED (peer does not close)\n"
               "[2000] conn 1     freed\n");
}

NET_TEST(a_write_error_tells_the_port_once)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "hold", "");
    net_run_ms(1);
    peer.reset = true;
    echo_release(&net.echo, 1);
    net_run_ms(2);
    assert_int_equal(net.echo.gone, 1);
    echo_release(&net.echo, 1);
    net_run_ms(3);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   1] conn 1     OPEN -> CLOSED (write error, 1 in flight)\n"
               "[   2] conn 1     freed\n");
    assert_int_equal(net.echo.gone, 1);
}
