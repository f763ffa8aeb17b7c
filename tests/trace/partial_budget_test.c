/* Partial messages are bounded over all connections: the largest holder goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

enum { PEERS = 4 };

static const uint8_t head[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x08, 0, 0};

static void the_largest_holder_is_closed(void **state)
{
    static uint8_t zeros[40000];
    struct net_world w;
    struct script peers[PEERS];
    struct script good;
    char ids[64];

    (void)state;
    net_world_init(&w);
    w.limits.partial_total = 100000;
    net_world_open(&w);
    for (int i = 0; i < PEERS; i++) {
        net_world_connect(&w, &peers[i]);
        script_send(&peers[i], span_of(head, sizeof head)); /* half a megabyte is announced */
    }
    net_world_connect(&w, &good);
    net_world_run_ms(&w, 1);
    assert_true(w.loop->partials.total < PEERS * 1024); /* and nothing of it allocated */
    for (int i = 0; i < PEERS; i++) {
        script_send(&peers[i], span_of(zeros, (size_t)(10000 * (i + 1))));
        net_world_run_ms(&w, (uint64_t)(2 + i));
    }
    assert_true(w.loop->partials.total <= w.limits.partial_total);
    net_send(&good, 1, "echo", "");
    net_world_run_ms(&w, 10);
    assert_string_equal(net_answered(&good, ids, sizeof ids), "1");
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 2     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 3     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 4     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 5     HANDSHAKE -> OPEN (scripted)\n"
                   "[   4] conn 4     OPEN -> FLUSHING (the budget for partial messages is used "
                   "up, and this peer holds most)\n"
                   "[   4] conn 4     FLUSHING -> LINGERING (all written)\n"
                   "[   5] conn 5     wrote 6 bytes, 0 left\n");
    struct net_loop_stats stats;
    net_loop_stats(w.loop, &stats);
    assert_int_equal(stats.protocol_errors, 1);
    for (int i = 0; i < PEERS; i++)
        script_fini(&peers[i]);
    script_fini(&good);
    net_world_fini(&w);
}

static void a_message_too_large_is_answered_and_ends_it(void **state)
{
    static const uint8_t large[] = {0x94, 0, 9, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x10, 0, 0};
    struct net_world w;
    struct script peer;
    char ids[64];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    script_send(&peer, span_of(large, sizeof large));
    net_world_run_ms(&w, 1);
    assert_string_equal(net_answered(&peer, ids, sizeof ids), "9");
    assert_non_null(memmem(peer.out, peer.out_len, "TOO_LARGE: ", 11));
    assert_true(peer.shut);
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_holder_is_closed),
        cmocka_unit_test(a_message_too_large_is_answered_and_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
