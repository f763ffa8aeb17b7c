/* The topology: which activators exist, and which objects live on which thread.
 *
 *   loop 0..n-1   a thread each: activator, libevent poller, connections, rpc layer, home, stepped
 *                 executors
 *   manager       the task manager and the submitted tasks: on loop 0, or on an activator and a
 *                 thread of its own
 *   blocking      a thread each, started by the task system
 *   store         a thread of its own, where a store is configured
 *   intake        likewise, of a cluster
 *   main          no activator: it waits for signals (server/lifecycle.c)
 *
 * It is built from the configuration, started, drained, stopped and freed.
 *
 * All functions: main thread. */
#ifndef ERGON_TOPOLOGY_H
#define ERGON_TOPOLOGY_H

#include "server/accounts/tally.h"
#include "server/config/config.h"
#include "server/rpc/rpc.h"
#include "server/system/threads.h"

struct loop {
    struct poller *poller;
    struct activator *activator;
    struct net_loop *net;
    struct tally_book tallies; /* open while `activator` is */
    struct rpc_loop rpc;
};

struct fronts;     /* server/front/fronts.h */
struct intake;     /* server/intake/intake.h */
struct processes;  /* server/processes/processes.h */
struct membership; /* server/membership.h */
struct exporter;   /* server/tracing/exporter.h */
struct tracer;

/* It owns all that it points to; a NULL member was not built. */
struct topology {
    struct loop *loops;
    uint32_t loop_count;
    struct accounts *accounts;
    struct activator **activators; /* of the loops; borrowed by tasks and rpc */
    struct net_loop **nets;        /* of the loops; borrowed by acceptor and rpc */
    struct rpc_loop **rpcs;        /* of the loops; borrowed by rpc */

    struct poller *manager_poller; /* NULL when the manager lives on loop 0 */
    struct activator *manager;

    struct tracer *tracer;     /* NULL: no spans are exported */
    struct exporter *exporter; /* sends the spans */

    struct tasks *tasks;
    uint32_t blocking_slots, stepped_slots; /* tasks that its executors have at a time */
    struct store *store;                    /* NULL: none is configured */
    struct membership *membership;          /* NULL: there is no cluster */
    struct jobs *jobs;
    struct acceptor *acceptor;
    struct fronts *fronts;       /* NULL: there is no cluster */
    struct intake *intake;       /* likewise */
    struct processes *processes; /* NULL: no module runs in processes of its own */
    struct rpc_shared shared;
    struct recorder_rings rings; /* of all threads that have one; borrowed by rpc */
    char *worker_methods;        /* borrowed by rpc and the jobs; NULL: none */

    struct threads threads; /* of the manager, if it has a thread of its own, then of the loops */
};

/* Builds everything except threads and listeners.  It opens a configured store and reads it back,
 * so it may block.  `registry` is borrowed until topology_free().  NULL and a text in `error`:
 * there is no memory or descriptor, a module needs an executor that is not configured, or the store
 * cannot be opened or read. */
struct topology *topology_build(const struct config *config, struct registry *registry, char *error,
                                size_t size);

/* Opens the configured listeners and loads the tokens.  Call it before the start.  0, or -1 and a
 * text: an address is in use or not local, or a certificate or the token file cannot be read. */
int topology_listen(struct topology *t, const struct config *config, char *error, size_t size);

/* Starts all threads.  0, or -1 and a text (a thread cannot be started): then no thread runs, and
 * only topology_free() may follow. */
int topology_start(struct topology *t, char *error, size_t size);

/* Notes that the thread of `a` does not finish its round, or does again.  A loop that is away gets
 * neither connections nor tasks.  If it is the first loop, the caller has to work as the acceptor
 * (topology_accepts_on()). */
void topology_set_away(struct topology *t, const struct activator *a, bool away);
bool topology_accepts_on(const struct topology *t, const struct activator *a);

enum { TOPOLOGY_DRAINED_PARTS = 2 }; /* connections, and attempts of submitted tasks */

/* Accepts no more connections and requests, and begins no more attempts.  Each of the parts above
 * calls `drained(arg)` once it has drained, on a loop's thread or the manager's. */
void topology_drain(struct topology *t, void (*drained)(void *arg), void *arg);

/* Stops the loops and joins their threads, then the blocking threads, within `limit` ns.  Returns
 * the number of threads that did not end; unless it is 0, topology_free() must not be called. */
uint32_t topology_stop(struct topology *t, ao_time limit);
void topology_free(struct topology *t); /* when no thread runs; NULL is fine */

#endif
