#include "client/bench/submit.h"

#include "client/bench/rpc.h"
#include "proto/reader.h"

#include <stdio.h>

enum { WAIT_MS = 3600 * 1000, ID_MAX = 32 };

/* [0, slot, "task.wait", [id, {"timeout": ..., "result": false}]]: the ids of requests are those of
 * rpc.c, of fixed width. */
static void ask_for_end(const struct answer *a, struct span id)
{
    uint8_t *at = outgoing_at(a->out);
    uint8_t *p = enc_uint(enc_array(at, 4), 0);
    *p++ = 0xce;
    for (int shift = 24; shift >= 0; shift -= 8)
        *p++ = (uint8_t)(a->slot >> shift);
    p = enc_str(enc_array(enc_str(p, span_text("task.wait")), 2), id);
    p = enc_uint(enc_str(enc_map(p, 2), span_text("timeout")), WAIT_MS);
    p = enc_bool(enc_str(p, span_text("result")), false);
    outgoing_wrote(a->out, (size_t)(p - at));
}

static bool find(struct span map, const char *key, struct span *value)
{
    struct reader r = reader_of(map);
    uint32_t pairs = 0;
    struct span name;
    if (!read_map(&r, &pairs))
        return false;
    for (; pairs > 0; pairs--) {
        bool found = read_text(&r, &name) && span_is(name, key);
        if (!read_any(&r, value))
            return false;
        if (found)
            return true;
    }
    return false;
}

static bool find_text(struct span map, const char *key, struct span *text)
{
    struct span value;
    struct reader r = {0};
    if (!find(map, key, &value))
        return false;
    r = reader_of(value);
    return read_text(&r, text);
}

/* Of the one task that was waited for; an end other than done is an error with its state. */
static enum answer_kind judge_end(struct span ended, struct answer *a)
{
    struct reader r = reader_of(ended);
    uint32_t count = 0;
    struct span task, state = {0};
    bool any = read_array(&r, &count) && count == 1 && read_any(&r, &task) &&
               find_text(task, "state", &state);
    if (any && span_is(state, "done"))
        return ANSWER_GOOD;
    snprintf(a->code, sizeof a->code, "%.*s", any ? (int)state.len : 4,
             any ? (const char *)state.at : "open");
    return ANSWER_ERROR;
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    struct envelope e;
    const char *why;
    struct span id, ended;
    enum answer_kind kind = RPC.parse(work, scanner, at, n, a);
    if (kind != ANSWER_GOOD)
        return kind;
    if (a->size > n || envelope_read(span_of(at, a->size), &e, &why) != ENVELOPE_OK)
        return ANSWER_WRONG;
    if (find(e.result, "ended", &ended))
        return judge_end(ended, a);
    if (!find_text(e.result, "id", &id) || id.len > ID_MAX)
        return ANSWER_WRONG;
    ask_for_end(a, id);
    return ANSWER_STAGE;
}

static void hello(const struct request *r, struct outgoing *out)
{
    RPC.hello(r, out);
}

static enum welcome welcome(const void *work, struct span bytes, char *why, size_t why_size)
{
    return RPC.welcome(work, bytes, why, why_size);
}

static void request(const struct request *r, struct outgoing *out)
{
    RPC.request(r, out);
}

const struct protocol RPC_SUBMITTED = {
    .name = "MessagePack-RPC",
    .hello = hello,
    .welcome = welcome,
    .request = request,
    .parse = parse,
};
