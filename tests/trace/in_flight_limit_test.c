/* Calls in flight are bounded by reading no further, but for a reserve that lets a cancel through.
 */
#include "tests/support/net_world.h"

NET_TEST(the_reserve_and_no_further)
{
    net.limits.in_flight = 4;
    net_connect(&peer);
    for (uint8_t i = 1; i <= 40; i++)
        net_send(&peer, i, "hold", "");
    net_run_ms(1);
    assert_int_equal(net.echo.held_count, 4 + RESERVE_MESSAGES);
    echo_release(&net.echo, RESERVE_MESSAGES); /* still at the limit */
    net_run_ms(2);
    assert_int_equal(net.echo.held_count, 4);
    echo_release(&net.echo, 1);
    net_run_ms(3);
    assert_int_equal(net.echo.held_count, 4 + RESERVE_MESSAGES);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     stops reading (20 in flight, 0 to write)\n"
               "[   1] conn 1     wrote 80 bytes, 0 left\n"
               "[   2] conn 1     wrote 5 bytes, 0 left\n");
}

/* However much stands ready to be read. */
NET_TEST(nor_more_bytes)
{
    char argument[200] = "";
    enum { MESSAGES = 100, RESERVE = 8192 };

    memset(argument, 'x', sizeof argument - 1);
    net.limits.in_flight = 1;
    net_connect(&peer);
    net_send(&peer, 0, "hold", "");
    net_run_ms(1);
    for (uint8_t i = 0; i < MESSAGES; i++)
        net_send(&peer, i, "hold", argument);
    size_t sent = peer.in_len;
    net_run_ms(2);
    assert_int_equal(net.echo.held_count, 1 + RESERVE_MESSAGES);
    assert_in_range(peer.in_len, sent - RESERVE, sent - 1);
    echo_release(&net.echo, 1 + RESERVE_MESSAGES);
}

NET_TEST(a_notification_gets_through)
{
    static const uint8_t cancel[] = "\x93\x02\xadserver.cancel\x91\x01";
    static const uint8_t response[] = {0x94, 1, 9, 0xc0, 0xc0};

    net.limits.in_flight = 2;
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "hold", "");
    net_run_ms(1);
    script_send(&peer, span_of(cancel, sizeof cancel - 1));
    net_run_ms(2);
    assert_int_equal(net.echo.notifications, 1);
    for (int i = 0; i < 3 * RESERVE_MESSAGES; i++) { /* answers to us are never held up */
        script_send(&peer, span_of(response, sizeof response));
        net_run_ms(3);
    }
    assert_int_equal(net.echo.responses, 3 * RESERVE_MESSAGES);
}

NET_TEST(polls_are_not_counted)
{
    net.limits.in_flight = 2;
    net_connect(&peer);
    for (uint8_t i = 1; i <= 40; i++)
        net_send(&peer, i, "poll", "");
    net_run_ms(1);
    assert_int_equal(net.echo.held_count, 40);
    echo_release(&net.echo, 40);
}
