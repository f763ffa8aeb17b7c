/* Messages that come a byte at a time. */
#include "tests/support/net_world.h"

static void drip(struct span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        script_send(&peer, span_of(bytes.at + i, 1));
        net_run_ms(net.v.now / AO_MS(1) + 1);
    }
}

NET_TEST(one_after_the_other)
{
    uint8_t bytes[600];

    net_connect(&peer);
    size_t len = net_request(bytes, 1, "echo", "hello");
    len += net_request(bytes + len, 2, "echo", "world");
    drip(span_of(bytes, len));
    assert_string_equal(net_answered(&peer), "1 2");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[  14] conn 1     wrote 11 bytes, 0 left\n"
               "[  29] conn 1     wrote 11 bytes, 0 left\n");
    assert_int_equal(peer.reads, len); /* a short read means drained: no second look */
    assert_int_equal(net.loop->partials.total, 0);
}

/* Rests shorter and longer than the headroom of the read buffer, and a whole read buffer. */
NET_TEST(long_ones_in_pieces)
{
    static const size_t lengths[] = {200, 3000, 5000, 70000, 300000};
    static const size_t pieces[] = {1000, 4095, 4096, 4097, 65535, 65536, 65537};
    static uint8_t bytes[300100];

    net_connect(&peer);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            uint8_t head[] = {0x94, 0, 5, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0, 0, 0};
            for (int i = 0; i < 4; i++)
                head[9 + i] = (uint8_t)(lengths[l] >> (24 - 8 * i));
            memcpy(bytes, head, sizeof head);
            memset(bytes + sizeof head, (int)p, lengths[l]);
            struct span left = span_of(bytes, sizeof head + lengths[l]);
            while (left.len > 0) {
                size_t n = left.len < pieces[p] ? left.len : pieces[p];
                script_send(&peer, span_of(left.at, n));
                net_run_ms(net.v.now / AO_MS(1) + 1);
                left = span_behind(left, n);
            }
            assert_string_equal(net_answered(&peer), "5");
            assert_int_equal(peer.out_len, lengths[l] + 4 + 5);
            assert_memory_equal(peer.out + 4 + 5, bytes + sizeof head, lengths[l]);
            assert_int_equal(net.loop->partials.total, 0);
            script_forget(&peer);
        }
}
