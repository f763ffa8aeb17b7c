#include "client/bench/conn.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { WELCOME_ROOM = 4096 }; /* bytes of one read of what a connection begins with */

void conn_init(struct conn *c, uint32_t index, struct slot *slots, uint32_t count)
{
    *c = (struct conn){.fd = -1, .index = index, .slots = slots, .slot_count = count};
    for (uint32_t i = 0; i < count; i++)
        slots[i] = (struct slot){.next = i + 1 < count ? i + 1 : NO_SLOT};
    c->last = count - 1;
}

const char *conn_reason(const struct conn *c, enum stream_verdict v)
{
    return v == STREAM_EOF ? "the server closed the connection" : c->stream.why;
}

static enum conn_need unreachable(struct conn *c, char *why, size_t size, const char *text)
{
    if (text != NULL)
        snprintf(why, size, "%s", text);
    conn_close(c);
    return CONN_UNREACHABLE;
}

/* STREAM_OK has no place here. */
static enum conn_need need_of(struct conn *c, enum stream_verdict v, char *why, size_t size)
{
    if (v == STREAM_WANT_READ)
        return CONN_NEEDS_READ;
    if (v == STREAM_WANT_WRITE)
        return CONN_NEEDS_WRITE;
    return unreachable(c, why, size, conn_reason(c, v));
}

/* ---- slots ---- */

void conn_take_slot(struct conn *c, uint64_t since_ns)
{
    struct slot *s = &c->slots[c->free];
    s->since_ns = since_ns;
    c->free = s->next;
    c->in_flight++;
}

void conn_free_slot(struct conn *c, uint32_t slot)
{
    c->slots[slot] = (struct slot){.next = NO_SLOT};
    if (c->unsent == NO_SLOT)
        c->unsent = slot;
    else
        c->slots[c->last].next = slot;
    if (c->free == NO_SLOT)
        c->free = slot;
    c->last = slot;
    c->in_flight--;
}

bool conn_next_unsent(struct conn *c, uint32_t *slot)
{
    *slot = c->unsent;
    if (c->unsent == c->free)
        return false;
    c->unsent = c->slots[*slot].next;
    return true;
}

/* ---- bytes ---- */

/* In one system call, which the stream does not offer. */
static enum stream_verdict write_plain(struct conn *c, const struct outgoing *out, size_t *done)
{
    char text[96];
    ssize_t n = outgoing_send(out, c->fd);
    *done = n > 0 ? (size_t)n : 0;
    if (n >= 0)
        return *done == out->total ? STREAM_OK : STREAM_WANT_WRITE;
    snprintf(c->stream.why, sizeof c->stream.why, "%s", strerror_r(errno, text, sizeof text));
    return STREAM_BROKEN;
}

static enum stream_verdict write_tls(struct conn *c, const struct outgoing *out, size_t *done)
{
    enum stream_verdict v = STREAM_OK;
    for (int i = 0; i < out->count; i++) {
        const struct iovec *part = &out->parts[i];
        size_t n = 0;
        for (size_t at = 0; at < part->iov_len && v == STREAM_OK; at += n, *done += n) {
            n = 0;
            v = c->stream.ops->write(&c->stream, (const char *)part->iov_base + at,
                                     part->iov_len - at, &n);
        }
    }
    return v;
}

static bool keep(struct conn *c, const struct outgoing *out, size_t from)
{
    uint8_t *at = buffer_reserve(&c->rest, out->total - from);
    if (at == NULL)
        return false;
    outgoing_copy(out, from, at);
    buffer_filled(&c->rest, out->total - from);
    return true;
}

enum stream_verdict conn_write(struct conn *c, struct outgoing *out, size_t *done)
{
    bool waits = buffer_length(&c->rest) > 0; /* what is gathered stands behind that */
    enum stream_verdict v = waits ? STREAM_WANT_WRITE : STREAM_OK;
    *done = 0;
    if (!waits && out->total > 0)
        v = c->stream.tls == NULL ? write_plain(c, out, done) : write_tls(c, out, done);
    if ((v == STREAM_WANT_READ || v == STREAM_WANT_WRITE) && !keep(c, out, *done)) {
        snprintf(c->stream.why, sizeof c->stream.why, "out of memory");
        v = STREAM_BROKEN;
    }
    outgoing_clear(out);
    return v;
}

