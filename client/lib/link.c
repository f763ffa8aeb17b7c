#include "client/lib/link.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LINK_READ_MIN = 16 * 1024,     /* bytes of room for one read */
    LINK_READ_BUDGET = 256 * 1024, /* bytes read before the loop's other events get their turn */
};

static void on_event(evutil_socket_t fd, short what, void *arg);

void link_init(struct link *l, struct event_base *base, const struct link_port *port, void *owner)
{
    *l = (struct link){.base = base, .port = port, .owner = owner, .fd = -1};
    event_assign(&l->kick, base, -1, 0, on_event, l);
}

void link_fini(struct link *l)
{
    link_close(l);
    buffer_fini(&l->in);
}

static void close_socket(struct link *l)
{
    if (l->fd < 0)
        return;
    event_del(&l->writable);
    event_del(&l->readable);
    if (l->stream.ops != NULL)
        stream_close(&l->stream);
    else
        close(l->fd);
    l->fd = -1;
}

/* `in` is kept: the message that is being handed out may lie in it. */
void link_close(struct link *l)
{
    close_socket(l);
    event_del(&l->kick);
    dial_fini(&l->dial);
    buffer_fini(&l->out);
    l->state = LINK_CLOSED;
}

static void go_down(struct link *l, const char *why)
{
    if (why != l->why)
        snprintf(l->why, sizeof l->why, "%s", why);
    link_close(l);
    l->port->down(l->owner, l->why);
}

void link_open(struct link *l)
{
    assert(l->state == LINK_CLOSED);
    buffer_fini(&l->in);
    scanner_init(&l->scanner);
    l->why[0] = 0;
    l->state = LINK_STARTING;
    event_active(&l->kick, EV_TIMEOUT, 0);
}

void link_flush(struct link *l)
{
    assert(l->state == LINK_OPEN);
    if (!event_pending(&l->writable, EV_WRITE, NULL))
        event_active(&l->kick, EV_TIMEOUT, 0);
}

/* ---- connecting ---- */

static void next_address(struct link *l)
{
    close_socket(l);
    l->fd = dial_next(&l->dial, l->why, sizeof l->why);
    if (l->fd < 0) {
        go_down(l, l->why);
        return;
    }
    event_assign(&l->readable, l->base, l->fd, EV_READ | EV_PERSIST, on_event, l);
    event_assign(&l->writable, l->base, l->fd, EV_WRITE, on_event, l);
    l->state = LINK_DIALING;
    event_add(&l->writable, NULL);
}

static void in_starting(struct link *l)
{
    if (dial_start(&l->dial, l->url, l->why, sizeof l->why))
        next_address(l);
    else
        go_down(l, l->why);
}

static void in_dialing(struct link *l)
{
    if (!dial_result(l->fd, l->why, sizeof l->why)) {
        next_address(l);
        return;
    }
    if (l->tls == NULL) {
        stream_open_plain(&l->stream, l->fd);
    } else if (!tls_open_stream(l->tls, &l->stream, l->fd, l->server_name)) {
        go_down(l, "out of memory");
        return;
    }
    dial_fini(&l->dial);
    event_add(&l->readable, NULL);
    l->state = LINK_HANDSHAKE;
}

/* What a verdict that is not STREAM_OK asks for.  False: the link is down. */
static bool wait_for(struct link *l, enum stream_verdict v)
{
    switch (v) {
    case STREAM_OK:
    case STREAM_WANT_READ: /* `readable` is always added */
        return true;
    case STREAM_WANT_WRITE:
        event_add(&l->writable, NULL);
        return true;
    case STREAM_EOF:
        go_down(l, "the server closed the connection");
        return false;
    case STREAM_BROKEN:
        go_down(l, l->stream.why);
        return false;
    }
    return false;
}

static void in_handshake(struct link *l)
{
    enum stream_verdict v = l->stream.ops->handshake(&l->stream);
    if (v != STREAM_OK) {
        wait_for(l, v);
        return;
    }
    l->state = LINK_OPEN;
    l->port->up(l->owner);
}

/* ---- open ---- */

static enum stream_verdict write_out(struct link *l)
{
    while (buffer_length(&l->out) > 0) {
        struct span rest = buffer_span(&l->out);
        size_t done = 0;
        enum stream_verdict v = l->stream.ops->write(&l->stream, rest.at, rest.len, &done);
        if (v != STREAM_OK)
            return v;
        buffer_drop(&l->out, done);
    }
    return STREAM_OK;
}

/* Hands out every whole message.  False: the link is no longer open. */
static bool hand_out(struct link *l)
{
    for (;;) {
        struct span bytes = buffer_span(&l->in);
        if (bytes.len == 0)
            return true;
        enum scan_verdict v = scanner_run(&l->scanner, &l->limits, bytes);
        if (v == SCAN_MORE)
            return true;
        if (v != SCAN_WHOLE) {
            snprintf(l->why, sizeof l->why, "the server sent what is not allowed: %s",
                     scan_verdict_text(v));
            go_down(l, l->why);
            return false;
        }
        size_t len = l->scanner.done;
        l->port->message(l->owner, span_of(bytes.at, len));
        if (l->state != LINK_OPEN)
            return false;
        buffer_drop(&l->in, len);
        scanner_init(&l->scanner);
    }
}

/* A large message is read in few steps, and none is given more room than it may need. */
static size_t room_wanted(const struct link *l)
{
    size_t have = buffer_length(&l->in);
    size_t missing = l->scanner.need > have ? l->scanner.need - have : 0;
    if (missing > LINK_READ_BUDGET)
        return LINK_READ_BUDGET;
    return missing > LINK_READ_MIN ? missing : LINK_READ_MIN;
}

static bool read_in(struct link *l)
{
    for (size_t taken = 0; taken < LINK_READ_BUDGET;) {
        size_t room = room_wanted(l);
        size_t done = 0;
        uint8_t *at = buffer_reserve(&l->in, room);
        if (at == NULL) {
            go_down(l, "out of memory");
            return false;
        }
        enum stream_verdict v = l->stream.ops->read(&l->stream, at, room, &done);
        if (v != STREAM_OK)
            return wait_for(l, v);
        buffer_filled(&l->in, done);
        taken += done;
        if (!hand_out(l))
            return false;
    }
    /* TLS may hold bytes for which the socket will not be readable again. */
    event_active(&l->kick, EV_TIMEOUT, 0);
    return true;
}

/* Either readiness moves both directions: TLS may want a write to read, and the reverse.  What a
 * server said before it closed is read even when writing has failed. */
static void in_open(struct link *l)
{
    enum stream_verdict v = write_out(l);
    if (!read_in(l))
        return;
    if (v == STREAM_OK)
        v = write_out(l);
    wait_for(l, v);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd;
    (void)what;
    l->port->enter(l->owner);
    if (l->state == LINK_STARTING)
        in_starting(l);
    else if (l->state == LINK_DIALING)
        in_dialing(l);
    if (l->state == LINK_HANDSHAKE)
        in_handshake(l);
    if (l->state == LINK_OPEN)
        in_open(l);
    l->port->leave(l->owner);
}
