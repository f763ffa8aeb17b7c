/* A worker, as the side with the connections sees it: an executor in another process.
 *
 * A peer registers with the worker loop of its loop, with the methods that it runs and the number
 * of tasks that it takes at a time (`slots`).  From then on the worker loop gives it tasks.  The
 * port, which has the connection, sends each task as a request and brings the answer back.
 *
 *   port                                 worker loop                         manager
 *     worker_executor_register() -------> joins ---------------------------->  methods, pools
 *     joined() <------------------------- JOINING to OPEN <------------------  the answer
 *     send() <--------------------------- a task of its lane <---------------  given
 *     worker_executor_begun() ----------> it counts as begun
 *     worker_executor_answer() ---------> the slot is free, the task goes home
 *     worker_executor_lost() -----------> its tasks are settled, it leaves
 *
 * A task has begun when the stream has the first byte of its request.  A task that has not begun
 * goes to another worker.  A task that has begun may have run, or the worker may have ended over
 * its message: its call ends as WORKER_LOST, its attempt of a job returns as lost.
 *
 * The connection of a worker is always read.  So while its results are large it is given no more
 * tasks than its account has room for such results (but always one), whatever its slots are.
 *
 * Thread: the loop's, for all of it; the functions of the port are called there, too.  The worker
 * loop owns the worker.  The port may name it from worker_executor_register() until joined() has
 * refused it, or until worker_executor_lost(); a task from send() until worker_executor_answer() or
 * worker_executor_lost(). */
#ifndef ERGON_WORKERS_EXECUTOR_H
#define ERGON_WORKERS_EXECUTOR_H

#include "server/tasks/actor_offer.h"
#include "server/tasks/task.h"

struct worker_loop;
struct worker_executor;
struct worker_system;
struct tasks;

enum {
    WORKER_SLOTS_MAX = 4096,   /* tasks at a time */
    WORKER_METHODS_MAX = 1000, /* that one registration names */
    WORKER_VERSION_MAX = 32,   /* bytes */
    WORKER_NAME_MAX = 64,      /* bytes; of a host, too */
    WORKER_SHARE_ALL = 100     /* percent */
};

enum worker_executor_state {
    WORKER_JOINING, /* the manager does not know it yet */
    WORKER_OPEN,
    WORKER_QUIET, /* it wants no more tasks; those that it has go on */
    WORKER_LOST   /* its connection is gone */
};

/* What the side with the connections does for the worker loop; one a loop.  `peer` is that side's.
 */
struct worker_port {
    /* Writes the request of this task, which the worker has from now on; worker_executor_begun()
     * may be called within, and worker_executor_answer() for a task that it refuses, of which
     * nothing is written. False: nothing was written, since the output of the peer is full: it gets
     * no task before worker_executor_flushed(). */
    bool (*send)(void *peer, struct worker_executor *r, struct task *t);
    /* Nobody wants the result of a task that was sent; its slot stays taken until it is answered.
     * Once for each task. */
    void (*unwanted)(void *peer, struct task *t, enum task_flag why);
    /* The answer to worker_executor_register().  Not ERGON_OK: `r` is valid during the call only,
     * and `text` (for people; as long) says why: BAD_PARAMS, DENIED (a method that is not a
     * worker's), BUSY (too many workers, or methods; others offer one of these for plain calls),
     * MEMORY. */
    void (*joined)(void *peer, struct worker_executor *r, enum ergon_error error, const char *text);
    /* The manager knows that it is quiet (nothing more comes), or open again: once for each
     * worker_executor_quiet(), but for those that a later one has overtaken. */
    void (*settled)(void *peer, struct worker_executor *r, bool open);
};

/* A type of actors that a registration offers. */
struct worker_type {
    struct span type;
    struct actor_policy policy;
};

