/* The rpc layer of one loop: it is above connections and tasks, and joins them.
 *
 * A message of a connection is either one of the server's own methods, which is served here and
 * now, or a call of a handler, which becomes a task at the loop's home.  Every request gets exactly
 * one response, whatever happens.
 *
 * Thread: one rpc_loop a loop, all on that loop's thread.  What several loops share (struct
 * rpc_shared) is read-only. */
#ifndef ERGON_RPC_RPC_H
#define ERGON_RPC_RPC_H

#include "base/counter.h"
#include "base/recorder.h"
#include "proto/errors.h"
#include "server/accounts/account.h"
#include "server/jobs/jobs.h"
#include "server/net/net.h"
#include "server/tasks/tasks.h"

struct call_board;  /* server/tasks/call_board.h */
struct call_params; /* server/tasks/call_params.h */

enum { RPC_LISTENERS = 64, RPC_LISTENER_URL = 288 };

/* Of a listener with TLS: when what it shows, and what it asks by, ends; Unix seconds, INT64_MAX:
 * never, or it has none.  Written by the main thread, relaxed on both sides. */
struct rpc_listener {
    char url[RPC_LISTENER_URL]; /* as configured; constant once it is counted */
    _Atomic int64_t certificate_ends, crl_ends;
};

/* How the server is set up, for server.info: written by the main thread, relaxed on both sides but
 * for listener_count. */
struct rpc_setup {
    struct rpc_listener listeners[RPC_LISTENERS];
    /* Release after writing their URLs, acquire before reading them. */
    _Atomic uint32_t listener_count;
    _Atomic int64_t exposed_files, open_listeners;
    _Atomic int64_t certificate_ends, crl_ends, token_ends; /* Unix seconds; INT64_MAX: never */
    _Atomic int64_t crashed; /* likewise, when a server before this one left a file of that */
    _Atomic int64_t reload_refused; /* likewise, when the last reload was; INT64_MAX: it was not */
};

/* The processes of modules, as their connections see them: server/processes/processes.h.  Thread:
 * any.  Each is named by its number, which conn_module_process() gives. */
struct rpc_process {
    struct call_board *board;   /* a reference, the caller's */
    struct call_params *params; /* the caller's; NULL: given before */
    const char *module;         /* as its methods name it */
    ao_time stuck;              /* ns that a task may be unwanted; 0: any */
};
struct rpc_module_figures {
    const char *module;
    uint32_t running; /* processes */
    uint64_t ended;   /* that had run */
    uint64_t failed;  /* that did not come to run */
};
struct rpc_processes {
    void *arg;
    /* False: it has ended. */
    bool (*hold)(void *arg, uint32_t process, struct rpc_process *out);
    void (*end)(void *arg, uint32_t process); /* kills it; its connection ends thereby */
    /* Fills in the figures of the module at this place, from 0; false: there are no more. */
    bool (*figures)(void *arg, uint32_t place, struct rpc_module_figures *out);
};

/* What the server's own methods tell about the server.  Filled by the builder before the threads
 * start. */
struct rpc_shared {
    struct registry *registry;
    struct tasks *tasks;
    struct net_loop **net_loops;
    struct rpc_loop **rpc_loops;
    struct activator **loops;
    struct activator *manager; /* on a thread of its own; NULL: it lives on the first loop */
    uint32_t loop_count;
    const struct recorder_rings *rings;
    struct net_limits limits;
    struct accounts *accounts;
    struct tracer *tracer; /* NULL: no span is reported */
    ao_time started;       /* of ao_clock_monotonic */
    const char *idle;      /* name of the idle mode */
    struct jobs *jobs;
    struct cluster *cluster;        /* NULL: there is none */
    struct rpc_processes processes; /* zeroed: there are none */
    uint8_t default_durable;        /* enum job_durable: of a submission that names none */
    const char *worker_methods;     /* patterns of methods that workers will offer; NULL: none */
    ao_time give_up; /* ns for which a worker may go on with an unwanted task; 0: any */
    /* A figure for server.info: written once by the main thread, relaxed on both sides. */
    _Atomic bool draining;
    struct rpc_setup setup;
    struct figures *figures; /* server/rpc/figures.h */
    uint64_t memory_usable;  /* bytes that the machine, or its control group, has */
};

struct rpc_request;
struct rpc_method;

