/* The connection of a front to the owner's cluster listener, for one client: it sends bytes and
 * receives whole messages.  The port (session.c, node_worker.c) interprets them.
 *
 *   IDLE --> CONNECTING --> HANDSHAKE (TLS) --> OPEN --> FINISHING (our side is shut) --> IDLE
 *               \______________\_________________\__ lost: `lost` is called __/
 *
 * While it is OPEN and says nothing, the system asks whether the peer's machine is still there, and
 * the session is lost once that has not answered for 30 s.
 *
 * A session is an active object of its client's loop, and never blocks.  Its next step sends what
 * was committed, so that requests which a client sends at once leave in one write.
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

/* Shared by the sessions of one loop. */
struct outgoing_loop {
    struct activator *activator;
    struct poller_watcher watcher;
    const struct scan_limits *limits;       /* of the owner's messages */
    struct tls_context *tls;                /* NULL: TLS is not configured; Unix sockets only */
    _Atomic(struct tls_context *) next_tls; /* made by a reload, not yet in use; or NULL */
    /* For tests: opens the session's stream in place of a socket.  NULL: a socket. */
    bool (*open)(struct outgoing *s);
    uint8_t *scratch;
    struct scanner *scanner; /* of the bytes in `scratch` */
};

struct outgoing_port {
    /* The session is connected; the peer's certificate names `name` (empty: a Unix socket).  False:
     * the session closes, as if it were lost. */
    bool (*opened)(struct outgoing *s, const char *name);
    /* A whole message came.  *kept: the malloc'ed block that holds it alone, which the port may
     * keep by setting *kept to NULL; or NULL. */
    void (*message)(struct outgoing *s, struct span message, const struct envelope *e,
                    uint8_t **kept);
    /* Does the port have room for more?  If not, it calls outgoing_kick() once it has. */
    bool (*may_read)(struct outgoing *s);
    /* The stream has taken some of the output. */
    void (*wrote)(struct outgoing *s);
    /* The peer has gone, or was never reached.  The session is IDLE, and keeps its output until
     * this returns.  `why`: for people, valid during the call.  Not after outgoing_end(). */
    void (*lost)(struct outgoing *s, const char *why);
    /* After outgoing_end(): nothing refers to the session any more. */
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
    struct outgoing_buffer out, in; /* `in`: the begin of a message that is not whole */
    struct scanner *scanner;        /* of `in`; NULL: `in` is empty */
    uint64_t handed;                /* bytes that the stream has taken since it was opened */
    const struct outgoing_target *target;
    uint32_t next_address;
    uint8_t state; /* enum outgoing_state */
    uint8_t ready; /* bits of enum stream_ready */
    bool full;     /* the port has no room */
    bool ending;   /* outgoing_end() */
    ao_time until; /* CONNECTING, HANDSHAKE, FINISHING: when the session gives up */
};

/* False without memory.  Set-up. */
bool outgoing_loop_init(struct outgoing_loop *l, struct activator *activator, struct poller *poller,
                        const struct scan_limits *limits, struct tls_context *tls);
void outgoing_loop_fini(struct outgoing_loop *l);
/* Sessions that connect from now on use this context, which the loop owns then; open sessions go
 * on. Any thread. */
void outgoing_loop_set_tls(struct outgoing_loop *l, struct tls_context *tls);

/* Does a new context wait for the next session that connects? */
bool outgoing_loop_renews(const struct outgoing_loop *l);

void outgoing_init(struct outgoing *s, struct outgoing_loop *l, const struct outgoing_port *port);
/* An IDLE session begins to connect.  `target` is borrowed until `opened` or `lost`, which the
 * session's own step calls. */
void outgoing_connect(struct outgoing *s, const struct outgoing_target *target);
/* Room at the end of the output; NULL without memory.  The caller writes there, and passes the end
 * of that to outgoing_commit(). */
uint8_t *outgoing_reserve(struct outgoing *s, size_t room);
void outgoing_commit(struct outgoing *s, uint8_t *end);
/* Bytes that were committed since the session was opened; and how many of these wait. */
uint64_t outgoing_committed(const struct outgoing *s);
size_t outgoing_waits(const struct outgoing *s);
/* Within `lost`: the output from `from` on, a former value of outgoing_committed(). */
struct span outgoing_unsent(const struct outgoing *s, uint64_t from);
/* The session takes its next step: the port has room again. */
void outgoing_kick(struct outgoing *s);
/* Closes the session now, as if it were lost, and calls `lost`. */
void outgoing_lose(struct outgoing *s, const char *why);
/* Sends what is left, shuts the connection, and calls `ended` at the end of a round. */
void outgoing_end(struct outgoing *s);
/* The loop ends: frees what the session holds, at once. */
void outgoing_fini(struct outgoing *s);

#endif
