/* What every thread may ask of the manager: to be let in, to look, to take a task that comes by no
 * lane.
 *
 * The words here are all that other threads touch of it; its queues and choices are manager.h's.
 * Thread: any, but where a function says otherwise.  The inbox lies in struct tasks_shared and
 * borrows the manager's object, which outlives all threads that post. */
#ifndef ERGON_TASKS_MANAGER_INBOX_H
#define ERGON_TASKS_MANAGER_INBOX_H

#include "server/runtime/threads/mpsc.h"
#include "server/runtime/threads/waker.h"
#include "server/tasks/task.h"

struct pool;

enum { STOP_DRAIN_JOBS = 1, STOP_CANCEL = 2 };

struct manager_inbox {
    /* Read-only once started. */
    struct activator *activator; /* the manager's */
    struct ao *manager;          /* its object, for code on that activator */
    struct ao_handle *handle;    /* of its object, for the others */
    uint32_t queue_max;          /* tasks in the queues of all pools together */
    uint32_t reserve;            /* so many more, for principals that have few there */

    struct mpsc tasks;   /* of outside threads and of blocking executors */
    struct mpsc notes;   /* of the handlers of jobs' attempts */
    struct mpsc updates; /* of worker loops: what their workers say (worker_update.h) */

    /* Tasks in the queues or on their way there: of all pools in the lower half, and again in the
     * upper one those that stepped executors run, of which the local short cut asks.  Orders
     * nothing: a bound, exact because it is one word (relaxed). */
    alignas(CACHE_LINE) _Atomic uint64_t admitted;
    /* Tasks flagged since the queue was last swept.  Orders nothing: a hint (relaxed). */
    _Atomic uint32_t flagged;
    /* What was asked of the whole: STOP_DRAIN_JOBS, plus STOP_CANCEL for each cancel of all.
     * Release where it is asked, acquire where manager and homes look: what was set before is
     * seen. */
    _Atomic uint32_t stop_requests;

    /* The manager waits for room at workers: announced by it, notified by worker loops whose
     * workers have room, behind their item in `updates`.  The protocol of waker.c, with that list
     * as the input. */
    struct waker waiting_for_workers;
};

/* Before the threads start; `manager` is an object on its activator, borrowed.  0, or -1 without
 * memory. */
int manager_inbox_init(struct manager_inbox *in, struct ao *manager, struct activator *activator,
                       uint32_t queue_max);

/* After all threads have ended; tasks that are left inside are freed.  Of a zeroed one a no-op. */
void manager_inbox_fini(struct manager_inbox *in);

/* Counts a task in; false: the queue is full, nothing was counted. Nested calls and what was
 * admitted before are always let in.
 *
 * Beyond `queue_max` a principal is let in while it has fewer tasks there than are left of the
 * reserve, and than half of `queue_max`. So it finds half of the reserve free, however much another
 * principal has there, and the next finds half of the rest (account.h). `whose` NULL: the task has
 * no principal, and no reserve. */
bool manager_admit(struct manager_inbox *in, const struct pool *pool, const struct tally *whose,
                   bool always);

/* Counts tasks out, and one out of what its principal has there (NULL: nobody). */
void manager_dismiss(struct manager_inbox *in, const struct pool *pool, uint32_t count);
void manager_dismiss_of(const struct tally *whose);

/* Gives the manager a task that was admitted.  For threads that own no lane to it. */
void manager_post(struct manager_inbox *in, struct task *t);

/* Gives the manager back a task that an executor was given and has not begun.  The task is counted
 * in again, and will be the first in its queue. */
void manager_requeue(struct manager_inbox *in, struct task *t);

void manager_ask(struct manager_inbox *in); /* look at what changed */

/* A task that may be in the queue was flagged: when many were, the manager sweeps. */
void manager_note_flagged(struct manager_inbox *in);

/* The manager: are so many flagged that a sweep pays?  Then the count begins anew. */
bool manager_take_flagged(struct manager_inbox *in);

/* An executor of the pool, whose activator is `from` (NULL: a plain thread), has published that it
 * has room. */
void manager_on_capacity(struct manager_inbox *in, struct pool *pool, const struct activator *from);

/* The worker loop on the activator `from` has put a worker that has room into `updates`. */
void manager_on_worker(struct manager_inbox *in, const struct activator *from);

/* Tasks that were admitted and not given yet, of all pools; is there none for stepped executors?
 * Guesses, for others than the manager. */
static inline uint32_t manager_queued(const struct manager_inbox *in)
{
    return (uint32_t)atomic_load_explicit(&in->admitted, memory_order_relaxed);
}

static inline bool manager_stepped_empty(const struct manager_inbox *in)
{
    return atomic_load_explicit(&in->admitted, memory_order_relaxed) >> 32 == 0;
}

#endif
