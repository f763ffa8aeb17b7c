/* Partial messages are bounded over all connections: the largest holder goes. */
#include "tests/support/net_world.h"

enum { PEERS = 4 };

static const uint8_t head[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x08, 0, 0};

NET_TEST(the_largest_holder_is_closed)
{
    static uint8_t zeros[40000];
    static struct script peers[PEERS];
    static struct script good;

    net.limits.partial_total = 100000;
    for (int i = 0; i < PEERS; i++) {
        net_connect(&peers[i]);
        script_send(&peers[i], span_of(head, sizeof head)); /* half a megabyte is announced */
    }
    net_connect(&good);
    net_run_ms(1);
    assert_true(net.loop->partials.total < PEERS * 1024); /* and nothing of it allocated */
    for (int i = 0; i < PEERS; i++) {
        script_send(&peers[i], span_of(zeros, (size_t)(10000 * (i + 1))));
        net_run_ms((uint64_t)(2 + i));
    }
    assert_true(net.loop->partials.total <= net.limits.partial_total);
    net_send(&good, 1, "echo", "");
    net_run_ms(10);
    assert_string_equal(net_answered(&good), "1");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 2     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 3     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 4     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 5     HANDSHAKE -> OPEN (scripted)\n"
               "[   4] conn 4     OPEN -> FLUSHING (the budget for partial messages is used "
               "up, and this peer holds most)\n"
               "[   4] conn 4     FLUSHING -> LINGERING (all written)\n"
               "[   5] conn 5     wrote 6 bytes, 0 left\n");
    struct net_loop_stats stats = {0};
    net_loop_add_stats(net.loop, &stats);
    assert_int_equal(stats.protocol_errors, 1);
}

NET_TEST(a_message_too_large_is_answered_and_ends_it)
{
    static const uint8_t large[] = {0x94, 0, 9, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x10, 0, 0};

    net_connect(&peer);
    script_send(&peer, span_of(large, sizeof large));
    net_run_ms(1);
    assert_string_equal(net_answered(&peer), "9");
    assert_non_null(memmem(peer.out, peer.out_len, "TOO_LARGE: ", 11));
    assert_true(peer.shut);
}
