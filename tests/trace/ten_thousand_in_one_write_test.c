/* Ten thousand requests in one piece: taken by budget, answered in order, fairly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

enum { MANY = 10000 };

static size_t many(uint8_t *bytes)
{
    size_t len = 0;

    for (int i = 0; i < MANY; i++)
        len += net_request(bytes + len, (uint8_t)(i % 128), "echo", "x");
    return len;
}

static void all_are_answered_in_order(void **state)
{
    static uint8_t bytes[MANY * 32];
    static char ids[MANY * 4];
    static char expected[MANY * 4];
    struct net_world w;
    struct script peer;
    size_t at = 0;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    script_send(&peer, span_of(bytes, many(bytes)));
    script_send_eof(&peer);
    net_world_run_ms(&w, 1);
    for (int i = 0; i < MANY; i++)
        at += (size_t)snprintf(expected + at, sizeof expected - at, i ? " %d" : "%d", i % 128);
    assert_string_equal(net_answered(&peer, ids, sizeof ids), expected);
    assert_true(peer.closed);
    struct net_loop_stats stats;
    net_loop_stats(w.loop, &stats);
    assert_int_equal(stats.messages, MANY);
    assert_int_equal(stats.partial_bytes, 0);
    assert_true(peer.writes >= MANY / MESSAGES_A_STEP); /* one a round, not one a message */
    assert_true(peer.writes <= MANY / MESSAGES_A_STEP + 10);
    script_fini(&peer);
    net_world_fini(&w);
}

static void another_connection_is_served_between(void **state)
{
    static uint8_t bytes[MANY * 32];
    struct net_world w;
    struct script greedy;
    struct script modest;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &greedy);
    net_world_connect(&w, &modest);
    net_world_run_ms(&w, 1);
    script_send(&greedy, span_of(bytes, many(bytes)));
    net_send(&modest, 1, "echo", "");
    for (int rounds = 0; rounds < 4; rounds++)
        virtual_round(&w.v, w.activator);
    assert_int_equal(modest.writes, 1);
    assert_true(w.echo.requests < MANY);
    net_world_run_ms(&w, 2);
    assert_int_equal(w.echo.requests, MANY + 1);
    script_fini(&greedy);
    script_fini(&modest);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_answered_in_order),
        cmocka_unit_test(another_connection_is_served_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
