/* The connection of a front to the owner's cluster listener, for one client: bytes out, whole
 * messages in.  What they say is forward.h's.
 *
 *   IDLE --> CONNECTING --> HANDSHAKE (TLS) --> OPEN --> FINISHING (our side is shut) --> IDLE
 *               \______________\_________________\__ lost: `lost` is called __/
 *
 * A session never blocks, and is an active object of its client's loop.  What is written goes out
 * with its next step, so that all that a client sends at once goes in one write.
 *
 * Thread: the loop's. */
#ifndef ERGON_FRONT_OUTGOING_H
#define ERGON_FRONT_OUTGOING_H

#include <sys/socket.h>

#include "base/list.h"
#include "base/span.h"
#include "proto/envelope.h"
#include "server/net/stream/stream.h"
#include "server/net/stream/tls.h"

struct activator;
struct outgoing;

/* Where the owner is: the addresses of its name. */
enum { TARGET_ADDRESSES = 4 };
struct outgoing_target {
    struct sockaddr_storage at[TARGET_ADDRESSES];
    socklen_t len[TARGET_ADDRESSES];
    uint32_t count;
    bool tls;
};

/* What the sessions of one loop share. */
struct outgoing_loop {
    struct activator *activator;
    struct poller_watcher watcher;
    const struct scan_limits *limits;       /* of the owner's messages */
    struct tls_context *tls;                /* NULL: none is configured, and Unix sockets are all */
    _Atomic(struct tls_context *) next_tls; /* what a reload brought; NULL: nothing */
    /* In place of a socket, for tests: opens the stream, over which it connects.  NULL: a socket.
     */
    bool (*open)(struct outgoing *s);
    uint8_t *scratch;
    struct scanner *scanner; /* of the bytes in `scratch` */
};

struct outgoing_port {
    /* It is connected, and its peer has shown the certificate of `name` (empty of a Unix socket).
     * False: it is closed, as if it were lost. */
    bool (*opened)(struct outgoing *s, const char *name);
    /* A whole message.  `kept`: the block of malloc() that holds it alone, which the port may take
     * by setting it to NULL; or NULL. */
    void (*message)(struct outgoing *s, struct span message, const struct envelope *e,
                    uint8_t **kept);
    /* Is there room for more?  If not, the port calls outgoing_kick() once there is. */
    bool (*may_read)(struct outgoing *s);
    /* Some of the output has gone. */
    void (*wrote)(struct outgoing *s);
    /* Its peer has gone, or was never reached.  It is IDLE, and its output is still there until
     * this returns.  `why`: for people, valid during the call.  Not after outgoing_end(). */
    void (*lost)(struct outgoing *s, const char *why);
    /* After outgoing_end(): nothing refers to it any more. */
    void (*ended)(struct outgoing *s);
};

enum outgoing_state {
    OUTGOING_IDLE,
    OUTGOING_CONNECTING,
    OUTGOING_HANDSHAKE,
    OUTGOING_OPEN,
    OUTGOING_FINISHING
};

struct outgoing_buffer {
    uint8_t *at; /* malloc'ed */
    size_t start, end, room;
};

struct outgoing {
    struct ao ao;
    struct outgoing_loop *loop;
    const struct outgoing_port *port;
    struct stream stream;
    struct outgoing_buffer out, in; /* `in`: of a message that is not whole */
    struct scanner *scanner;        /* of `in`; NULL: that is empty */
    uint64_t handed;                /* bytes that the stream has taken since it was opened */
    const struct outgoing_target *target;
    uint32_t next_address;
    uint8_t state; /* enum outgoing_state */
    uint8_t ready; /* bits of enum stream_ready */
    bool full;     /* the port has no room */
    bool ending;   /* outgoing_end() */
    ao_time until; /* CONNECTING, HANDSHAKE, FINISHING: when it is given up */
};

/* False without memory.  Set-up. */
bool outgoing_loop_init(struct outgoing_loop *l, struct activator *activator, struct poller *poller,
                        const struct scan_limits *limits, struct tls_context *tls);
void outgoing_loop_fini(struct outgoing_loop *l);
/* Connections from now on are made with this context, which is taken over; those that are open go
 * on.  Any thread. */
void outgoing_loop_set_tls(struct outgoing_loop *l, struct tls_context *tls);

void outgoing_init(struct outgoing *s, struct outgoing_loop *l, const struct outgoing_port *port);
/* Of one that is IDLE: begins to connect.  `target` is borrowed until `opened` or `lost`, which is
 * called later, never from within this. */
void outgoing_connect(struct outgoing *s, const struct outgoing_target *target);
/* Room at the end of the output; NULL without memory.  outgoing_commit() says where what was
 * written there ends. */
uint8_t *outgoing_reserve(struct outgoing *s, size_t room);
void outgoing_commit(struct outgoing *s, uint8_t *end);
/* Bytes that were committed since it was opened, and of these those that wait. */
uint64_t outgoing_committed(const struct outgoing *s);
size_t outgoing_waits(const struct outgoing *s);
/* Within `lost`: bytes of the output from this place of outgoing_committed() on. */
struct span outgoing_unsent(const struct outgoing *s, uint64_t from);
/* The port has room again. */
void outgoing_kick(struct outgoing *s);
/* Closes it now, as if it were lost. */
void outgoing_lose(struct outgoing *s, const char *why);
/* Writes what is left, shuts, and calls `ended` at the end of a round. */
void outgoing_end(struct outgoing *s);
/* The loop ends: frees all that it holds, at once. */
void outgoing_fini(struct outgoing *s);

#endif
