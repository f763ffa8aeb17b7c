/* The server drains: what was read is answered, what was not is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

static void what_is_in_flight_is_answered(void **state)
{
    struct net_world w;
    struct script peer;
    char ids[64];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_send(&peer, 1, "hold", "");
    net_world_run_ms(&w, 1);
    net_world_order(&w, LOOP_DRAIN);
    net_world_run_ms(&w, 2);
    net_send(&peer, 2, "echo", ""); /* too late */
    net_world_run_ms(&w, 5);
    echo_release(&w.echo, 1);
    net_world_run_ms(&w, 6);
    assert_string_equal(net_answered(&peer, ids, sizeof ids), "1");
    script_send_eof(&peer);
    net_world_run_ms(&w, 7);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[   1] conn 1     OPEN -> DRAINING (server drains, 1 in flight)\n"
                   "[   5] conn 1     wrote 5 bytes, 0 left\n"
                   "[   5] conn 1     DRAINING -> LINGERING (all answered)\n"
                   "[   6] conn 1     LINGERING -> CLOSED (peer eof)\n"
                   "[   6] conn 1     freed\n");
    script_fini(&peer);
    net_world_fini(&w);
}

/* Whole messages that a limit has left over were read: they are served first. */
static void what_was_read_is_served(void **state)
{
    struct net_world w;
    struct script peer;
    char ids[64];

    (void)state;
    net_world_init(&w);
    w.limits.in_flight = 1;
    net_world_open(&w);
    net_world_connect(&w, &peer);
    for (uint8_t i = 1; i <= RESERVE_MESSAGES + 3; i++)
        net_send(&peer, i, "hold", "");
    net_world_run_ms(&w, 1);
    assert_int_equal(w.echo.held_count, 1 + RESERVE_MESSAGES);
    net_world_order(&w, LOOP_DRAIN);
    net_world_run_ms(&w, 2);
    assert_int_equal(w.loop->first->state, CONN_OPEN);
    echo_release(&w.echo, 1 + RESERVE_MESSAGES);
    net_world_run_ms(&w, 3);
    assert_int_equal(w.loop->first->state, CONN_DRAINING);
    echo_release(&w.echo, 2);
    net_world_run_ms(&w, 4);
    assert_string_equal(net_answered(&peer, ids, sizeof ids),
                        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
    script_fini(&peer);
    net_world_fini(&w);
}

static void an_abort_waits_for_nothing(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_send(&peer, 1, "hold", "");
    net_world_run_ms(&w, 1);
    net_world_order(&w, LOOP_DRAIN);
    net_world_order(&w, LOOP_ABORT);
    net_world_run_ms(&w, 2);
    assert_int_equal(w.echo.gone, 1);
    echo_release(&w.echo, 1);
    net_world_run_ms(&w, 3);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 1     OPEN -> CLOSED (server stops, 1 in flight)\n"
                   "[   2] conn 1     freed\n");
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_flight_is_answered),
        cmocka_unit_test(what_was_read_is_served),
        cmocka_unit_test(an_abort_waits_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
