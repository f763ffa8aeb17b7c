/* The inside of struct forward, for the files of its room that make it up:
 *
 *   forward.c    set-up; the changes of the owner, and patience
 *   requests.c   requests, notifications and responses of the client, on their way to the owner
 *   session.c    the session to the owner: how it begins, what it brings, how it is lost; the stock
 *   settle.c     how a request ends, and what its client is charged for it
 *
 * Thread: the loop's. */
#ifndef ERGON_FORWARD_PRIVATE_H
#define ERGON_FORWARD_PRIVATE_H

#include "server/front/forward.h"
#include "server/front/pending.h"
#include "server/front/vouch.h"
#include "server/runtime/activator.h"

enum { FRONT_TEXT_MAX = 320 };
#define FRONT_TICK AO_MS(100) /* while requests wait for an owner */

struct forward {
    struct forward_options options;
    struct rpc_loop *rpc;
    struct activator *activator;
    struct ao clock;          /* notified of changes; ends requests that wait too long */
    struct ao_handle *handle; /* of the clock */
    struct outgoing_loop sessions;
    struct scan_limits limits; /* of the owner's messages */
    struct tls_loop *tls;
    struct owner_place place;
    LIST_HEAD(front_list, front) fronts; /* with those whose clients have gone */
    TAILQ_HEAD(, front) waiting;         /* of these, those with requests that wait for an owner */
    struct front_list stock;             /* ready for clients, but for the one that connects */
    uint32_t stock_count;
    bool stock_planned;  /* the clock's next step adds to it */
    bool stocks;         /* the owner has accepted a client since a session of the stock was lost */
    uint32_t connecting; /* sessions that were asked for, and have not begun */
    bool unreachable;    /* the last one that ended so did not reach the owner */
    ao_time retry_at;    /* while `unreachable`: when one client may try again */
    ao_time pause;       /* the last pause before that; 0: the owner was reached */
    char why[FRONT_TEXT_MAX]; /* while `unreachable` */
    uint64_t next_identity;
    struct rpc_forwarded stats;
    struct refusals refusals; /* of owners by this node, and of nodes by this owner */
};

/* The client's side of one connection: its session, and its requests that the owner answers. */
struct front {
    struct outgoing session;
    struct forward *forward;
    struct connection *client; /* NULL: it has gone, or there was none yet */
    LIST_ENTRY(front) link;    /* of forward.stock while it is `spare`, or of forward.fronts */
    TAILQ_ENTRY(front) turn;   /* of forward.waiting, while it `waits` */
    struct pendings pendings;
    uint64_t rights;       /* conn_rights() when cluster.session was last sent */
    struct conn_mode mode; /* likewise */
    uint64_t version;      /* of the place to which the session is connected */
    ao_time retry_at;      /* after the owner has refused this client: when it may connect again */
    ao_time pause;         /* the last pause before that; 0: its last session began */
    ao_time greet_until;   /* while it waits for the answer to the first cluster.session */
    uint64_t output;       /* bytes of the session's output that the client is charged for */
    bool spare;            /* of the stock: no client has it */
    bool from_stock;       /* it was, and the owner has not accepted a client on it */
    bool waits;            /* requests of it wait for an owner */
    bool greeted;          /* the owner has accepted cluster.session */
    bool composes;         /* and said that it knows results as parameters, and worker.submit */
    bool connecting;       /* the session was asked for, and has not begun */
    bool has_state;        /* the owner keeps something for this connection: a hold, a worker */
    bool closing;          /* the owner reads nothing more of this session: it drains or stops */
    bool unwanted;         /* the owner has refused this client, not this node */
    uint64_t written;      /* messages that were written to the session */
    uint64_t was_read;     /* while `closing`: the owner has read so many of them */
    char why[FRONT_TEXT_MAX]; /* why the owner has refused this client; empty: it has not */
};

static inline ao_time forward_now(const struct forward *f)
{
    return activator_now(f->activator);
}

/* ---- settle.c ---- */

/* Charges the client for a request that was added. */
void front_weigh_request(struct front *r, const struct pending *e);
/* Charges the client for so many bytes of the session's output. */
void front_weigh_output(struct front *r, uint64_t waits);

/* Ends a request without an answer from here: the owner's answer was passed on, or nobody reads it.
 * `outcome` is that of the act in the audit log; NULL: this node records none.  Frees `e`. */
void front_settle(struct front *r, struct pending *e, const char *outcome);
/* Answers it with this error, and ends it.  A refusal says nothing of what a lost owner did before:
 * then it is UNSURE. */
void front_answer(struct front *r, struct pending *e, enum ergon_error error, const char *text);
/* The session was lost: a request that may be sent again waits for the next owner; all others are
 * answered UNSURE.  Within outgoing_port.lost. */
void front_settle_lost(struct front *r, struct pending *e, const char *why);
/* No owner can be reached: requests that have waited for cluster.patience, or for as long as they
 * themselves allow, are answered BUSY.  While the tasks move, task.explain and queue.explain are
 * answered so. */
void front_lose_patience(struct front *r);

/* ---- session.c ---- */

extern const struct outgoing_port front_port;

/* Does the session take requests now? */
static inline bool session_takes(const struct front *r)
{
    return r->greeted && !r->closing;
}

/* Requests wait for an owner: begins to connect, or the clock looks at this client again.  A
 * session whose owner does not answer is lost. */
void session_seek(struct front *r);
/* None of its requests waits for an owner any more. */
void session_await_no_more(struct front *r);
/* The client has gone: neither waits nor connects any more. */
void session_leave(struct front *r);
/* Sends cluster.session if the owner knows the client as it was before: a reload, server.auth or
 * server.hello has changed it.  False: the client is nobody any more, or there is no memory. */
bool session_greet_again(struct front *r);
/* Writes a message to the session, or that which an entry keeps; an entry gets its place in the
 * output.  False: no memory. */
bool session_write(struct front *r, struct pending *e);
bool session_write_message(struct front *r, struct pending *e, const struct envelope *message);
void session_out_of_memory(struct front *r);
/* For a client that has none; its session is one of the stock, if one is ready.  NULL without
 * memory. */
struct front *front_new(struct forward *f, struct connection *client);
void front_free(struct front *r);

/* Ends the sessions of the stock to a former owner, and adds one if that is due. */
void stock_tend(struct forward *f);

/* ---- requests.c ---- */

extern const struct rpc_remote forward_remote;

/* Does this node own the tasks? */
static inline bool forward_serves_itself(const struct forward *f)
{
    enum cluster_role role = f->options.roles.role(f->options.roles.cluster);

    return role == CLUSTER_OWNER || role == CLUSTER_ALONE;
}

/* This node owns the tasks now: serves here what waits. */
void front_serve_here(struct front *r);

#endif
