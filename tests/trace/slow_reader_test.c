/* A peer that does not read: its connection stops being read, and goes on in order. */
#include "tests/support/net_world.h"

enum { ARGUMENT = 100, ANSWER = 4 + 1 + 2 + ARGUMENT };

static char argument[ARGUMENT + 1];

static void fill(void)
{
    memset(argument, 'x', ARGUMENT);
    net.limits.output_max = 4 * ANSWER; /* the fifth request is not taken */
    net_connect(&peer);
    peer.window = ANSWER + 10;
    for (uint8_t i = 1; i <= 9; i++)
        net_send(&peer, i, "echo", argument);
}

NET_TEST(it_stops_and_resumes_in_order)
{
    fill();
    net_run_ms(1);
    assert_int_equal(net.echo.requests, 4);
    net_send(&peer, 10, "echo", argument); /* not even read */
    unsigned reads = peer.reads;
    net_run_ms(5);
    assert_int_equal(peer.reads, reads);
    assert_string_equal(net_answered(&peer), "1...");
    script_widen(&peer, 3 * ANSWER - 10);
    net_run_ms(6);
    assert_string_equal(net_answered(&peer), "1 2 3 4");
    script_widen(&peer, SCRIPT_WINDOW);
    net_run_ms(7);
    assert_string_equal(net_answered(&peer), "1 2 3 4 5 6 7 8 9 10");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     stops reading (0 in flight, 428 to write)\n"
               "[   0] conn 1     wrote 117 bytes, 311 left\n"
               "[   5] conn 1     wrote 311 bytes, 0 left\n"
               "[   6] conn 1     wrote 428 bytes, 0 left\n"
               "[   6] conn 1     reads again\n"
               "[   6] conn 1     wrote 107 bytes, 0 left\n"
               "[   6] conn 1     wrote 107 bytes, 0 left\n");
}

NET_TEST(it_does_not_hold_a_closing_server_for_ever)
{
    fill();
    net_run_ms(1);
    conn_close(LIST_FIRST(&net.loop->all), "too slow");
    net_run_ms(20000);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     stops reading (0 in flight, 428 to write)\n"
               "[   0] conn 1     wrote 117 bytes, 311 left\n"
               "[   0] conn 1     OPEN -> FLUSHING (too slow)\n"
               "[5000] conn 1     FLUSHING -> CLOSED (peer does not read)\n"
               "[5000] conn 1     freed\n");
}
