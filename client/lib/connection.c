#include "client/lib/connection.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <unistd.h>

enum {
    CONNECTION_READ_MIN = 16 * 1024, /* bytes of room for one read */
    CONNECTION_READ_BUDGET =
        256 * 1024, /* bytes read before the loop's other events get their turn */
};

static void on_event(evutil_socket_t fd, short what, void *arg);

void connection_init(struct connection *c, struct event_base *base, const struct settings *settings,
                     const struct connection_port *port, void *owner)
{
    *c = (struct connection){.base = base,
                             .settings = settings,
                             .port = port,
                             .owner = owner,
                             .limits = {settings->options.message_max, SCAN_DEPTH_CAP},
                             .fd = -1};
    event_assign(&c->kick, base, -1, 0, on_event, c);
}

void connection_fini(struct connection *c)
{
    connection_close(c);
    buffer_fini(&c->in);
}

static void close_socket(struct connection *c)
{
    if (c->fd < 0)
        return;
    event_del(&c->writable);
    event_del(&c->readable);
    if (c->stream.ops != NULL)
        stream_close(&c->stream);
    else
        close(c->fd);
    c->fd = -1;
}

/* `in` is kept: the message that is being handed out may lie in it. */
void connection_close(struct connection *c)
{
    close_socket(c);
    event_del(&c->kick);
    dial_fini(&c->dial);
    buffer_fini(&c->out);
    c->state = CONNECTION_CLOSED;
}

static void go_down(struct connection *c, const char *why)
{
    if (why != c->why)
        snprintf(c->why, sizeof c->why, "%s", why);
    connection_close(c);
    c->port->down(c->owner, c->why);
}

void connection_open(struct connection *c)
{
    assert(c->state == CONNECTION_CLOSED);
    buffer_fini(&c->in);
    scanner_init(&c->scanner);
    c->why[0] = 0;
    c->written = 0;
    c->broken = false;
    c->state = CONNECTION_STARTING;
    event_active(&c->kick, EV_TIMEOUT, 0);
}

void connection_flush(struct connection *c)
{
    assert(c->state == CONNECTION_OPEN);
    if (!event_pending(&c->writable, EV_WRITE, NULL))
        event_active(&c->kick, EV_TIMEOUT, 0);
}

void connection_break(struct connection *c, const char *why)
{
    assert(c->state == CONNECTION_OPEN);
    if (c->broken)
        return;
    c->broken = true;
    snprintf(c->why, sizeof c->why, "%s", why);
    event_active(&c->kick, EV_TIMEOUT, 0);
}

/* ---- connecting ---- */

/* That of the caller, once. */
static int given_socket(struct connection *c)
{
    const struct ergon_options *o = &c->settings->options;
    int fd = c->dial.path_tried ? -1 : o->open_socket(o->open_socket_arg);
    if (fd < 0 && !c->dial.path_tried)
        snprintf(c->why, sizeof c->why, "open_socket had none to give");
    c->dial.path_tried = true;
    return fd;
}

static void next_address(struct connection *c)
{
    close_socket(c);
    c->fd = c->settings->options.open_socket != NULL ? given_socket(c)
                                                     : dial_next(&c->dial, c->why, sizeof c->why);
    if (c->fd < 0) {
        go_down(c, c->why);
        return;
    }
    event_assign(&c->readable, c->base, c->fd, EV_READ | EV_PERSIST, on_event, c);
    event_assign(&c->writable, c->base, c->fd, EV_WRITE, on_event, c);
    c->state = CONNECTION_DIALING;
    event_add(&c->writable, NULL);
}

static void in_starting(struct connection *c)
{
    if (c->settings->options.open_socket != NULL ||
        dial_start(&c->dial, &c->settings->url, c->why, sizeof c->why))
        next_address(c);
    else
        go_down(c, c->why);
}

static void in_dialing(struct connection *c)
{
    if (!dial_result(c->fd, c->why, sizeof c->why)) {
        next_address(c);
        return;
    }
    if (c->settings->tls == NULL) {
        stream_open_plain(&c->stream, c->fd);
    } else if (!tls_open_stream(c->settings->tls, &c->stream, c->fd, c->settings->server_name)) {
        go_down(c, "out of memory");
        return;
    }
    dial_fini(&c->dial);
    event_add(&c->readable, NULL);
    c->state = CONNECTION_HANDSHAKE;
}

