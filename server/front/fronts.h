/* This process as a front: for each loop what passes requests to the owner, the listener for other
 * nodes, and the node's handlers as a worker of the owner.
 *
 * Thread: set-up and tear-down on one thread, while no loop runs, unless a function says otherwise.
 */
#ifndef ERGON_FRONT_FRONTS_H
#define ERGON_FRONT_FRONTS_H

#include "server/front/forward.h"

struct fronts;

struct fronts_options {
    struct cluster_roles roles;
    struct rpc_loop **loops; /* they get `remote`; outlive it */
    struct poller **pollers; /* of each */
    uint32_t loop_count;
    const struct net_limits *limits; /* outlives it */
    const char *listen;              /* cluster.listen; NULL: none; borrowed during the call */
    struct tls_files tls;            /* of cluster.*; cert NULL: none; likewise */
    ao_time patience;                /* ns */
    bool unix_users;                 /* cluster.unix */
    const struct registry *registry; /* its handlers are offered to the owner */
    const char *node;                /* name of this node */
    /* How many tasks its executors run at a time. */
    uint32_t blocking_slots, stepped_slots;
};

/* NULL with a text: a TLS file cannot be used, no memory. */
struct fronts *fronts_new(const struct fronts_options *options, char *error, size_t size);
/* Opens cluster.listen at the acceptor, if it is configured.  0, or -1 with a text. */
int fronts_listen(struct fronts *f, struct acceptor *a, char *error, size_t size);
/* The URL of that listener, with its real port; NULL: there is none. */
const char *fronts_url(const struct fronts *f);
/* Begins to offer the handlers, and starts the thread that finds the owner's address.  Before the
 * loops run.  0, or -1 with a text. */
int fronts_start(struct fronts *f, char *error, size_t size);
void fronts_stop(struct fronts *f); /* NULL is fine */
/* The server drains: forward_drain() of each loop.  Any thread. */
void fronts_drain(struct fronts *f);
/* Any thread, before tasks_drain_jobs() is called with fronts_tasks_drained() and `f`: `drained` is
 * called once no attempt runs, and the owner has the answers of those that it gave this node. */
void fronts_on_drained(struct fronts *f, void (*drained)(void *arg), void *arg);
void fronts_tasks_drained(void *fronts);
/* After the connections of all loops are freed and tasks_clear(), and before the activators; NULL
 * is fine. */
void fronts_free(struct fronts *f);

/* Reads the TLS files of cluster.* again, for sessions to the owner that begin from now on; the
 * acceptor reads those of the listener.  False with a text: some loops use the old ones.  Main
 * thread. */
bool fronts_reload(struct fronts *f, char *error, size_t size);

/* For cluster_on_change(); `arg` is the fronts.  Any thread. */
void fronts_changed(void *arg);

#endif
