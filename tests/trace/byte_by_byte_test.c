/* Messages that come a byte at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

static void drip(struct net_world *w, struct script *peer, struct span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        script_send(peer, span_of(bytes.at + i, 1));
        net_world_run_ms(w, w->v.now / AO_MS(1) + 1);
    }
}

static void one_after_the_other(void **state)
{
    struct net_world w;
    struct script peer;
    uint8_t bytes[600];
    char ids[64];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    size_t len = net_request(bytes, 1, "echo", "hello");
    len += net_request(bytes + len, 2, "echo", "world");
    drip(&w, &peer, span_of(bytes, len));
    assert_string_equal(net_answered(&peer, ids, sizeof ids), "1 2");
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[  14] conn 1     wrote 11 bytes, 0 left\n"
                   "[  29] conn 1     wrote 11 bytes, 0 left\n");
    assert_int_equal(peer.reads, len); /* a short read means drained: no second look */
    assert_int_equal(w.loop->partials.total, 0);
    script_fini(&peer);
    net_world_fini(&w);
}

/* Rests shorter and longer than the headroom of the read buffer, and a whole read buffer. */
static void long_ones_in_pieces(void **state)
{
    static const size_t lengths[] = {200, 3000, 5000, 70000, 300000};
    static const size_t pieces[] = {1000, 4095, 4096, 4097, 65535, 65536, 65537};
    static uint8_t bytes[300100];
    struct net_world w;
    struct script peer;
    char ids[128];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
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
                net_world_run_ms(&w, w.v.now / AO_MS(1) + 1);
                left = span_of(left.at + n, left.len - n);
            }
            assert_string_equal(net_answered(&peer, ids, sizeof ids), "5");
            assert_int_equal(peer.out_len, lengths[l] + 4 + 5);
            assert_memory_equal(peer.out + 4 + 5, bytes + sizeof head, lengths[l]);
            assert_int_equal(w.loop->partials.total, 0);
            script_forget(&peer);
        }
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(long_ones_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
