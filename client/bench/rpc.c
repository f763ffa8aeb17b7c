#include "client/bench/rpc.h"

#include "client/lib/frame.h"
#include "proto/error_value.h"
#include "proto/reader.h"

#include <assert.h>
#include <stdio.h>

enum {
    SLOT_AT = 3,    /* in a request and in its answer: 94 00 ce slot ... */
    RESULT_AT = 8,  /* in a plain answer: 94 01 ce slot c0 ... */
    AUTH_MAX = 4096 /* bytes of the answer of server.auth */
};

static const struct scan_limits LIMITS = {UINT32_MAX, SCAN_DEPTH_CAP};

void rpc_work_init(struct rpc_work *w, const char *token)
{
    w->count = 0;
    w->token = token;
}

/* The slot has a fixed width, so that it can be set in place. */
static uint8_t *begin_call(struct rpc_call *c, struct span method)
{
    uint8_t *p = enc_uint(enc_array(c->head, 4), 0);
    *p = 0xce;
    return enc_str(p + 5, method);
}

static void end_call(struct rpc_call *c, uint8_t *end, struct span params, struct span after)
{
    c->payload = params.len == 0;
    if (c->payload)
        end = enc_array(end, 1);
    c->head_len = (size_t)(end - c->head);
    c->params = params;
    c->after = after;
}

void rpc_work_call(struct rpc_work *w, struct span method, struct span params)
{
    assert(w->count < BENCH_MIX_MAX && method.len <= METHOD_NAME_MAX);
    struct rpc_call *c = &w->calls[w->count++];
    end_call(c, begin_call(c, method), params, span_of(NULL, 0));
}

void rpc_work_submission(struct rpc_work *w, struct span method, struct span params,
                         struct span options)
{
    assert(w->count < BENCH_MIX_MAX && method.len <= METHOD_NAME_MAX);
    struct rpc_call *c = &w->calls[w->count++];
    uint8_t *p = begin_call(c, span_text("task.submit"));
    end_call(c, enc_str(enc_array(p, 3), method), params, options);
}

static void request(const struct request *r, struct outgoing *out)
{
    const struct rpc_work *w = r->work;
    const struct rpc_call *c = &w->calls[r->call];
    uint8_t *at = outgoing_at(out);
    uint32_t slot = __builtin_bswap32(r->slot);
    memcpy(at, c->head, c->head_len);
    memcpy(at + SLOT_AT, &slot, sizeof slot);
    if (c->payload) {
        uint8_t *end = enc_bin_head(at + c->head_len, (uint32_t)r->payload.len);
        outgoing_wrote(out, (size_t)(end - at));
        outgoing_add(out, r->payload.at, r->payload.len);
    } else {
        outgoing_wrote(out, c->head_len);
        outgoing_add(out, c->params.at, c->params.len);
    }
    if (c->after.len > 0)
        outgoing_add(out, c->after.at, c->after.len);
}

/* ---- answers ---- */

static uint32_t big_endian(const uint8_t *at, size_t len)
{
    uint32_t v = 0;
    for (size_t i = 0; i < len; i++)
        v = v << 8 | at[i];
    return v;
}

/* Whether it is [1, slot as it was sent, nil, ...: all good answers of a server that returns ids
 * byte for byte. */
static bool is_plain(const uint8_t *at, size_t n)
{
    return n > RESULT_AT && at[0] == 0x94 && at[1] == 1 && at[2] == 0xce && at[7] == 0xc0;
}

/* Of a plain answer that gives bytes or text, in which nothing can be malformed.  0: it gives
 * something else, or that cannot be told yet. */
static size_t echo_size(const uint8_t *at, size_t n)
{
    if (n < RESULT_AT + ENC_HEAD_MAX)
        return 0;
    switch (at[RESULT_AT]) {
    case 0xc4:
    case 0xd9:
        return RESULT_AT + 2 + (size_t)at[RESULT_AT + 1];
    case 0xc5:
    case 0xda:
        return RESULT_AT + 3 + (size_t)big_endian(at + RESULT_AT + 1, 2);
    case 0xc6:
    case 0xdb:
        return RESULT_AT + 5 + (size_t)big_endian(at + RESULT_AT + 1, 4);
    default:
        return (at[RESULT_AT] & 0xe0) == 0xa0 ? RESULT_AT + 1 + (size_t)(at[RESULT_AT] & 0x1f) : 0;
    }
}

