/* One connection to a server, made again as often as its owner asks: bytes on one side, whole
 * messages on the other.  On the owner's event base, one thread; never blocks but in the resolution
 * of a host name.
 *
 * The port is called from the event loop only, never from inside link_open(), link_flush() or
 * link_close(); each run of calls stands between enter() and leave().  The owner may do anything
 * from inside, link_close() included, but link_fini() only from or after leave(). */
#ifndef ERGON_CLIENT_LINK_H
#define ERGON_CLIENT_LINK_H

#include <event2/event_struct.h>

#include "client/lib/buffer.h"
#include "client/lib/dial.h"
#include "client/lib/stream.h"
#include "client/lib/tls.h"
#include "proto/scanner.h"

struct link_port {
    void (*enter)(void *owner);
    void (*up)(void *owner);                           /* connected, TLS included */
    void (*message)(void *owner, struct span message); /* one whole value; valid during the call */
    void (*down)(void *owner, const char *why);        /* closed by itself; `why` stays valid until
                                                          the next link_open() */
    void (*leave)(void *owner);
};

/* States: what is true; who leaves it */
enum link_state {
    LINK_CLOSED,    /* nothing is open; link_open() leaves it */
    LINK_STARTING,  /* about to try its first address, from the loop */
    LINK_DIALING,   /* a socket is connecting; it, or the next address, leaves it */
    LINK_HANDSHAKE, /* TLS is not finished */
    LINK_OPEN       /* messages go both ways; end of stream, error or link_close() leave it */
};

struct link {
    enum link_state state;
    const struct link_port *port;
    void *owner;
    struct event_base *base;
    const struct url *url;   /* the owner's */
    struct tls *tls;         /* the owner's; NULL unless the URL says TLS */
    const char *server_name; /* the owner's; for TLS */
    struct dial dial;
    struct stream stream;  /* open from LINK_HANDSHAKE on; before, `fd` is the socket */
    int fd;                /* -1 unless DIALING, HANDSHAKE or OPEN */
    struct event readable; /* persistent; added from LINK_HANDSHAKE on */
    struct event writable; /* added while something waits for it */
    struct event kick;     /* made active to go on in the next round of the loop */
    struct buffer in;
    struct buffer out;
    struct scanner scanner; /* of the value at the start of `in` */
    struct scan_limits limits;
    char why[320];
};

void link_init(struct link *l, struct event_base *base, const struct link_port *port, void *owner);
void link_fini(struct link *l);

void link_open(struct link *l);  /* only when LINK_CLOSED */
void link_close(struct link *l); /* drops what is unsent; idempotent; calls nobody */

/* Bytes appended to `l->out` are written later in this round, together. Only when LINK_OPEN. */
void link_flush(struct link *l);

#endif
