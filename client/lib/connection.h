/* One connection to a server, made again as often as its owner asks: bytes on one side, whole
 * messages on the other.  On the owner's event base, one thread; never blocks but in the resolution
 * of a host name.
 *
 * The port is called from the event loop only, never from inside connection_open(),
 * connection_flush() or connection_close(); each run of calls stands between enter() and leave().
 * The owner may do anything from inside, connection_close() included, but connection_fini() only
 * from or after leave(). */
#ifndef ERGON_CLIENT_CONNECTION_H
#define ERGON_CLIENT_CONNECTION_H

#include <event2/event_struct.h>

#include "client/lib/buffer.h"
#include "client/lib/dial.h"
#include "client/lib/settings.h"
#include "client/lib/stream.h"
#include "proto/envelope.h"

struct connection_port {
    void (*enter)(void *owner);
    void (*up)(void *owner); /* connected, TLS included */

    /* One whole value, valid during the call.  `known`: its envelope, or NULL. */
    void (*message)(void *owner, struct span message, const struct envelope *known);

    /* It closed by itself; `why` stays valid until the next connection_open(). */
    void (*down)(void *owner, const char *why);

    void (*leave)(void *owner);
};

/* States: what is true; who leaves it */
enum connection_state {
    CONNECTION_CLOSED,    /* nothing is open; connection_open() leaves it */
    CONNECTION_STARTING,  /* about to try its first address, from the loop */
    CONNECTION_DIALING,   /* a socket is connecting; it, or the next address, leaves it */
    CONNECTION_HANDSHAKE, /* TLS is not finished */
    CONNECTION_OPEN /* messages go both ways; end of stream, error or connection_close() leave it */
};

struct connection {
    enum connection_state state;
    const struct connection_port *port;
    void *owner;
    struct event_base *base;
    const struct settings *settings; /* the owner's: where to, and how */
    struct dial dial;
    struct stream stream;  /* open from CONNECTION_HANDSHAKE on; before, `fd` is the socket */
    int fd;                /* -1 unless DIALING, HANDSHAKE or OPEN */
    struct event readable; /* persistent; added from CONNECTION_HANDSHAKE on */
    struct event writable; /* added while something waits for it */
    struct event kick;     /* made active to go on in the next round of the loop */
    struct buffer in;
    struct buffer out;
    struct scanner scanner; /* of the value at the start of `in` */
    struct scan_limits limits;
    uint64_t written; /* bytes that the stream has taken since it was opened */
    bool broken;      /* connection_break() was called; the loop closes it */
    char why[320];
};

void connection_init(struct connection *c, struct event_base *base, const struct settings *settings,
                     const struct connection_port *port, void *owner);
void connection_fini(struct connection *c);

void connection_open(struct connection *c);  /* only when CONNECTION_CLOSED */
void connection_close(struct connection *c); /* drops what is unsent; idempotent; calls nobody */

/* Bytes appended to `c->out` are written later in this round, together.  Only when CONNECTION_OPEN.
 */
void connection_flush(struct connection *c);

/* It cannot go on: it goes down for `why`, which is copied, from the loop, and no message is handed
 * out any more.  Only when CONNECTION_OPEN; the first reason counts. */
void connection_break(struct connection *c, const char *why);

/* Where the next byte that is appended to `c->out` will stand in the stream: it is with the kernel,
 * or with TLS, once `c->written` is greater. */
static inline uint64_t connection_end(const struct connection *c)
{
    return c->written + buffer_length(&c->out);
}

#endif
