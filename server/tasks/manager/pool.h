/* A pool: the executors that can run a method, and the queue of the tasks that wait for them.
 *
 * Each method belongs to one pool, and tasks of different pools never wait for each other.  There
 * is one of all stepped executors and one of all blocking ones; they come first.  Each method that
 * workers offer has one of its own, made when it is first named, and kept: worker_group.h.  So has
 * each that workers may offer beside a handler of this process: its tasks go to the workers and to
 * the executors of the handler's kind, which that kind's own pool lends it (`local`: the fields
 * about executors, from `snapshots` to `passed_over`, are used there, and the manager announces
 * there that it waits for them).  The manager steps a pool only while that has something to do, so
 * one that rests costs memory and nothing else.
 *
 * Thread: the manager's, but for what says otherwise. */
#ifndef ERGON_TASKS_POOL_H
#define ERGON_TASKS_POOL_H

#include "base/list.h"
#include "server/runtime/threads/waker.h"
#include "server/tasks/executors/executor.h"
#include "server/tasks/manager/task_queue.h"

struct manager;
struct weight;
struct worker_pool;

/* Indexes of the pools of local executors. */
enum { POOL_STEPPED, POOL_BLOCKING, POOLS_LOCAL };

/* What is given: executors have room for the one where they have none for the other. */
/* GIVE_PLACE: a call that is likely to park or to take turns, where somewhere the places for such
 * are scarce. */
enum giving { GIVE_CALL, GIVE_NESTED, GIVE_JOB, GIVE_PLACE };

struct pool {
    /* Read-only once started; any thread. */
    uint32_t index;              /* dense, from 0 */
    struct executor_group group; /* notified of flagged tasks; the executors are borrowed */
    struct executor **list;      /* that of the group; NULL: it is not the pool's own */
    struct worker_pool *workers; /* of a pool of workers, else NULL; the manager's */
    struct pool *local;          /* of one that workers have joined: that of its handler's kind */
    bool stepped;                /* stepped executors run its tasks */

    struct task_queue queue;
    struct snapshot *snapshots; /* one for each executor, of the current pass */
    struct weight *weights;     /* one each; PLACEMENT_WEIGHT, else NULL */
    uint32_t *owners;           /* whose task each was given last; of blocking ones, else NULL */
    ao_time crowded_since;      /* since when a principal without one waits; 0: none does */
    uint32_t count;             /* so many of the executors, the first ones, are looked at */
    uint32_t common;            /* so many of them take anybody's; the rest: executor_owner.h */
    uint32_t shared;            /* so many of `weights` were looked at last */
    int last;                   /* the executor chosen last */
    bool source_has_work;       /* the source of jobs may have one */
    bool job_next;              /* its turn, when both have tasks */
    bool full;                  /* what the source's full() was called with last */
    bool places_full;   /* somewhere there is no place to park or to take turns but the reserve; or
                         * executor_owner.h has a say */
    bool passed_over;   /* of blocking ones: a task that found no room is before the next */
    bool turns_full;    /* somewhere so many jobs take turns that no more are to begin there */
    bool cut;           /* a pass goes on in the next step: it has set lines aside */
    bool second_look;   /* which began behind the announcement */
    bool stirs;         /* it is in the manager's list of pools that have something to do */
    bool short_of_room; /* of a joined one: as its last pass ended */
    enum giving bounds_for;  /* for what the bounds in `snapshots` are */
    STAILQ_ENTRY(pool) next; /* in that list */

    /* The manager waits for room: announced by it, notified by executors from which a task has
     * left, on any thread.  See the argument in manager.c. */
    alignas(CACHE_LINE) struct waker waiting_for_room;
};
STAILQ_HEAD(pool_list, pool);

/* A pool without executors.  The caller puts them into the group, whose list has room for `most`,
 * or, where that is 0, gives it another group.  The thread that notifies a manager that waits calls
 * `wake`.  NULL without memory. */
struct pool *pool_new(uint32_t index, uint32_t most, void (*wake)(void *arg), void *arg);
/* Tasks that are left in its queue are freed; NULL is fine. */
void pool_free(struct pool *p);

/* One more pool of the manager, at the next index, with a group for at most `most` executors; 0:
 * the group is given to it.  NULL without memory. */
struct pool *pools_add(struct manager *m, uint32_t most);

/* Once the group has its executors: the choice is by `policy`, and whose tasks they hold counts if
 * `owners` is true.  0, or -1 without memory. */
int pool_connect(struct pool *p, enum placement_policy policy, bool owners);

static inline bool pool_has_work(const struct pool *p)
{
    return p->queue.length > 0 || p->source_has_work || task_queue_sweeping(&p->queue);
}

#endif
