/* Crews: the workers that offer the same methods; of those with a share, in the same version.
 *
 * A pool of a method that workers offer has no list of executors: it has a berth in each crew that
 * offers the method, and each crew keeps its workers by occupancy.  So a task that is given or has
 * ended moves one worker in one heap, however many workers and methods there are, and the choice
 * for a pool looks at the first of each of its crews, of which there are few: workers that run the
 * same program are one.
 *
 * A pool with tasks whose crews have no room waits in line at each of them, and the manager does
 * not look at it.  As a worker has room its crew calls the first in its line; that one is given one
 * task while others stand in line, and goes behind them.  So pools that share workers take turns.
 *
 * A version may have a share: so many percent of what the pool gives, and no more, while there are
 * workers of another version, or without a share.  A pool has at most VERSIONS_MAX of them, since
 * each choice looks at all.
 *
 * Thread: the manager's.  A crew is there as long as it has members. */
#ifndef ERGON_WORKERS_GROUP_H
#define ERGON_WORKERS_GROUP_H

#include "server/workers/worker_loop.h"
#include "server/tasks/manager/manager.h"

enum { VERSIONS_MAX = 16 /* with a share, of one method */ };

struct berth;
struct version_group;
LIST_HEAD(berth_list, berth);
LIST_HEAD(version_list, version_group);

/* Of one method, at one dock; for people.  The dock writes them. */
struct offer_figures {
    alignas(CACHE_LINE) counter running;
    counter done, failed, busy_ns;
    struct times_slot times;
};

/* What a pool of workers has beside its queue. */
struct staff {
    struct pool *pool;
    struct method *method;
    struct berth_list berths;
    struct version_list versions;
    uint32_t berth_count, share_count; /* so many versions have a share */
    uint32_t versions_there;           /* with a worker that is open */
    uint32_t given;                    /* tasks; halved now and then, with those of the versions */
    uint32_t crews_there;              /* with a worker that is open */
    bool waits;                        /* in line at its crews */
    bool called;                       /* by one of them, and not looked at since; `pool->local` */
    TAILQ_ENTRY(staff) link;           /* of all that wait */
    uint32_t docks;
    struct offer_figures figures[]; /* by index of the dock */
};

/* The pool of a method of workers, made anew; the manager's.  NULL without memory. */
struct pool *staff_new_pool(struct manager *m, struct method *method);
/* Set-up: the same of one that is joined, whose handler is run by the executors of `local`, which
 * are all there. */
struct pool *staff_new_joined(struct manager *m, struct method *method, struct pool *local);
void staff_free(struct staff *s);

/* The pool that has no place for this worker, since its version would be one too many; or NULL. */
const struct pool *crews_full(const struct remote *r, struct pool *const *pools, uint32_t count);
/* A worker that has joined becomes a member of the crew that offers `pools` (sorted by index,
 * without doubles), in its version if that has a share.  It is not there yet.  0, or -1 without
 * memory. */
int crew_join(struct manager *m, struct remote *r, struct pool **pools, uint32_t count);
/* It leaves; the crew goes with its last. */
void crew_leave(struct manager *m, struct remote *r);

/* It takes tasks from now on, or is quiet: the methods of its crew are offered as long as one of
 * its workers is there. */
void crew_set_there(struct manager *m, struct remote *r, bool there);

/* Does this worker offer what the pool runs? */
bool crew_offers(const struct remote *r, const struct pool *p);

/* What a worker has, or may have, is another: `bound` 0 closes it. */
void crew_update(struct manager *m, struct remote *r, uint32_t bound);

/* The worker for the next task of this pool; NULL: none has room. */
struct remote *crews_choose(const struct pool *p);
/* It is given one. */
void crews_note_given(struct manager *m, struct pool *p, struct remote *r);
/* Tasks that the pool's workers have room for. */
uint32_t crews_room(const struct pool *p);
/* What it costs to choose for this pool, where 1 is one of a few crews; at most so much that a step
 * of the manager gives some tasks in any case. */
static inline int crews_cost(const struct pool *p)
{
    enum { CREWS_A_PIECE = 32, COST_MAX = 200 };
    uint32_t cost = 1 + p->staff->berth_count / CREWS_A_PIECE;
    return cost < COST_MAX ? (int)cost : COST_MAX;
}

/* Is there any worker that may be given tasks? */
bool crews_there(const struct pool *p);

/* Does another pool wait for this worker's crew? */
bool crew_awaited(const struct remote *r);
/* The pool stands in line for room, at all crews that could give it some, as the last or the first;
 * or not any more. */
void crews_wait(struct manager *m, struct pool *p, bool first);
void crews_wait_no_more(struct manager *m, struct pool *p);
/* Where the crews of a pool have room, they call whoever is the first in line. */
void crews_call(struct manager *m, const struct pool *p);

#endif
