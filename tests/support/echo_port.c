#include "tests/support/echo_port.h"

#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/net/serving.h"

static void answer(struct connection *c, struct span msgid, struct span result)
{
    uint8_t *p = conn_reserve(c, ENC_RESPONSE_MAX + result.len);

    if (p == NULL)
        return;
    p = enc_response_head(p, msgid);
    memcpy(p, result.at, result.len);
    conn_commit(c, p + result.len);
}

static void hold(struct echo_port *e, struct connection *c, struct span msgid, bool counted)
{
    if (e->held_count == ECHO_HELD_MAX)
        abort();
    struct echo_held *h = &e->held[e->held_count++];
    *h = (struct echo_held){.c = c, .counted = counted, .msgid_len = (uint8_t)msgid.len};
    memcpy(h->msgid, msgid.at, msgid.len);
    conn_call_began(c, counted);
}

void echo_release(struct echo_port *e, uint32_t count)
{
    while (count-- > 0 && e->held_count > 0) {
        struct echo_held h = e->held[0];
        memmove(e->held, e->held + 1, --e->held_count * sizeof h);
        answer(h.c, span_of(h.msgid, h.msgid_len), span_of("\xc0", 1));
        conn_call_ended(h.c, h.counted);
    }
}

static void big(struct connection *c, const struct envelope *m)
{
    struct reader r;
    uint32_t count;
    uint64_t len = 0;

    read_params(m->params, &r, &count);
    read_uint(&r, &len);
    uint8_t *block = calloc(1, len + 1);
    uint8_t *p = conn_reserve(c, ENC_RESPONSE_MAX + ENC_HEAD_MAX);
    if (block == NULL || p == NULL) {
        free(block);
        return;
    }
    conn_commit(c, enc_bin_head(enc_response_head(p, m->msgid), (uint32_t)len));
    conn_send_block(c, block, span_of(block, len), free);
}

static void on_request(struct echo_port *e, struct connection *c, const struct envelope *m)
{
    e->requests++;
    if (span_is(m->method, "hold") || span_is(m->method, "poll")) {
        hold(e, c, m->msgid, span_is(m->method, "hold"));
    } else if (span_is(m->method, "big")) {
        big(c, m);
    } else if (span_is(m->method, "close")) {
        conn_close(c, "the port closes");
    } else {
        conn_call_began(c, true);
        answer(c, m->msgid, m->params);
        conn_call_ended(c, true);
    }
}

static void on_message(void *arg, struct connection *c, const struct envelope *m)
{
    struct echo_port *e = arg;

    switch (m->type) {
    case ENVELOPE_REQUEST:
        on_request(e, c, m);
        break;
    case ENVELOPE_NOTIFICATION:
        e->notifications++;
        break;
    case ENVELOPE_RESPONSE:
        e->responses++;
        break;
    }
}

static void on_gone(void *arg, struct connection *c)
{
    struct echo_port *e = arg;

    e->gone++;
    e->why = conn_why(c);
}

static void on_finished(void *arg, struct connection *c)
{
    struct echo_port *e = arg;

    e->finished++;
    e->why = conn_why(c);
}

static void on_flushed(void *arg, struct connection *c)
{
    struct echo_port *e = arg;

    e->flushed++;
    if (e->on_flushed)
        e->on_flushed(c);
}

static bool is_harmless(void *arg, const struct envelope *m)
{
    return span_is(m->method, "note");
}

struct conn_port echo_port(struct echo_port *e)
{
    return (struct conn_port){.arg = e,
                              .message = on_message,
                              .gone = on_gone,
                              .finished = on_finished,
                              .flushed = on_flushed,
                              .harmless = is_harmless};
}
