/* The topology: which activators exist, and which objects live on which thread.
 *
 *   loop 0..n-1   a thread each: activator, libevent poller, connections, rpc layer, home, stepped
 *                 executors
 *   manager       the task manager and the submitted tasks: on loop 0, or on an activator and a
 *                 thread of its own
 *   blocking      a thread each, started by the task system
 *   store         a thread of its own, where a store is configured
 *   main          no activator: it waits for signals (server/lifecycle.c)
 *
 * It is built from the configuration, started, drained, stopped and taken apart.
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

/* Owns all that it points to.  What is NULL was not built. */
struct exporter; /* server/tracing/exporter.h */
struct tracer;

struct topology {
    struct loop *loops;
    uint32_t loop_count;
    struct accounts *accounts;
    struct activator **activators; /* of the loops; lent to tasks and rpc */
    struct net_loop **nets;        /* of the loops; lent to acceptor and rpc */
    struct rpc_loop **rpcs;        /* of the loops; lent to rpc */

    struct poller *manager_poller; /* NULL when the manager lives on loop 0 */
    struct activator *manager;

    struct tracer *tracer;     /* NULL: no span is told */
    struct exporter *exporter; /* who tells them */

    struct tasks *tasks;
    struct store *store; /* NULL: none is configured */
    struct jobs *jobs;
    struct acceptor *acceptor;
    struct rpc_shared shared;
    struct recorder_rings rings; /* of all threads that have one; lent to rpc */
    char *worker_methods;        /* lent to rpc and the jobs; NULL: none */

    struct threads threads; /* of the manager, if it has one of its own, then of the loops */
};

/* Builds everything but threads and listeners; a configured store is opened and read back, so this
 * may block.  `registry` is borrowed until topology_free().  NULL and a text in `error` when there
 * is no memory or descriptor, when a module needs an executor that is not configured, or when the
 * store cannot be opened or read. */
struct topology *topology_build(const struct config *config, struct registry *registry, char *error,
                                size_t size);

/* Opens the configured listeners and loads the tokens, before the start.  0, or -1 and a text: an
 * address that is taken or not ours, a certificate or a token file that cannot be read. */
int topology_listen(struct topology *t, const struct config *config, char *error, size_t size);

/* Starts all threads.  0, or -1 and a text (no thread to be had): then none runs, and only
 * topology_free() may follow. */
int topology_start(struct topology *t, char *error, size_t size);

/* The thread of `a` does not finish its round, or does again.  While a loop is away it is given
 * neither connections nor tasks; whoever watches does the acceptor's work when it is the first. */
void topology_set_away(struct topology *t, const struct activator *a, bool away);
bool topology_accepts_on(const struct topology *t, const struct activator *a);

enum { TOPOLOGY_DRAINED_PARTS = 2 }; /* connections, and attempts of submitted tasks */

/* No new connection, no new request, no attempt is begun any more.  `drained(arg)` is called once
 * by each of the parts above, on a loop's thread or the manager's, when nothing of it is left. */
void topology_drain(struct topology *t, void (*drained)(void *arg), void *arg);

/* Ends the loops' runs, joins their threads, then the blocking ones within `limit` ns.  Returns how
 * many of those did not come back: then topology_free() must not be called. */
uint32_t topology_stop(struct topology *t, ao_time limit);
void topology_free(struct topology *t); /* no thread runs; NULL is fine */

#endif
