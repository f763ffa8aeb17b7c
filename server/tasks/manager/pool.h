/* A pool: the executors that can run a method, and the queue of the tasks that wait for them.
 *
 * Each method belongs to one pool, and tasks of different pools never wait for each other.  One
 * pool has all stepped executors, one all blocking ones; they come first.  Each method that workers
 * offer has a pool of its own, which is made when the method is first named, and kept
 * (server/workers/). A pool may be joined: it gives its tasks to workers and to the executors of
 * another pool.
 *
 * A pool class says how a pool finds executors.  The manager's pass (manager.c) asks the class, and
 * does not know what executors there are.  The manager looks at a pool only while that has
 * something to do, so an idle pool costs memory and nothing else.
 *
 * Thread: the manager's, except where a field says otherwise. */
#ifndef ERGON_TASKS_POOL_H
#define ERGON_TASKS_POOL_H

#include "base/list.h"
#include "server/runtime/threads/waker.h"
#include "server/tasks/executors/executor.h"
#include "server/tasks/manager/task_queue.h"

struct manager;
struct pool;
struct weight;
struct worker_pool;
STAILQ_HEAD(pool_list, pool);

/* Indexes of the pools of local executors. */
enum { POOL_STEPPED, POOL_BLOCKING, POOLS_LOCAL };

/* What is given: executors may have room for one kind and not for another.  GIVE_PLACE is a call
 * that is likely to park or to take turns, while places for such calls are scarce. */
enum giving { GIVE_CALL, GIVE_NESTED, GIVE_JOB, GIVE_PLACE };

/* How the pools of one kind find executors.  A joined pool passes most of this on to the class of
 * the other pool, with that pool as `x`: the pool that has the executors. */
struct pool_class {
    bool owned; /* it keeps whose task each executor has: executor_owner.h */
    /* A pass begins: reads the state of the executors.  `cut`: it goes on with a pass that was cut.
     * May take tasks off the queue, each for 1 of the budget. */
    void (*look)(struct manager *m, struct pool *x, bool cut, int *budget);
    /* How many jobs the executors have room for. */
    uint32_t (*room)(struct manager *m, struct pool *x);
    /* The executor for this task, or for a job (`t` NULL); NULL: none has room. */
    struct executor *(*choose)(struct manager *m, struct pool *x, const struct task *t);
    /* Gives the task to the executor that was just chosen, and takes the cost off the budget.
     * False: other pools want the same executors, and the turn of this pool ends. */
    bool (*give)(struct manager *m, struct pool *x, struct executor *e, struct task *t,
                 int *budget);
    /* No executor has room for this task, or for a job (NULL).  True: there may be room for what
     * comes behind it. */
    bool (*pass_over)(struct pool *x, const struct task *t);
    /* A pass of `p` ends; `full`: it found a task without room.  Returns whether tasks of `p` wait
     * for room. */
    bool (*waits)(struct manager *m, struct pool *x, struct pool *p, bool full);
    /* The manager has looked at the pool, in one pass or two.  NULL: nothing is to be done. */
    void (*looked)(struct manager *m, struct pool *p);
};

/* Of one method, at one worker loop; for people.  The worker loop writes them. */
struct offer_figures {
    /* Tasks that workers have, and the sum of the times at which they were sent, in units of 2^20
     * ns and modulo 2^40.  It is one word, so that a reader sees both of the same moment. */
    alignas(CACHE_LINE) counter running;
    counter done, failed, busy_ns; /* of tasks that have ended */
    struct times_slot times;
};
enum { OFFER_SINCE_UNIT = 20, OFFER_SINCE_BITS = 40 };

/* The worker loop: a task was sent at this time, or one that was sent then has come back. */
static inline void offer_note_running(struct offer_figures *f, ao_time since, bool begins)
{
    const uint64_t one = UINT64_C(1) << OFFER_SINCE_BITS;
    uint64_t word = counter_read(&f->running), sum = since >> OFFER_SINCE_UNIT;
    assert(begins || word >= one);
    sum = (begins ? word + sum : word - sum) & (one - 1);
    word &= ~(one - 1);
    counter_set(&f->running, (begins ? word + one : word - one) | sum);
}

/* How many tasks are at workers, and for how long they have been, in ns, all together.  One that
 * was sent after `now` counts as sent now. */
