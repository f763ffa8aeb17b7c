#include "client/bench/peer.h"

#include "client/lib/frame.h"
#include "proto/encoder.h"
#include "proto/envelope.h"

#include <stdio.h>
#include <unistd.h>

enum { AUTH_ANSWER_MAX = 4096 }; /* bytes of the answer of server.auth */

static enum peer_need unreachable(struct peer *p, char *why, size_t size, const char *text)
{
    if (text != NULL)
        snprintf(why, size, "%s", text);
    peer_close(p);
    return PEER_UNREACHABLE;
}

/* STREAM_OK has no place here. */
static enum peer_need need_of(struct peer *p, enum stream_verdict v, char *why, size_t size)
{
    if (v == STREAM_WANT_READ)
        return PEER_NEEDS_READ;
    if (v == STREAM_WANT_WRITE)
        return PEER_NEEDS_WRITE;
    return unreachable(p, why, size,
                       v == STREAM_EOF ? "the server closed the connection" : p->stream.why);
}

/* ---- token ---- */

static bool frame_token(struct peer *p, struct span token)
{
    struct buffer params = {0};
    uint8_t *at = buffer_reserve(&params, 2 * ENC_HEAD_MAX + token.len);
    bool good = at != NULL;
    if (good) {
        buffer_filled(&params, (size_t)(enc_str(enc_array(at, 1), token) - at));
        good = frame_request(&p->out, 0, span_text("server.auth"), buffer_span(&params));
    }
    buffer_fini(&params);
    return good;
}

static enum peer_need judge_auth_answer(struct peer *p, struct span answer, char *why, size_t size)
{
    struct envelope e;
    struct error_text said;
    const char *wrong = "no answer";
    if (envelope_read(answer, &e, &wrong) != ENVELOPE_OK || e.type != ENVELOPE_RESPONSE) {
        snprintf(why, size, "server.auth: %s", wrong);
        return unreachable(p, why, size, NULL);
    }
    if (e.error.len == 1 && e.error.at[0] == 0xc0) {
        buffer_drop(&p->in, buffer_length(&p->in));
        scanner_init(&p->scanner);
        p->state = PEER_OPEN;
        return PEER_READY;
    }
    error_text_read(e.error, &said);
    snprintf(why, size, "the server refused the token: %.200s", said.text);
    peer_close(p);
    return PEER_DENIED;
}

static enum peer_need read_auth_answer(struct peer *p, char *why, size_t size)
{
    const struct scan_limits limits = {AUTH_ANSWER_MAX, SCAN_DEPTH_CAP};
    for (;;) {
        size_t done = 0;
        uint8_t *at = buffer_reserve(&p->in, AUTH_ANSWER_MAX);
        if (at == NULL)
            return unreachable(p, why, size, "out of memory");
        enum stream_verdict v = p->stream.ops->read(&p->stream, at, AUTH_ANSWER_MAX, &done);
        if (v != STREAM_OK)
            return need_of(p, v, why, size);
        buffer_filled(&p->in, done);
        struct span answer = buffer_span(&p->in);
        enum scan_verdict scanned = scanner_run(&p->scanner, &limits, answer);
        if (scanned == SCAN_WHOLE)
            return judge_auth_answer(p, span_of(answer.at, p->scanner.done), why, size);
        if (scanned != SCAN_MORE)
            return unreachable(p, why, size, "server.auth: the answer is none");
    }
}

static enum peer_need show_token(struct peer *p, char *why, size_t size)
{
    while (buffer_length(&p->out) > 0) {
        struct span rest = buffer_span(&p->out);
        size_t done = 0;
        enum stream_verdict v = p->stream.ops->write(&p->stream, rest.at, rest.len, &done);
        if (v != STREAM_OK)
            return need_of(p, v, why, size);
        buffer_drop(&p->out, done);
    }
    return read_auth_answer(p, why, size);
}

/* ---- connecting ---- */

static enum peer_need dial_on(struct peer *p, char *why, size_t size)
{
    p->watched = 0;
    p->fd = dial_next(&p->dial, why, size);
    if (p->fd < 0)
        return unreachable(p, why, size, NULL);
    p->state = PEER_CONNECTING;
    return PEER_NEEDS_WRITE;
}

static enum peer_need shake(struct peer *p, const struct peer_target *t, char *why, size_t size)
{
    enum stream_verdict v = p->stream.ops->handshake(&p->stream);
    if (v != STREAM_OK)
        return need_of(p, v, why, size);
    p->state = PEER_OPEN;
    if (t->token == NULL)
        return PEER_READY;
    p->state = PEER_SHOWING_TOKEN;
    if (!frame_token(p, span_text(t->token)))
        return unreachable(p, why, size, "out of memory");
    return show_token(p, why, size);
}

static enum peer_need connected(struct peer *p, const struct peer_target *t, char *why, size_t size)
{
    if (!dial_result(p->fd, why, size)) {
        close(p->fd);
        return dial_on(p, why, size);
    }
    if (t->tls == NULL) {
        stream_open_plain(&p->stream, p->fd);
    } else if (!tls_open_stream(t->tls, &p->stream, p->fd, t->server_name)) {
        return unreachable(p, why, size, "out of memory");
    }
    p->state = PEER_SHAKING;
    return shake(p, t, why, size);
}

enum peer_need peer_open(struct peer *p, const struct peer_target *t, char *why, size_t why_size)
{
    p->dial = *t->dial;
    p->stream = (struct stream){0};
    scanner_init(&p->scanner);
    return dial_on(p, why, why_size);
}

enum peer_need peer_go_on(struct peer *p, const struct peer_target *t, char *why, size_t why_size)
{
    switch (p->state) {
    case PEER_CONNECTING:
        return connected(p, t, why, why_size);
    case PEER_SHAKING:
        return shake(p, t, why, why_size);
    case PEER_SHOWING_TOKEN:
        return show_token(p, why, why_size);
    case PEER_OPEN:
        return PEER_READY;
    case PEER_CLOSED:
        break;
    }
    return PEER_UNREACHABLE;
}

void peer_free_slots(struct peer *p, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        p->slots[i] = (struct peer_slot){.next = i + 1 < count ? i + 1 : PEER_NO_SLOT};
    p->free_slot = count > 0 ? 0 : PEER_NO_SLOT;
    p->in_flight = 0;
}

void peer_close(struct peer *p)
{
    if (p->state == PEER_CONNECTING && p->fd >= 0)
        close(p->fd);
    stream_close(&p->stream);
    buffer_fini(&p->in);
    buffer_fini(&p->out);
    p->state = PEER_CLOSED;
    p->fd = -1;
    p->watched = 0;
}
