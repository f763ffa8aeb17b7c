/* Workers on the connections of one loop: peers that registered to run methods, and that we ask.
 *
 * A peer that says worker.register becomes a worker (struct worker), and its connection serves
 * (server/net/serving.h).  The worker loop of the loop (worker_executor.h) says which tasks it is
 * to run; here each becomes a request of ours, and its answer the task's result.  A connection may
 * have several registrations, which share its requests and its end.
 *
 *   worker.register ---> joining ---> open <---> quiet        methods.c
 *   a task          ---> request of ours, handed over         worker_port.c
 *   its answer      ---> result or failure, slot free         worker_answer.c
 *   the end of the connection: all of it is lost at once      worker_link.c
 *
 * Thread: the loop's, for all of this file; nothing is shared. */
#ifndef ERGON_WORKERS_WORKERS_H
#define ERGON_WORKERS_WORKERS_H

#include <ergon/ao.h>

#include "base/hash_table.h"
#include "server/net/serving.h"
#include "server/rpc/method.h"
#include "server/rpc/requests.h"
#include "server/workers/worker_events.h"
#include "server/workers/worker_executor.h"

enum {
    WORKERS_A_CONNECTION = 64,  /* registrations */
    WORKER_MESSAGE_LEAST = 4096 /* bytes; of `message` */
};

struct worker_wait;

/* A method that a registration offers. */
struct worker_offer {
    struct hash_link link; /* first; in the link's `offers` */
    struct span name;
};

/* One registration. */
struct worker {
    struct worker *next; /* of its connection, the newest first */
    struct worker_link *link;
    struct worker_executor *executor; /* the worker loop's; NULL: not yet made */
    struct worker_wait *waits;        /* requests about it that wait for the manager */
    ao_time since;                    /* when it came, of the loop's clock */
    ao_time lease;                    /* ns; 0: none */
    uint64_t holds;                   /* bytes that its connection is charged for it */
    uint64_t message;                 /* bytes of the longest request that it takes; 0: not known */
    uint32_t slots, count;            /* tasks at a time; methods */
    bool full;     /* it was not sent a task, for its output was: it is notified of room */
    bool counted;  /* in the figures of its loop */
    bool quiet;    /* in these figures */
    bool settling; /* the manager has not said yet that it is quiet, or open again */
    bool context;  /* it wants to know more of each task, and of what is cancelled */
    uint8_t share;
    char name[WORKER_NAME_MAX + 1], version[WORKER_VERSION_MAX + 1], host[WORKER_NAME_MAX + 1];
    struct worker_offer *offers; /* as many, in the same memory */
    uint8_t *secrets;            /* likewise, enum worker_secret; NULL: it says nothing of them */
    uint8_t *of_actors;          /* likewise, enum actor_method; NULL: none is one of an actor */
    struct span methods[];       /* their names, too */
};

/* What a connection has that serves: from its first registration until it is gone, or its last
 * registration was refused. */
struct worker_link {
    struct rpc_loop *loop;
    struct connection *conn;
    struct worker *first;
    struct hash_table offers; /* of all its registrations, each name once */
    uint64_t seed[2];         /* of their hashes, secret */
    struct requests requests;
    uint64_t rights;            /* conn_rights() for which it may offer what it does */
    uint64_t charged;           /* bytes of `requests` that the connection is charged for */
    uint64_t strange;           /* answers that nobody waited for */
    const char *why;            /* it is to be closed, constant; NULL: it is not, by us */
    int32_t number;             /* of the process of a module that it is; -1: it is none */
    struct rpc_process process; /* no board: it is none, or had ended when the link was made */

    struct ao lease; /* looks whether anything came; sleeps while no registration has one */
    ao_time heard;   /* when the last byte came, as far as it has looked */
    uint64_t came;   /* what had come by then */
    uint32_t ping;   /* number of its request that asks whether it is there; 0: none is out */
    bool leased;     /* `lease` was begun */

    struct ao
        late;     /* looks for tasks that nobody wants any more; sleeps until one may be too old */
    bool watched; /* `late` was begun */
};

/* Number of `w` as it is shown: "w17".  Valid until the next call with the same buffer. */
enum { WORKER_ID_SIZE = 12 };
const char *worker_id(const struct worker *w, char buf[WORKER_ID_SIZE]);
const char *worker_id_text(uint32_t number, char buf[WORKER_ID_SIZE]);

/* What worker.register, quiet and resume answer: {worker, slots, methods, out}. */
void worker_pack_settled(struct pack *p, const char *id, uint32_t slots, uint32_t methods,
                         uint32_t out);

/* "worker w17 at 10.0.0.7:4711: connection lost", for people. */
void worker_why(const struct worker *w, const char *why, char *buf, size_t size);

/* --- worker_link.c --- */

/* May this peer offer this method, by its principal's rights and its listener's? */
bool worker_may_offer(const struct connection *c, struct span method);

/* The link of this connection, made if there is none.  NULL without memory. */
struct worker_link *worker_link_of(struct rpc_loop *loop, struct connection *c);
/* A registration was not made, or refused: it is freed, and with the last one the link, and the
 * connection serves no longer. */
void worker_drop(struct worker *w);
/* It is registered from now on, or is not any more: the figures of its loop. */
void worker_count(struct worker *w, bool here);
void worker_count_quiet(struct worker *w, bool quiet); /* of one that is counted */
/* Closes the connection, for a reason that is logged (constant): what its workers have is lost. */
void worker_close(struct worker_link *link, const char *why);
/* The manager knows it, and it is there. */
bool worker_is_open(const struct worker *w);
/* The link's numbers take more memory, or less: it is charged. */
void worker_link_settle(struct worker_link *link);

/* Tells the worker loop of requests of which the stream has a byte by now. */
void worker_note_begun(struct worker_link *link);
/* That of the link's that has this task. */
struct worker *worker_of(const struct worker_link *link, const struct task *t);

/* A request that waits for what the manager says of a worker: answered later, with wait->call's
 * connection.  NULL: it was answered MEMORY. */
struct worker_wait *worker_wait_new(struct rpc_request *rq, struct worker *w);
/* All that wait for it are answered: with {worker, out}, or the error, if it is none. */
void worker_answer_waits(struct worker *w, enum ergon_error error, const char *text);

/* --- worker_types.c: the types of actors of a registration --- */

struct worker_types {
    struct worker_type *of; /* malloc'ed; names are the message's */
    uint32_t count;
};
/* Reads the raw map, which may be empty, and marks the worker's methods (`of_actors`).  False: the
 * request was refused.  types->of is the caller's to free either way. */
bool worker_types_read(struct rpc_request *rq, struct span raw, struct worker *w,
                       struct worker_types *types);

/* --- worker_watch.c: does a peer keep its lease, and does it end tasks that nobody wants? --- */

/* One of its registrations has a lease that it did not have: the link is watched.  A peer that is
 * silent for as long is closed.  It may be begun again while it watches. */
void worker_lease_begin(struct worker_link *link);

/* Nobody wants one of its tasks any more: the link is watched, where the configuration says so.  It
 * may be begun again while it watches. */
void worker_late_begin(struct worker_link *link);

#endif