/* What a verdict that is not STREAM_OK asks for.  False: the link is down. */
static bool wait_for(struct connection *c, enum stream_verdict v)
{
    switch (v) {
    case STREAM_OK:
    case STREAM_WANT_READ: /* `readable` is always added */
        return true;
    case STREAM_WANT_WRITE:
        event_add(&c->writable, NULL);
        return true;
    case STREAM_EOF:
        go_down(c, "the server closed the connection");
        return false;
    case STREAM_BROKEN:
        go_down(c, c->stream.why);
        return false;
    }
    return false;
}

static void in_handshake(struct connection *c)
{
    enum stream_verdict v = c->stream.ops->handshake(&c->stream);
    if (v != STREAM_OK) {
        wait_for(c, v);
        return;
    }
    c->state = CONNECTION_OPEN;
    c->port->up(c->owner);
}

/* ---- open ---- */

static enum stream_verdict write_out(struct connection *c)
{
    while (buffer_length(&c->out) > 0) {
        struct span rest = buffer_span(&c->out);
        size_t done = 0;
        enum stream_verdict v = c->stream.ops->write(&c->stream, rest.at, rest.len, &done);
        if (v != STREAM_OK)
            return v;
        buffer_drop(&c->out, done);
        c->written += done;
    }
    return STREAM_OK;
}

/* Hands out every whole message.  False: the link is no longer open, or about to be closed. */
static bool hand_out(struct connection *c)
{
    for (;;) {
        struct span bytes = buffer_span(&c->in);
        if (bytes.len == 0)
            return true;
        struct envelope e;
        bool begun = c->scanner.done == 0 && envelope_begin(bytes, &c->limits, &c->scanner, &e);
        enum scan_verdict v = scanner_run(&c->scanner, &c->limits, bytes);
        if (v == SCAN_MORE)
            return true;
        if (v != SCAN_WHOLE) {
            snprintf(c->why, sizeof c->why, "the server sent what is not allowed: %s",
                     scan_verdict_text(v));
            go_down(c, c->why);
            return false;
        }
        size_t len = c->scanner.done;
        if (begun)
            envelope_end(&e, span_of(bytes.at, len));
        c->port->message(c->owner, span_of(bytes.at, len), begun ? &e : NULL);
        if (c->state != CONNECTION_OPEN || c->broken)
            return false;
        buffer_drop(&c->in, len);
        scanner_init(&c->scanner);
    }
}

/* A large message is read in few steps, and none is given more room than it may need. */
static size_t room_wanted(const struct connection *c)
{
    size_t have = buffer_length(&c->in);
    size_t missing = c->scanner.need > have ? c->scanner.need - have : 0;
    if (missing > CONNECTION_READ_BUDGET)
        return CONNECTION_READ_BUDGET;
    return missing > CONNECTION_READ_MIN ? missing : CONNECTION_READ_MIN;
}

static bool read_in(struct connection *c)
{
    for (size_t taken = 0; taken < CONNECTION_READ_BUDGET;) {
        size_t room = room_wanted(c);
        size_t done = 0;
        uint8_t *at = buffer_reserve(&c->in, room);
        if (at == NULL) {
            go_down(c, "out of memory");
            return false;
        }
        enum stream_verdict v = c->stream.ops->read(&c->stream, at, room, &done);
        if (v != STREAM_OK)
            return wait_for(c, v);
        buffer_filled(&c->in, done);
        taken += done;
        if (!hand_out(c))
            return false;
    }
    /* TLS may hold bytes for which the socket will not be readable again. */
    event_active(&c->kick, EV_TIMEOUT, 0);
    return true;
}

/* Either readiness moves both directions: TLS may want a write to read, and the reverse.  What a
 * server said before it closed is read even when writing has failed. */
static void in_open(struct connection *c)
{
    enum stream_verdict v = write_out(c);
    if (!read_in(c))
        return;
    if (v == STREAM_OK)
        v = write_out(c);
    wait_for(c, v);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct connection *c = arg;
    (void)fd;
    (void)what;
    c->port->enter(c->owner);
    if (c->state == CONNECTION_STARTING)
        in_starting(c);
    else if (c->state == CONNECTION_DIALING)
        in_dialing(c);
    if (c->state == CONNECTION_HANDSHAKE)
        in_handshake(c);
    if (c->state == CONNECTION_OPEN && c->broken)
        go_down(c, c->why);
    else if (c->state == CONNECTION_OPEN)
        in_open(c);
    c->port->leave(c->owner);
}
