/* The placement policy: which executor takes the next task.  Pure functions; the manager and the
 * local short cut decide by the same ones.
 *
 * Thread: any.  Nothing is kept, nothing fails. */
#ifndef ERGON_TASKS_PLACEMENT_H
#define ERGON_TASKS_PLACEMENT_H

#include "server/tasks/tasks.h"

enum { PLACEMENT_NONE = -1 };

/* What one executor looks like at the moment of the choice. */
struct snapshot {
    uint32_t outstanding;  /* given and not ended, the running one included */
    uint32_t bound;        /* tasks it may have outstanding; 0: takes none */
    uint32_t weight;       /* PLACEMENT_WEIGHT, as are the next two */
    bool awaited;          /* it is full, and its share waits for it */
    uint64_t history;      /* tasks that it was given */
    int priority;          /* nice: the lower, the higher */
    uint32_t turning;      /* tasks that take turns there: they hold nobody up, and take time */
    uint64_t service_ns;   /* mean time of a task */
    uint64_t hand_over_ns; /* until it sees what it is given */
};

/* Index of the best of `count` executors with room, or PLACEMENT_NONE; by weight also when the best
 * is one that is awaited, so that nobody runs ahead of his share.  Among equals that with the
 * fewest that take turns wins; then `home` (or PLACEMENT_NONE), which pays no hand-over; else the
 * first after `last`, in turn. */
static inline int placement_choose(enum placement_policy policy, const struct snapshot *executors,
                                   uint32_t count, int home, int last);

/* Does an idle executor at home come out first, whatever the others look like?  For a brief task
 * also one where others take turns. */
bool placement_prefers_idle_home(enum placement_policy policy);

/* Tasks that an executor may have outstanding: enough to cover the time of the hand-over, no more
 * work than is right to wait behind, and at most `cap`. */
uint32_t placement_bound(uint64_t service_ns, uint64_t hand_over_ns, uint32_t cap);

/* --- Workers --- */

/* One worker.  A task is not sent before it has a slot, so what a worker has is what it carries. */
struct worker_load {
    uint32_t outstanding, slots;
    uint64_t turn; /* when it was given its last: the lower, the longer ago */
};

/* Is `a` to be given the next task rather than `b`?  The lower occupancy relative to its slots
 * counts, then whose turn it is.  A total order where turns differ; slots are at most 2^16. */
static inline bool placement_worker_before(const struct worker_load *a, const struct worker_load *b)
{
    uint64_t left = (uint64_t)a->outstanding * b->slots;
    uint64_t right = (uint64_t)b->outstanding * a->slots;
    return left != right ? left < right : a->turn < b->turn;
}

/* Is it less occupied than an executor of this process with room, and with what takes turns there?
 * That one wins a tie: it is nearer. */
static inline bool placement_worker_rather(const struct worker_load *w, const struct snapshot *s)
{
    uint64_t there = (uint64_t)s->outstanding + s->turning;
    return (uint64_t)w->outstanding * s->bound < there * w->slots;
}

/* Of a pool's tasks `all` were given, `own` to the workers of one version: has that had its share,
 * in percent, so that it is passed over? */
static inline bool placement_had_share(uint32_t own, uint32_t all, uint32_t share)
{
    return (uint64_t)100 * own > (uint64_t)share * all;
}

static inline uint32_t placement_weight(const struct snapshot *s)
{
    return s->weight ? s->weight : 1;
}

/* Private: placement_choose() where there is something to compare. */
int placement_compare(enum placement_policy policy, const struct snapshot *executors,
                      uint32_t count, int home, int last);

static inline int placement_choose(enum placement_policy policy, const struct snapshot *executors,
                                   uint32_t count, int home, int last)
{
    if (count == 1)
        return executors->outstanding < executors->bound ? 0 : PLACEMENT_NONE;
    return placement_compare(policy, executors, count, home, last);
}

#endif
