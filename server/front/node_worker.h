/* This node as a worker of the owner: it offers its handlers, and runs what the owner requests.
 *
 * One loop has a session to the owner, which sends requests as to any worker (PROTOCOL.md,
 * Workers). Each becomes an attempt of this node's task manager (node_calls.h); progress, parts of
 * the result and the answer go back by the session.  The owner has checked the rights of the client
 * that submitted the task.
 *
 * A node that owns the tasks offers nothing: each attempt goes to the least occupied of its own
 * executors and of its workers (method_spread()).
 *
 * Before it offers anything it reports what had begun when the last process of this node died
 * (cluster.board), until the owner has answered that once.
 *
 * When the server drains, the owner is asked for no more requests (worker.quiet), and gets the
 * answers to those that it sent.
 *
 * A process of a module works in the same way for the server that started it, over the socket that
 * it was born with (struct node_worker_process).
 *
 * Thread: its loop's, but for the set-up and where a function says otherwise. */
#ifndef ERGON_FRONT_NODE_WORKER_H
#define ERGON_FRONT_NODE_WORKER_H

#include "server/front/owner_place.h"
#include "server/tasks/registry.h"

struct call_board;  /* server/tasks/call_board.h */
struct call_params; /* server/tasks/call_params.h */
struct jobs;
struct node_worker;
struct tasks;
struct tls_files;

/* Blocking and stepped handlers run on executors of their own, so each kind is registered alone. */
enum node_worker_kind { NODE_WORKER_BLOCKING, NODE_WORKER_STEPPED, NODE_WORKER_KINDS };

/* What a process of a module got from its server. */
struct node_worker_process {
    int socket;                       /* connected to the server; the worker's from the set-up on */
    struct call_board *board;         /* outlives it */
    const struct call_params *params; /* likewise */
    void (*lost)(const char *why); /* the loop's thread: the server has gone; it does not return */
};

struct node_worker_options {
    struct owner_finder *finder; /* borrowed; outlives it; NULL with `process` */
    struct activator *activator;
    struct poller *poller;
    const struct registry *registry;
    struct tasks *tasks;               /* outlives it */
    const struct tls_files *tls;       /* as of forward.h */
    const char *node;                  /* its name; copied */
    uint32_t slots[NODE_WORKER_KINDS]; /* how many requests it gets at a time */
    const struct jobs *jobs;           /* whose old board it reports (cluster.board); NULL: none */
    bool (*open)(struct outgoing *s);  /* for tests; NULL: sockets */
    const struct node_worker_process *process; /* copied; NULL: it is a node of a cluster */
};

/* NULL with a text.  Set-up: before the loop and the manager run.  One with `process` works from
 * the loop's first round on. */
struct node_worker *node_worker_new(const struct node_worker_options *options, char *error,
                                    size_t size);
/* As forward_reload(); NULL is fine. */
bool node_worker_reload(struct node_worker *w, char *error, size_t size);
/* After tasks_clear(); NULL is fine. */
void node_worker_free(struct node_worker *w);

/* Any thread, before tasks_drain_jobs() is called with node_worker_tasks_drained() and `w`: once no
 * attempt runs, and the owner has all answers or is lost, `drained(arg)` is called, on the loop's
 * thread. */
void node_worker_on_drained(struct node_worker *w, void (*drained)(void *arg), void *arg);
void node_worker_tasks_drained(void *w);

#endif
