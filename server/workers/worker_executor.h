/* A worker, as the connection knows it on which it registered: an executor beyond the process.
 *
 * A peer registers with the dock of its loop and says which methods it runs, and how many tasks it
 * takes at a time (`slots`).  From then on the dock gives it tasks, and whoever has the connection
 * (the port) sends each as a request and brings the answer back.
 *
 *   port                          dock                            manager
 *     remote_register() ----------> joins ----------------------->  methods, pools
 *     joined() <------------------- JOINING to OPEN <-------------  the answer
 *     send() <--------------------- a task of its lane <----------  given
 *     remote_begun() -------------> it counts as begun
 *     remote_answer() ------------> the slot is free, the task goes home
 *     remote_lost() --------------> its tasks are settled, it leaves
 *
 * A task has begun when the stream has the first byte of its request.  A task that has not begun
 * goes to another worker.  A task that has begun may have run, or the worker may have ended over
 * its message: its call ends as WORKER_LOST, its attempt of a job returns as lost.
 *
 * The connection of a worker is always read.  So while its results are large it is given no more
 * tasks than its account has room for such results (but always one), whatever its slots are.
 *
 * Thread: the loop's, for all of it; the functions of the port are called there, too.  A remote is
 * the dock's.  The port may name it from remote_register() until joined() has refused it, or until
 * remote_lost(); a task from send() until remote_answer() or remote_lost(). */
#ifndef ERGON_WORKERS_EXECUTOR_H
#define ERGON_WORKERS_EXECUTOR_H

#include "server/tasks/task.h"

struct dock;
struct remote;

enum {
    REMOTE_SLOTS_MAX = 4096,   /* tasks at a time */
    REMOTE_METHODS_MAX = 1000, /* that one registration names */
    REMOTE_VERSION_MAX = 32,   /* bytes */
    REMOTE_SHARE_ALL = 100     /* percent */
};

enum remote_state {
    REMOTE_JOINING, /* the manager does not know it yet */
    REMOTE_OPEN,
    REMOTE_QUIET, /* it wants no more tasks; those that it has go on */
    REMOTE_LOST   /* its connection is gone */
};

/* What whoever has the connections does for the dock; one a loop.  `peer` is his. */
struct dock_port {
    /* Writes the request of this task, which the remote has from now on; remote_begun() may be
     * called within, and remote_answer() for a task that it refuses, of which nothing is written.
     * False: nothing was written, since the output of the peer is full: it gets no task before
     * remote_flushed(). */
    bool (*send)(void *peer, struct remote *r, struct task *t);
    /* Nobody wants the result of a task that was sent; its slot stays taken until it is answered.
     * Once for each task. */
    void (*unwanted)(void *peer, struct task *t, enum task_flag why);
    /* The answer to remote_register().  Not ERGON_OK: `r` is valid during the call only, and `text`
     * (for people; as long) says why: BAD_PARAMS, DENIED (a method that is not a worker's), BUSY
     * (too many workers, or methods), MEMORY. */
    void (*joined)(void *peer, struct remote *r, enum ergon_error error, const char *text);
    /* The manager knows that it is quiet (nothing more comes), or open again: once for each
     * remote_quiet(), but for those that a later one has overtaken. */
    void (*settled)(void *peer, struct remote *r, bool open);
};

/* A registration; all is copied. */
struct remote_spec {
    const struct span *methods;
    uint32_t count;        /* of methods: 1 to REMOTE_METHODS_MAX */
    uint32_t slots;        /* 1 to REMOTE_SLOTS_MAX */
    uint32_t share;        /* percent of what its version is given of each method; 1 to 100 */
    struct span version;   /* at most REMOTE_VERSION_MAX bytes; empty: none */
    struct remote *beside; /* another registration of the same peer, or NULL */
    bool context;          /* the port's: what it asked to be told */
    /* Of this loop: on whose account its results come in.  A reference is taken.  NULL: nobody's.
     */
    struct tally *tally;
};

/* Before the loop runs: `port` is copied. */
void dock_set_port(struct dock *d, const struct dock_port *port);

/* joined() follows, later, unless it is lost before.  NULL: no memory. */
struct remote *remote_register(struct dock *d, const struct remote_spec *spec, void *peer);

/* It wants no more tasks, or wants some again: settled() follows, later, unless it is lost before.
 * Not before joined(). */
void remote_quiet(struct remote *r, bool quiet);

/* The stream has the first byte of the request of this task, or all of it. */
void remote_begun(struct remote *r, struct task *t);

/* The worker has answered: the result, or the failure (task_fail()), is in the task, which is the
 * dock's from here on. */
void remote_answer(struct remote *r, struct task *t);

/* Its output has room again, after a send() that was refused. */
void remote_flushed(struct remote *r);

/* The connection is gone; `why`, for people, says whose and how: "worker w17 at 10.0.0.7:
 * connection reset".  `peer` is named no more, nor is what it has of tasks, for this registration
 * and all beside it: they are lost together, and to say so of another of them does nothing. */
void remote_lost(struct remote *r, const char *why);

/* Whose it is: a task that was sent and is neither answered nor lost. */
struct remote *remote_of_task(const struct task *t);

/* --- For people --- */

struct remote_info {
    uint32_t number; /* unique in the process, from 1; 0 while JOINING */
    enum remote_state state;
    uint32_t slots;
    uint32_t out;      /* tasks that it has */
    uint32_t unwanted; /* of these, whose result nobody wants any more */
    uint64_t done, failed;
    uint64_t service_ns; /* mean time of a task; 0: none has ended */
};
void remote_info(const struct remote *r, struct remote_info *out);
/* The tasks that it has, the newest first: the first, and the one behind `t`; NULL: no more. */
const struct task *remote_tasks(const struct remote *r);
const struct task *remote_task_after(const struct task *t);
ao_time remote_task_since(const struct task *t);    /* when it was sent, of the loop's clock */
ao_time remote_task_unwanted(const struct task *t); /* since when unwanted; AO_NEVER: it is not */

#endif