static inline uint64_t offer_running(const struct offer_figures *f, ao_time now, uint64_t *busy)
{
    uint64_t word = counter_read(&f->running), count = word >> OFFER_SINCE_BITS;
    uint64_t sum = (count * (now >> OFFER_SINCE_UNIT) - word) << (64 - OFFER_SINCE_BITS);
    bool before = sum >> 63;
    *busy = before ? 0 : sum >> (64 - OFFER_SINCE_BITS) << OFFER_SINCE_UNIT;
    return count;
}

struct pool {
    /* Read-only once started; any thread. */
    const struct pool_class *cls;
    uint32_t index;               /* dense, from 0 */
    struct executor_group group;  /* notified of flagged tasks; the executors are borrowed */
    struct executor **list;       /* that of the group; NULL: it is not the pool's own */
    struct worker_pool *workers;  /* of a pool that workers serve, else NULL; its class's */
    struct offer_figures *offers; /* of such a pool: by index of the worker loop */
    struct pool_list *turn;       /* the manager's list in which it is listed while it is ready */
    bool stepped;                 /* stepped executors run its tasks */
    /* The announcement by which the manager waits for room at the pool's executors: this pool's
     * own, or that of the pool whose executors it shares.  NULL: they report to the inbox, so the
     * manager knows all that there is to know, and needs no second look. */
    struct waker *waiting;

    struct task_queue queue;
    ao_time crowded_since; /* since when a principal without an executor waits; 0: none does */
    bool source_has_work;  /* the source of jobs may have one */
    bool job_next;         /* its turn, when both have tasks */
    bool full;             /* what the source's full() was called with last */
    bool cut;              /* a pass goes on in the next step: it has set lines aside */
    bool second_look;      /* which began behind the announcement */
    bool short_of_room;    /* its last pass ended for want of room */
    bool in_line;          /* it is queued for executors, which will call it */
    bool ready;            /* it has something to do: it is listed in `turn` */
    STAILQ_ENTRY(pool) next;

    /* Of local executors, of the current pass. */
    struct snapshot *snapshots; /* one for each */
    struct weight *weights;     /* one each; PLACEMENT_WEIGHT, else NULL */
    uint32_t *owners;           /* whose task each was given last; of an `owned` class, else NULL */
    uint32_t count;             /* so many of the executors, the first ones, are looked at */
    uint32_t common;            /* so many of them take anybody's; the rest: executor_owner.h */
    uint32_t shared;            /* so many of `weights` were looked at last */
    int chosen;                 /* the executor that choose() has returned */
    int last;                   /* the executor that was given a task last */
    bool places_full;       /* an executor has no place to park or to take turns but the reserve;
                             * or executor_owner.h has a say */
    bool turns_full;        /* at an executor so many jobs take turns that no more may begin */
    bool passed_over;       /* of blocking ones: a task that found no room is before the next */
    enum giving bounds_for; /* what the bounds in `snapshots` are for */

    /* The manager waits for room: announced by it, notified by executors from which a task has
     * left, on any thread.  See the argument in manager.c. */
    alignas(CACHE_LINE) struct waker waiting_for_room;
};
/* The executors of loops, and of threads: local_pools.c. */
extern const struct pool_class pool_of_loops, pool_of_threads;

/* A pool without executors.  The caller puts them into the group, whose list has room for `most`,
 * or, where that is 0, gives it another group.  The thread that notifies a manager that waits calls
 * `wake`.  NULL without memory. */
struct pool *pool_new(const struct pool_class *cls, uint32_t index, uint32_t most,
                      void (*wake)(void *arg), void *arg);
/* Tasks that are left in its queue are freed; NULL is fine. */
void pool_free(struct pool *p);

/* One more pool of the manager, at the next index, with a group for at most `most` executors; 0:
 * the group is given to it.  NULL without memory. */
struct pool *pools_add(struct manager *m, const struct pool_class *cls, uint32_t most);

/* Of local executors, once the group has them: the choice is by `policy`.  0, or -1 without memory.
 */
int pool_connect(struct pool *p, enum placement_policy policy);

/* The pool has something to do: the manager's next step looks at it. */
static inline void pool_mark_ready(struct pool *p)
{
    assert(p->turn);
    if (p->ready)
        return;
    p->ready = true;
    STAILQ_INSERT_TAIL(p->turn, p, next);
}

static inline bool pool_has_tasks(const struct pool *p)
{
    return p->queue.length > 0 || p->source_has_work;
}

static inline bool pool_has_work(const struct pool *p)
{
    return pool_has_tasks(p) || task_queue_sweeping(&p->queue);
}

#endif
