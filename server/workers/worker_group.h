/* A worker group: the workers that offer the same methods, and write the same form of the states of
 * actors; of those with a share, in the same version.
 *
 * The pool of a method that workers offer has no list of executors.  It has an entry in each group
 * that offers the method, and each group keeps its workers by occupancy.  So a task that is given
 * or has ended moves one worker in one heap, however many workers and methods there are.  The
 * choice for a pool compares the first worker of each of its groups.  These are few, since workers
 * that run the same program are one group.
 *
 * A pool with tasks whose groups have no room is queued at each of them, and the manager skips it.
 * When a worker has room, its group calls the first pool of its queue.  While others are queued
 * there, that pool is given one task and then queued behind them.  So pools that share workers take
 * turns.
 *
 * A version may have a share: so many percent of what the pool gives, and no more, while there are
 * workers of another version, or without a share.  A pool has at most VERSIONS_MAX of them, since
 * each choice looks at all.
 *
 * Thread: the manager's.  A group lives as long as it has members. */
#ifndef ERGON_WORKERS_GROUP_H
#define ERGON_WORKERS_GROUP_H

#include "server/tasks/manager/manager.h"
#include "server/workers/worker_loop.h"

enum { VERSIONS_MAX = 16 /* with a share, of one method */ };

struct group_entry;
struct version_group;
LIST_HEAD(group_entry_list, group_entry);
LIST_HEAD(version_list, version_group);
TAILQ_HEAD(worker_pool_queue, worker_pool);

/* What a pool of workers has beside its queue. */
struct worker_pool {
    struct pool *pool;
    struct method *method;
    struct group_entry_list entries;
    struct version_list versions;
    uint32_t entry_count, share_count; /* so many versions have a share */
    uint32_t versions_there;           /* with a worker that is open */
    uint32_t given;                    /* tasks; halved now and then, with those of the versions */
    uint32_t groups_there;             /* with a worker that is open */
    /* Of a joined pool: the pool whose executors it shares, else NULL. */
    struct pool *local;
    bool
        called; /* joined pool: one of its groups called it, and the manager has not looked since */
    bool was_called; /* joined pool: `called` when the manager began to look at it */
    bool rather;     /* joined pool: a worker was chosen rather than an executor of `local` */
    struct worker_pool_queue *line; /* of the roster, in which it is listed while it is in line */
    TAILQ_ENTRY(worker_pool) link;
    uint32_t worker_loops;
    struct offer_figures figures[]; /* by index of the worker loop */
};

/* What the manager keeps of workers. */
struct worker_roster {
    /* Pools that are in line for room.  They need not be listed as ready, but for joined ones. */
    struct worker_pool_queue waiting, waiting_joined;
    struct member_list members; /* all that have joined */
    uint32_t member_count;
    struct mpsc_item *news;                   /* taken from the inbox, not looked at yet */
    struct mpsc_item *updates, *updates_last; /* looked at: they join or leave in turn */
    uint32_t workers;  /* that have joined since the start: the number of the last */
    uint64_t turns;    /* tasks that workers were given, and workers that joined */
    bool called;       /* a joined pool was called by a group since the manager looked at it */
    bool loops_away[]; /* by index, as it has seen them last */
};

/* A pool that workers serve, made anew; the manager's.  Its class has room for `most` local
 * executors in its group.  NULL without memory. */
struct pool *worker_pool_new(struct manager *m, const struct pool_class *cls, struct method *method,
                             uint32_t most);
void worker_pool_free(struct worker_pool *s);

/* The pool that has no place for this worker, since its version would be one too many; or NULL. */
const struct pool *worker_groups_full(const struct worker_executor *r, struct pool *const *pools,
                                      uint32_t count);
/* A worker that has joined becomes a member of the group that offers `pools` (sorted by index,
 * without doubles), in its version if that has a share.  It is not there yet.  0, or -1 without
 * memory. */
int worker_group_join(struct manager *m, struct worker_executor *r, struct pool **pools,
                      uint32_t count);
/* It leaves; the group goes with its last. */
void worker_group_leave(struct manager *m, struct worker_executor *r);

/* It takes tasks from now on, or is quiet: the methods of its group are offered as long as one of
 * its workers is there. */
void worker_group_set_there(struct manager *m, struct worker_executor *r, bool there);

/* Does this worker offer what the pool runs? */
bool worker_group_offers(const struct worker_executor *r, const struct pool *p);

/* What a worker has, or may have, is another: `bound` 0 closes it. */
void worker_group_update(struct manager *m, struct worker_executor *r, uint32_t bound);

/* The worker for the next task of this pool; NULL: none has room.  `schema`: of workers whose
 * states have that number or a higher one, whatever their share is; 0: of all. */
struct worker_executor *worker_groups_choose(const struct pool *p, uint32_t schema);
/* It is given one. */
void worker_groups_note_given(struct manager *m, struct pool *p, struct worker_executor *r);
/* Tasks that the pool's workers have room for. */
uint32_t worker_groups_room(const struct pool *p);
/* What it costs to choose for this pool, where 1 is one of a few groups; at most so much that a
 * step of the manager gives some tasks in any case. */
static inline int worker_groups_cost(const struct pool *p)
{
    enum { GROUPS_A_PIECE = 32, COST_MAX = 200 };
    uint32_t cost = 1 + p->workers->entry_count / GROUPS_A_PIECE;
    return cost < COST_MAX ? (int)cost : COST_MAX;
}

/* Is there any worker that may be given tasks? */
bool worker_groups_there(const struct pool *p);

/* Does another pool wait for this worker's group? */
bool worker_group_awaited(const struct worker_executor *r);
/* The pool is queued for room, at all groups that could give it some, as the last or the first; or
 * not any more. */
void worker_groups_wait(struct pool *p, bool first);
void worker_groups_wait_no_more(struct pool *p);
/* Where the groups of a pool have room, they call the first pool of their queue. */
void worker_groups_call(struct manager *m, const struct pool *p);

#endif