static enum answer_kind take(struct span message, struct answer *a)
{
    struct envelope e;
    struct error_value said;
    const char *why = NULL;
    uint64_t slot = 0;
    if (envelope_read(message, &e, &why) != ENVELOPE_OK)
        return ANSWER_WRONG;
    if (e.type != ENVELOPE_RESPONSE)
        return ANSWER_NONE;
    struct reader r = reader_of(e.msgid);
    a->slot = read_uint(&r, &slot) && slot < UINT32_MAX ? (uint32_t)slot : UINT32_MAX;
    if (!envelope_is_error(&e))
        return ANSWER_GOOD;
    error_value_read(e.error, &said);
    snprintf(a->code, sizeof a->code, "%s", said.code[0] != 0 ? said.code : "other");
    return ANSWER_ERROR;
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    const uint8_t *bytes = (const uint8_t *)at;
    (void)work;
    bool plain = is_plain(bytes, n);
    if (plain) {
        a->slot = big_endian(bytes + SLOT_AT, 4);
        a->size = echo_size(bytes, n);
        if (a->size > 0) {
            scanner_init(scanner);
            return ANSWER_GOOD;
        }
        if (scanner->done == 0)
            scanner_init_last(scanner, RESULT_AT);
    }
    enum scan_verdict v = scanner_run(scanner, &LIMITS, span_of(at, n));
    if (v == SCAN_MORE)
        return ANSWER_PARTIAL;
    if (v != SCAN_WHOLE)
        return ANSWER_WRONG;
    a->size = scanner->done;
    scanner_init(scanner);
    return plain ? ANSWER_GOOD : take(span_of(at, a->size), a);
}

/* ---- the first messages ---- */

static void hello(const struct request *r, struct outgoing *out)
{
    const struct rpc_work *w = r->work;
    struct span greeting = frame_hello();
    outgoing_add(out, greeting.at, greeting.len);
    if (w->token == NULL)
        return;
    uint8_t *at = outgoing_at(out);
    uint8_t *p = enc_uint(enc_uint(enc_array(at, 4), 0), 0);
    p = enc_array(enc_str(p, span_text("server.auth")), 1);
    p = enc_str_head(p, (uint32_t)strlen(w->token));
    outgoing_wrote(out, (size_t)(p - at));
    outgoing_add(out, w->token, strlen(w->token));
}

static enum welcome judge(struct span answer, char *why, size_t size)
{
    struct envelope e;
    struct error_value said;
    const char *wrong = "no answer";
    if (envelope_read(answer, &e, &wrong) != ENVELOPE_OK || e.type != ENVELOPE_RESPONSE) {
        snprintf(why, size, "server.auth: %s", wrong);
        return WELCOME_WRONG;
    }
    if (!envelope_is_error(&e))
        return WELCOME_DONE;
    error_value_read(e.error, &said);
    snprintf(why, size, "the server refused the token: %.200s", said.text);
    return WELCOME_DENIED;
}

static enum welcome welcome(const void *work, struct span bytes, char *why, size_t why_size)
{
    const struct rpc_work *w = work;
    const struct scan_limits limits = {AUTH_MAX, SCAN_DEPTH_CAP};
    struct scanner scanner;
    if (w->token == NULL)
        return WELCOME_DONE;
    scanner_init(&scanner);
    enum scan_verdict v = scanner_run(&scanner, &limits, bytes);
    if (v == SCAN_WHOLE)
        return judge(span_of(bytes.at, scanner.done), why, why_size);
    if (v == SCAN_MORE)
        return WELCOME_PARTIAL;
    snprintf(why, why_size, "server.auth: the answer is none");
    return WELCOME_WRONG;
}

const struct protocol RPC = {
    .name = "MessagePack-RPC",
    .hello = hello,
    .welcome = welcome,
    .request = request,
    .parse = parse,
};
