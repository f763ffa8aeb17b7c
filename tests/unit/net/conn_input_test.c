/* Input in any pieces: the answers are the same, whatever the splits; and what each kind of bad
 * input leads to. */
#include <stdlib.h>

#include "proto/encoder.h"
#include "tests/support/net_world.h"

enum { STREAMS = 200, MESSAGES = 60, STREAM_MAX = 400000 };

static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A request with a parameter of random length, a notification, a response, or a bad request. */
static uint8_t *put_message(uint8_t *p)
{
    static const uint8_t bad[] = {0x93, 0, 7, 0xa1, 'x'}; /* a request with three parts */
    uint64_t r = next_random();
    uint32_t len = (uint32_t)(r >> 32) % (r % 10 == 0 ? 9000 : 60);

    if (r % 16 == 1) {
        memcpy(p, bad, sizeof bad);
        return p + sizeof bad;
    }
    if (r % 16 == 2) {
        p = enc_nil(enc_nil(enc_uint(enc_uint(enc_array(p, 4), 1), r >> 40)));
        return p;
    }
    p = r % 16 == 3 ? enc_uint(enc_array(p, 3), 2)
                    : enc_uint(enc_uint(enc_array(p, 4), 0), r >> 40 & 0x7f);
    p = enc_array(enc_str(p, span_text("echo")), 1);
    p = enc_bin_head(p, len);
    memset(p, (int)(r >> 48 & 0xff), len);
    return p + len;
}

static size_t run(struct span stream, bool split, uint8_t *out)
{

    net_open(NULL);
    net.limits.output_max = split ? 20000 : 1 << 24;
    net_connect(&peer);
    while (stream.len > 0) {
        size_t n = split ? 1 + next_random() % (next_random() % 3 == 0 ? 10000 : 50) : stream.len;
        n = n < stream.len ? n : stream.len;
        script_send(&peer, span_of(stream.at, n));
        if (next_random() % 2 == 0)
            virtual_run(&net.v);
        stream = span_behind(stream, n);
    }
    script_send_eof(&peer);
    virtual_run(&net.v);
    assert_true(peer.closed);
    size_t len = peer.out_len;
    memcpy(out, peer.out, len);
    return len;
}

NET_TEST(splits_change_nothing)
{
    static uint8_t stream[STREAM_MAX];
    static uint8_t whole[STREAM_MAX];
    static uint8_t pieces[STREAM_MAX];

    for (uint64_t i = 1; i <= STREAMS; i++) {
        seed = i * 0x9e3779b97f4a7c15u;
        uint8_t *p = stream;
        for (int m = 0; m < MESSAGES; m++)
            p = put_message(p);
        struct span all = span_of(stream, (size_t)(p - stream));
        size_t len = run(all, false, whole);
        assert_true(len > 0);
        assert_int_equal(run(all, true, pieces), len);
        assert_memory_equal(pieces, whole, len);
    }
}

/* Longer than a read, and read to their places. */
NET_TEST(large_messages_are_read_to_their_places)
{
    enum { COUNT = 12, LEN = 90000, ROOM = COUNT * (LEN + 32) };
    uint8_t *stream = malloc(ROOM), *whole = malloc(ROOM), *pieces = malloc(ROOM);
    uint8_t *p = stream;

    assert_true(stream && whole && pieces);
    for (uint32_t i = 0; i < COUNT; i++) {
        p = enc_uint(enc_uint(enc_array(p, 4), 0), i);
        p = enc_bin_head(enc_array(enc_str(p, span_text("echo")), 1), LEN - 7000 * i);
        memset(p, (int)i, LEN - 7000 * i);
        p += LEN - 7000 * i;
    }
    struct span all = span_of(stream, (size_t)(p - stream));
    size_t len = run(all, false, whole);
    assert_true(len > all.len - COUNT * 20);
    for (seed = 1; seed < 10000; seed += 2000) {
        assert_int_equal(run(all, true, pieces), len);
        assert_memory_equal(pieces, whole, len);
    }
    free(stream);
    free(whole);
    free(pieces);
}

/* What the peer gets and whether the connection goes on. */
static void expect(const char *bytes, size_t len, const char *text, bool goes_on)
{

    net_open(NULL);
    net.limits.scan = (struct scan_limits){.message_max = 1000, .depth_max = 8};
    net_connect(&peer);
    script_send(&peer, span_of(bytes, len));
    net_run_ms(10);
    if (text != NULL)
        assert_non_null(memmem(peer.out, peer.out_len, text, strlen(text)));
    else
        assert_int_equal(peer.out_len, 0);
    assert_int_equal(peer.shut, !goes_on);
    struct net_loop_stats stats = {0};
    net_loop_add_stats(net.loop, &stats);
    assert_int_equal(stats.protocol_errors, text != NULL || !goes_on);
    assert_int_equal(accounts_figures(net.accounts).unfinished, 0);
}
#define EXPECT(bytes, text, goes_on) expect(bytes, sizeof(bytes) - 1, text, goes_on)

