/* Every method of the server's own, with parameters that a seed makes up: each request has exactly
 * one response, whatever it asks, and the accounts balance afterwards. */
#include <stdio.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/rpc/method.h"
#include "tests/support/random.h"
#include "tests/support/rpc_stage.h"

enum { SEEDS = 150, ROUND = 200, VALUE_MAX = 600 };

static uint64_t drawn;

static uint32_t any_of(uint32_t n)
{
    return chance(&drawn, n);
}

/* Words that mean something somewhere. */
static const char *const words[] = {
    "echo",
    "sleep",
    "block",
    "none",
    "",
    "t0000000000001",
    "5s",
    "20ms",
    "@daily",
    "every 1s",
    "*/5 * * * *",
    "UTC",
    "tick",
    "queued",
    "done",
    "fsync",
    "async",
    "skip",
    "replace",
    "all",
    "k",
    "priority",
    "delay",
    "at",
    "timeout",
    "deadline",
    "retries",
    "backoff",
    "key",
    "coalesce",
    "limit",
    "rate",
    "max",
    "per",
    "tenant",
    "after",
    "keep",
    "keep_size",
    "durable",
    "result",
    "history",
    "any",
    "from",
    "push",
    "state",
    "method",
    "older",
    "newer",
    "cursor",
    "zone",
    "jitter",
    "catch_up",
    "overlap",
    "2026-11-22T00:00:00Z",
};
enum { WORDS = sizeof words / sizeof words[0] };

static char ids[8][16]; /* of tasks that were submitted */

static uint8_t *put_word(uint8_t *p)
{
    const char *id = ids[any_of(8)];
    return enc_str(p, span_text(any_of(4) == 0 && id[0] ? id : words[any_of(WORDS)]));
}

static uint8_t *put_scalar(uint8_t *p)
{
    static const uint64_t numbers[] = {0, 1, 5, 9, 100, 1024, 70000, UINT32_MAX, UINT64_MAX};

    switch (any_of(6)) {
    case 0:
        return enc_nil(p);
    case 1:
        *p = any_of(2) ? 0xc3 : 0xc2;
        return p + 1;
    case 2:
        return enc_uint(p, numbers[any_of(9)]);
    case 3:
        *p = 0xff; /* -1 */
        return p + 1;
    default:
        return put_word(p);
    }
}

static uint8_t *put_any(uint8_t *p, const uint8_t *end, unsigned depth)
{
    uint32_t n = any_of(4);

    if (depth == 0 || end - p < 100 || any_of(3) == 0)
        return put_scalar(p);
    if (any_of(2)) {
        for (p = enc_array(p, n); n > 0; n--)
            p = put_any(p, end, depth - 1);
        return p;
    }
    for (*p++ = (uint8_t)(0x80 | n); n > 0; n--)
        p = put_any(put_word(p), end, depth - 1);
    return p;
}

/* [required..., {options}] more often than not. */
static uint8_t *put_params(uint8_t *p, const uint8_t *end)
{
    uint32_t n = any_of(6);

    p = enc_array(p, n);
    for (uint32_t i = 0; i < n; i++)
        p = any_of(2) ? put_word(p) : put_any(p, end - VALUE_MAX / 6, 3);
    return p;
}

/* hello and cancel change what is answered, and who kills itself hears nothing any more. */
static bool is_unlike_others(const char *name)
{
    return strncmp(name, "server.", 7) == 0 || strcmp(name, "connection.kill") == 0;
}

static const char *any_method(void)
{
    for (;;) {
        const char *name = stage.rpc.methods[any_of(METHOD_COUNT)].name;
        if (!is_unlike_others(name))
            return name;
    }
}

static void ask(uint8_t id)
{
    uint8_t message[2048], *p = enc_array(message, 4);

    p = enc_str(enc_uint(enc_uint(p, 0), id), span_text(any_method()));
    p = put_params(p, message + VALUE_MAX);
    script_send(&peer, span_of(message, (size_t)(p - message)));
}

static void note_id(struct span response)
{
    for (size_t i = 0; i + 15 <= response.len; i++)
        if (response.at[i] == 0xae && response.at[i + 1] == 't')
            snprintf(ids[any_of(8)], sizeof ids[0], "%.14s", (const char *)response.at + i + 1);
}

/* How many responses there are; each is noted in `seen` by its id. */
static void read_responses(uint8_t *seen)
{
    struct span left = span_of(peer.out, peer.out_len);
    size_t len;

    while (left.len > 0 && (len = value_length(left)) > 0) {
        struct reader r = reader_of(span_of(left.at, len));
        uint32_t count;
        uint64_t type, id;
        assert_true(read_array(&r, &count) && count == 4 && read_uint(&r, &type) && type == 1);
        assert_true(read_uint(&r, &id) && id < 256);
        seen[id]++;
        note_id(span_of(left.at, len));
        left = span_behind(left, len);
    }
    assert_int_equal(left.len, 0);
    script_forget(&peer);
}

/* Long polls of up to an hour have an answer, too. */
static void a_round(uint64_t seed)
{
    uint8_t seen[256] = {0};

    drawn = seed;
    memset(ids, 0, sizeof ids);
    for (unsigned i = 0; i < ROUND; i++) {
        ask((uint8_t)i);
        if (any_of(4) == 0)
            stage_run_ms(net.v.now / AO_MS(1) + any_of(50));
        read_responses(seen);
    }
    for (unsigned i = 0; i < ROUND; i++) {
        if (seen[i] != 1)
            stage_run_ms(net.v.now / AO_MS(1) + 7200 * 1000);
        read_responses(seen);
        if (seen[i] != 1)
            fail_msg("seed %lu: request %u has %u responses", (unsigned long)seed, i, seen[i]);
    }
    stage_ask(&peer, 1, "server.audit", "[]"); /* crons go on for ever */
    stage_run_ms(net.v.now / AO_MS(1));
    assert_non_null(strstr(stage_said_to(&peer), "'balanced': true"));
}

TEST(each_request_has_one_response)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        stage_open(state);
        a_round(seed);
        stage_close(state);
    }
}

/* The connection is gone while anything may be under way. */
TEST(a_peer_that_goes_leaves_nothing_behind)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        stage_open(state);
        drawn = seed;
        memset(ids, 0, sizeof ids);
        for (unsigned i = 0; i < ROUND; i++) {
            uint8_t seen[256] = {0};
            ask((uint8_t)i);
            stage_run_ms(net.v.now / AO_MS(1));
            read_responses(seen);
        }
        conn_abort(stage.conn, "reset by the test");
        stage_run_ms(net.v.now / AO_MS(1) + 1000);
        stage_close(state);
    }
}
