/* This node as a worker of the owner: it offers its handlers, and runs what it is given.
 *
 * Two sessions on one loop: `up`, to the owner, which asks as it asks any worker (PROTOCOL.md,
 * Workers); and `down`, to this server itself, through an inside listener: what the owner asks is a
 * call there, and its answer goes up by the same id.  So a call of the owner has the limits, the
 * executors and the end of any other call; its principal is cert:NODE, which roles say nothing of:
 * the owner has checked the rights of the client that submitted the task.
 *
 * A node that owns the tasks offers nothing: its handlers are joined (workers.join), so each task
 * goes to the least occupied of all.
 *
 * Before it offers anything it reports what had begun when the last process of this node died
 * (cluster.board), until the owner has answered that once.
 *
 * Progress and partial results are not passed up.
 *
 * Thread: its loop's, but for the set-up. */
#ifndef ERGON_FRONT_NODE_WORKER_H
#define ERGON_FRONT_NODE_WORKER_H

#include "server/front/owner_place.h"
#include "server/net/net.h"
#include "server/tasks/registry.h"

struct node_worker;

struct node_worker_options {
    struct owner_finder *finder; /* borrowed; outlives it */
    struct activator *activator;
    struct poller *poller;
    struct acceptor *acceptor; /* borrowed */
    const struct registry *registry;
    const struct tls_files *tls; /* as of forward.h */
    const char *node;            /* its name; copied */
    uint32_t slots;              /* how many requests it gets at a time; 1 or more */
    const struct jobs *jobs;     /* whose old board it reports (cluster.board); NULL: none */
    /* For tests; NULL: sockets. */
    bool (*open_up)(struct outgoing *s);
    bool (*open_down)(struct outgoing *s);
};

/* Does it offer the method?  Blocking handlers, which may be `joined` at the owner. */
bool node_worker_offers(const struct method *m);

/* NULL with a text.  Set-up: before the loop runs. */
struct node_worker *node_worker_new(const struct node_worker_options *options, char *error,
                                    size_t size);
void node_worker_free(struct node_worker *w); /* when the loop does not run; NULL is fine */

#endif