/* A registration; all is copied. */
struct worker_executor_spec {
    const struct span *methods;
    uint32_t count;         /* of methods: 1 to WORKER_METHODS_MAX */
    uint32_t slots;         /* 1 to WORKER_SLOTS_MAX */
    uint32_t share;         /* percent of what its version is given of each method; 1 to 100 */
    struct span version;    /* at most WORKER_VERSION_MAX bytes; empty: none */
    struct span name, host; /* at most WORKER_NAME_MAX bytes; for people; empty: none */
    struct worker_executor *beside; /* another registration of the same peer, or NULL */
    bool context;                   /* the port's: it asked for the context of each task */
    /* The module that it is a process of, as its methods name it; NULL: it is no process. */
    const char *module;
    /* Of this loop: on whose account its results come in.  A reference is taken.  NULL: nobody's.
     */
    struct tally *tally;
    /* What it says of the parameters of each method: enum worker_secret; NULL: of none. */
    const uint8_t *secrets;
    /* What each method is of an actor: enum actor_method; NULL: none is one. */
    const uint8_t *of_actors;
    const struct worker_type *types; /* of these methods */
    uint32_t type_count;
};
enum worker_secret { WORKER_SECRET_UNSAID, WORKER_SECRET_NO, WORKER_SECRET_YES };

/* For the plan of the tasks: how they give tasks to workers. */
extern const struct worker_system worker_executors;

/* That of a loop, where the plan has this. */
struct worker_loop *worker_loop_at(struct tasks *t, uint32_t loop);

/* Before the loop runs: `port` is copied. */
void worker_loop_set_port(struct worker_loop *d, const struct worker_port *port);

/* joined() follows, later, unless it is lost before.  NULL: no memory. */
struct worker_executor *worker_executor_register(struct worker_loop *d,
                                                 const struct worker_executor_spec *spec,
                                                 void *peer);

/* It wants no more tasks, or wants some again: settled() follows, later, unless it is lost before.
 * Not before joined(). */
void worker_executor_quiet(struct worker_executor *r, bool quiet);

/* The number of the form of the states that it writes by this method of an actor; any thread. */
uint32_t worker_executor_schema(const struct worker_executor *r, struct span method);

/* The stream has the first byte of the request of this task, or all of it. */
void worker_executor_begun(struct worker_executor *r, struct task *t);

/* Its process has ended before the handler of this task began, or its attempt may run once more: it
 * goes to another worker, though the stream had its request. */
void worker_executor_not_begun(struct task *t);

/* The worker has answered: the result, or the failure (task_fail()), is in the task, which is the
 * worker loop's from here on. */
void worker_executor_answer(struct worker_executor *r, struct task *t);

/* Its output has room again, after a send() that was refused. */
void worker_executor_flushed(struct worker_executor *r);

/* The connection is gone; `why`, for people, says whose and how: "worker w17 at 10.0.0.7:
 * connection reset".  `peer` is named no more, nor is what it has of tasks, for this registration
 * and all beside it: they are lost together, and to say so of another of them does nothing. */
void worker_executor_lost(struct worker_executor *r, const char *why);

/* Whose it is: a task that was sent and is neither answered nor lost. */
struct worker_executor *worker_executor_of_task(const struct task *t);

/* --- For people --- */

struct worker_executor_info {
    uint32_t number; /* unique in the process, from 1; 0 while JOINING */
    enum worker_executor_state state;
    uint32_t slots;
    uint32_t out;      /* tasks that it has */
    uint32_t unwanted; /* of these, whose result nobody wants any more */
    uint64_t done, failed;
    uint64_t service_ns; /* mean time of a task; 0: none has ended */
};
void worker_executor_info(const struct worker_executor *r, struct worker_executor_info *out);
/* The tasks that it has, the newest first: the first, and the one behind `t`; NULL: no more. */
struct task *worker_executor_tasks(const struct worker_executor *r);
struct task *worker_executor_task_after(const struct task *t);
ao_time
worker_executor_task_since(const struct task *t); /* when it was sent, of the loop's clock */
ao_time
worker_executor_task_unwanted(const struct task *t); /* since when unwanted; AO_NEVER: it is not */

#endif