/* What another process of the cluster serves: server/front/forward.h.  Thread: the loop's. */
struct rpc_remote {
    /* A request or notification that no handler here has, and that its peer may call; `own` NULL:
     * of an unknown method.  True: it was passed on, or answered. */
    bool (*takes)(void *arg, struct rpc_request *rq, const struct envelope *e,
                  const struct rpc_method *own);
    /* A response to none of our own requests: the same. */
    bool (*response)(void *arg, struct connection *c, const struct envelope *e);
    /* There may be room for output again (conn_port.has_room, or flushed). */
    void (*has_room)(struct connection *c);
    /* No answer is read on this connection any more. */
    void (*gone)(void *arg, struct connection *c);
    /* cluster.session: a node speaks for its client. */
    void (*session)(void *arg, struct rpc_request *rq);
    const struct principal *(*vouched)(void *arg, struct connection *c); /* conn_port.vouched */
};

/* What one loop has passed on to the owner of the tasks.  Written by its thread, read by any:
 * relaxed figures. */
struct rpc_forwarded {
    counter sessions; /* open now */
    counter waiting;  /* requests that wait for an owner now */
    counter passed;   /* requests in all; of these: */
    counter resent;   /* sent again, to the next owner */
    counter refused;  /* answered BUSY, since no owner could be reached */
    counter unsure;   /* answered UNSURE, since the owner was lost */
};

struct tracer; /* server/tracing/tracer.h */

struct rpc_stats { /* of one loop; written by its thread, read by any: relaxed figures */
    _Atomic uint64_t requests, notifications, ignored, refused;
    counter refused_for[ERGON_ERROR_COUNT]; /* of these, by their error */
    /* Of workers: registered now, and their slots; of these, quiet; gone in all, and answers
     * without a request. */
    _Atomic uint64_t workers, worker_slots, workers_quiet, workers_gone, strange;
};

static inline void rpc_count_refused(struct rpc_stats *stats, enum ergon_error error)
{
    counter_add(&stats->refused, 1);
    counter_add(&stats->refused_for[error], 1);
}

struct act;
enum { RPC_VERDICTS = 256 };

struct rpc_loop {
    const struct rpc_method *methods; /* the server's own, METHOD_COUNT; set by rpc_port() */
    const struct rpc_shared *shared;
    struct home *home;
    struct tracer *sampler; /* by which calls without a trace may begin one; NULL: none does */
    struct worker_loop *worker_loop; /* of its workers; set by rpc_serve_workers() */
    struct jobs_channel *channel;    /* its port is that of job_requests.h */
    const struct rpc_remote *remote; /* NULL: there is no cluster */
    void *remote_arg;
    const struct rpc_forwarded *forwarded; /* likewise */
    struct activator *activator;
    struct method *recent; /* that was called last: the next call is likely the same; NULL: none */
    const struct rpc_method
        *recent_own;        /* likewise, of the server's own: while one is served, it */
    struct act *act;        /* that is being served: trail.h */
    const char *outcome;    /* of it: "ok", or the name of an error */
    bool kept, may_be_done; /* the message that is being served: rpc_serve_kept() */
    uint32_t censuses;      /* requests that walk through all connections */
    /* What conn_may() said last of methods that are not simply all allowed: in a place that both
     * numbers say. */
    struct rpc_verdict {
        uint64_t rights;  /* conn_rights(); 0: the entry is empty */
        const void *name; /* that of the method's own, so it is the same each time */
        bool may;
    } verdicts[RPC_VERDICTS];
    struct rpc_stats stats;
};

/* The sum over all loops; zero without a cluster.  Any thread. */
struct rpc_forwarded_sum {
    uint64_t sessions, waiting, passed, resent, refused, unsure;
};
struct rpc_forwarded_sum rpc_forwarded(const struct rpc_shared *s);

/* The port of this loop's connections; `arg` is the rpc_loop, which must outlive them.  Set-up. */
struct conn_port rpc_port(struct rpc_loop *loop);

/* Serves a message of this connection that was kept, as if it came now; not within a message of it.
 * The answer is BUSY if its account has no room for it.  `may_be_done`: an owner that was lost may
 * have done it, so refusals become UNSURE as answer_is_unsure() says. */
void rpc_serve_kept(struct rpc_loop *loop, struct connection *c, const struct envelope *e,
                    bool may_be_done);

/* Peers of this loop may be workers, whose tasks come by this worker loop.  Set-up. */
void rpc_serve_workers(struct rpc_loop *loop, struct worker_loop *worker_loop);

/* A call of this loop's home has ended: the answer goes to the connection that owns it.  A
 * call_ended_fn; `arg` is the rpc_loop; the outcome stays the caller's, but for a block that is
 * handed over. */
void rpc_call_opened(void *arg, struct call *call);
void rpc_call_ended(void *arg, struct call *call, struct outcome *outcome);

#endif
