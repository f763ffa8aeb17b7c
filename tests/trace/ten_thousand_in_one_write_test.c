/* Ten thousand requests in one piece: taken by budget, answered in order, fairly. */
#include <stdio.h>

#include "tests/support/net_world.h"

enum { MANY = 10000 };

static size_t many(uint8_t *bytes)
{
    size_t len = 0;

    for (int i = 0; i < MANY; i++)
        len += net_request(bytes + len, (uint8_t)(i % 128), "echo", "x");
    return len;
}

NET_TEST(all_are_answered_in_order)
{
    static uint8_t bytes[MANY * 32];
    static char expected[MANY * 4];
    size_t at = 0;

    net_connect(&peer);
    script_send(&peer, span_of(bytes, many(bytes)));
    script_send_eof(&peer);
    net_run_ms(1);
    for (int i = 0; i < MANY; i++)
        at += (size_t)snprintf(expected + at, sizeof expected - at, i ? " %d" : "%d", i % 128);
    assert_string_equal(net_answered(&peer), expected);
    assert_true(peer.closed);
    struct net_loop_stats stats = {0};
    net_loop_add_stats(net.loop, &stats);
    assert_int_equal(stats.messages, MANY);
    assert_int_equal(accounts_figures(net.accounts).unfinished, 0);
    assert_true(peer.writes >= MANY / MESSAGES_A_STEP); /* one a round, not one a message */
    assert_true(peer.writes <= MANY / MESSAGES_A_STEP + 10);
}

NET_TEST(another_connection_is_served_between)
{
    static uint8_t bytes[MANY * 32];
    static struct script greedy;
    static struct script modest;

    net_connect(&greedy);
    net_connect(&modest);
    net_run_ms(1);
    script_send(&greedy, span_of(bytes, many(bytes)));
    net_send(&modest, 1, "echo", "");
    for (int rounds = 0; rounds < 4; rounds++)
        virtual_round(&net.v, net.activator);
    assert_int_equal(modest.writes, 1);
    assert_true(net.echo.requests < MANY);
    net_run_ms(2);
    assert_int_equal(net.echo.requests, MANY + 1);
}
