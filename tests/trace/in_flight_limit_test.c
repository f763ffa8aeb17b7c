/* Calls in flight are bounded by reading no further, but for a reserve that lets a cancel through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

static void the_reserve_and_no_further(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.in_flight = 4;
    net_world_open(&w);
    net_world_connect(&w, &peer);
    for (uint8_t i = 1; i <= 40; i++)
        net_send(&peer, i, "hold", "");
    net_world_run_ms(&w, 1);
    assert_int_equal(w.echo.held_count, 4 + RESERVE_MESSAGES);
    echo_release(&w.echo, RESERVE_MESSAGES); /* still at the limit */
    net_world_run_ms(&w, 2);
    assert_int_equal(w.echo.held_count, 4);
    echo_release(&w.echo, 1);
    net_world_run_ms(&w, 3);
    assert_int_equal(w.echo.held_count, 4 + RESERVE_MESSAGES);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 1     stops reading (20 in flight, 0 to write)\n"
                   "[   1] conn 1     wrote 80 bytes, 0 left\n"
                   "[   2] conn 1     wrote 5 bytes, 0 left\n");
    script_fini(&peer);
    net_world_fini(&w);
}

static void a_notification_gets_through(void **state)
{
    static const uint8_t cancel[] = "\x93\x02\xadserver.cancel\x91\x01";
    static const uint8_t response[] = {0x94, 1, 9, 0xc0, 0xc0};
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.in_flight = 2;
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "hold", "");
    net_world_run_ms(&w, 1);
    script_send(&peer, span_of(cancel, sizeof cancel - 1));
    net_world_run_ms(&w, 2);
    assert_int_equal(w.echo.notifications, 1);
    for (int i = 0; i < 3 * RESERVE_MESSAGES; i++) { /* answers to us are never held up */
        script_send(&peer, span_of(response, sizeof response));
        net_world_run_ms(&w, 3);
    }
    assert_int_equal(w.echo.responses, 3 * RESERVE_MESSAGES);
    script_fini(&peer);
    net_world_fini(&w);
}

static void polls_are_not_counted(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.in_flight = 2;
    net_world_open(&w);
    net_world_connect(&w, &peer);
    for (uint8_t i = 1; i <= 40; i++)
        net_send(&peer, i, "poll", "");
    net_world_run_ms(&w, 1);
    assert_int_equal(w.echo.held_count, 40);
    echo_release(&w.echo, 40);
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reserve_and_no_further),
        cmocka_unit_test(a_notification_gets_through),
        cmocka_unit_test(polls_are_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