enum stream_verdict conn_resume(struct conn *c, size_t *done)
{
    enum stream_verdict v = STREAM_OK;
    *done = 0;
    while (v == STREAM_OK && buffer_length(&c->rest) > 0) {
        struct span rest = buffer_span(&c->rest);
        size_t n = 0;
        v = c->stream.ops->write(&c->stream, rest.at, rest.len, &n);
        buffer_drop(&c->rest, n);
        *done += n;
    }
    return v;
}

/* ---- opening ---- */

static enum conn_need await_welcome(struct conn *c, const struct conn_target *t, char *why,
                                    size_t size)
{
    while (t->protocol->welcome != NULL) {
        switch (t->protocol->welcome(t->work, buffer_span(&c->part), why, size)) {
        case WELCOME_PARTIAL:
            break;
        case WELCOME_DONE:
            buffer_fini(&c->part);
            c->state = CONN_OPEN;
            return CONN_READY;
        case WELCOME_DENIED:
            conn_close(c);
            return CONN_DENIED;
        case WELCOME_WRONG:
            return unreachable(c, why, size, NULL);
        }
        size_t n = 0;
        uint8_t *at = buffer_reserve(&c->part, WELCOME_ROOM);
        if (at == NULL)
            return unreachable(c, why, size, "out of memory");
        enum stream_verdict v = c->stream.ops->read(&c->stream, at, WELCOME_ROOM, &n);
        if (v != STREAM_OK)
            return need_of(c, v, why, size);
        buffer_filled(&c->part, n);
    }
    c->state = CONN_OPEN;
    return CONN_READY;
}

static enum conn_need greet(struct conn *c, const struct conn_target *t, char *why, size_t size)
{
    size_t done;
    enum stream_verdict v = conn_resume(c, &done);
    return v == STREAM_OK ? await_welcome(c, t, why, size) : need_of(c, v, why, size);
}

static enum conn_need shake(struct conn *c, const struct conn_target *t, char *why, size_t size)
{
    const struct request r = {.work = t->work, .connection = c->index, .payload = t->payload};
    size_t done;
    enum stream_verdict v = c->stream.ops->handshake(&c->stream);
    if (v != STREAM_OK)
        return need_of(c, v, why, size);
    c->state = CONN_GREETING;
    c->skip = t->protocol->greeting;
    if (t->protocol->hello != NULL)
        t->protocol->hello(&r, t->out);
    v = conn_write(c, t->out, &done);
    return v == STREAM_EOF || v == STREAM_BROKEN ? need_of(c, v, why, size)
                                                 : greet(c, t, why, size);
}

static enum conn_need dial_on(struct conn *c, char *why, size_t size)
{
    c->watched = 0;
    c->fd = dial_next(&c->dial, why, size);
    if (c->fd < 0)
        return unreachable(c, why, size, NULL);
    c->state = CONN_DIALING;
    return CONN_NEEDS_WRITE;
}

static enum conn_need connected(struct conn *c, const struct conn_target *t, char *why, size_t size)
{
    if (!dial_result(c->fd, why, size)) {
        close(c->fd);
        return dial_on(c, why, size);
    }
    if (t->tls == NULL)
        stream_open_plain(&c->stream, c->fd);
    else if (!tls_open_stream(t->tls, &c->stream, c->fd, t->server_name))
        return unreachable(c, why, size, "out of memory");
    c->state = CONN_HANDSHAKE;
    return shake(c, t, why, size);
}

enum conn_need conn_open(struct conn *c, const struct conn_target *t, char *why, size_t why_size)
{
    c->dial = *t->dial;
    c->stream = (struct stream){0};
    c->skip = 0;
    c->ends = false;
    scanner_init(&c->scanner);
    return dial_on(c, why, why_size);
}

enum conn_need conn_go_on(struct conn *c, const struct conn_target *t, char *why, size_t why_size)
{
    switch (c->state) {
    case CONN_DIALING:
        return connected(c, t, why, why_size);
    case CONN_HANDSHAKE:
        return shake(c, t, why, why_size);
    case CONN_GREETING:
        return greet(c, t, why, why_size);
    case CONN_OPEN:
        return CONN_READY;
    case CONN_CLOSED:
        break;
    }
    return CONN_UNREACHABLE;
}

void conn_close(struct conn *c)
{
    if (c->state == CONN_DIALING && c->fd >= 0)
        close(c->fd);
    stream_close(&c->stream);
    buffer_fini(&c->part);
    buffer_fini(&c->rest);
    c->state = CONN_CLOSED;
    c->fd = -1;
    c->watched = 0;
}