NET_TEST(bad_input_is_answered_or_ends_it)
{
    EXPECT("\xc1", NULL, false);
    EXPECT("\xdd\xff\xff\xff\xff", NULL, false);
    EXPECT("\x05", NULL, false);                            /* not an array */
    EXPECT("\x90", NULL, false);                            /* an empty one */
    EXPECT("\x94\x00\xff\xa1x\x90", NULL, false);           /* a negative id */
    EXPECT("\x94\x09\x01\xa1x\x90", "BAD_REQUEST: ", true); /* no such type */
    EXPECT("\x92\x00\x05", "BAD_REQUEST: ", true);          /* too short, but with an id */
    EXPECT("\x94\x00\x05\x07\x90", "BAD_REQUEST: ", true);  /* the method is a number */
    EXPECT("\x94\x01\x05\xc0\xc0", NULL, true);             /* an answer to nothing */
    EXPECT("\x94\x00\x05\xa1x\xc1", NULL, false); /* the head is good, and what follows nothing */
    EXPECT("\x94\x00\x05\xa1x\xc6\x00\x00\x10\x00", "TOO_LARGE: the message is longer", false);
    EXPECT("\x94\x00\x05\xa1x\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x90",
           "TOO_LARGE: the message nests deeper than 8 levels", false);
    EXPECT("\x93\x02\xa1x\xc6\x00\x00\x10\x00", NULL, false); /* nobody waits for an answer */
}

/* Random bytes, half of them behind the head of a good request: it ends, or goes on, and holds no
 * more than it was sent. */
NET_TEST(noise_ends_it_and_holds_nothing)
{
    static const uint8_t head[] = {0x94, 0, 5, 0xa4, 'e', 'c', 'h', 'o'};

    for (uint64_t i = 1; i <= 3000; i++) {
        uint8_t bytes[200];
        seed = i * 0x9e3779b97f4a7c15u;
        size_t len = 1 + next_random() % (sizeof bytes - 1);
        for (size_t k = 0; k < len; k++)
            bytes[k] = (uint8_t)(next_random() >> 33);
        if (i % 2 == 0)
            memcpy(bytes, head, len < sizeof head ? len : sizeof head);
        net_connect(&peer);
        script_send(&peer, span_of(bytes, len));
        net_run_ms(net.v.now / AO_MS(1) + 1);
        assert_true(net.loop->partials.total < 2 * sizeof(struct partial_input) + 4096);
        script_send_eof(&peer);
        net_run_ms(net.v.now / AO_MS(1) + 1);
        assert_true(peer.closed);
    }
    assert_null(LIST_FIRST(&net.loop->all));
}

static const uint8_t half[] = {0x94, 0, 5, 0xa4, 'e', 'c'};

static void keep_half(void)
{
    net_send(&peer, 1, "hold", "");
    script_send(&peer, span_of(half, sizeof half));
    virtual_run(&net.v);
    assert_true(net.loop->partials.total > 0);
}

/* It may be there for long yet: for a call, or for a peer that does not read. */
NET_TEST(who_is_not_read_any_more_keeps_no_rest)
{
    const struct connection *c = net_connect(&peer);

    keep_half();
    script_send_eof(&peer);
    virtual_run(&net.v);
    assert_int_equal(c->state, CONN_DRAINING);
    assert_int_equal(net.loop->partials.total, 0);
    echo_release(&net.echo, 1);
    virtual_run(&net.v);

    struct connection *closed = net_connect(&peer);
    keep_half();
    peer.window = 0;
    net_send(&peer, 2, "echo", "");
    conn_close(closed, "the test wants it");
    virtual_run(&net.v);
    assert_ptr_equal(LIST_FIRST(&net.loop->all), closed);
    assert_int_equal(accounts_figures(net.accounts).unfinished, 0);
    echo_release(&net.echo, 1);
}

NET_TEST(a_shape_of_errors_is_kept_to)
{
    struct connection *c = net_connect(&peer);
    conn_mode(c)->error_shape = ERROR_SHAPE_PAIR;
    script_send(&peer, span_of("\x92\x00\x05", 3));
    virtual_run(&net.v);
    static const uint8_t head[] = {0x94, 1, 5, 0x92}; /* [number, text] */
    assert_memory_equal(peer.out, head, sizeof head);
}
