#include "server/jobs/sched/fair_queue.h"

#include <assert.h>

#include "base/grow.h"
#include "server/jobs/core/names.h"
#include "server/tasks/manager/pool.h"

/* Longer than any wait; nine of them are no overflow. */
static const ao_time ageing_max = AO_NEVER / 32;

void fair_queue_init(struct fair_queue *p, uint32_t pool, ao_time ageing)
{
    *p = (struct fair_queue){.pool = pool, .ageing = ageing < ageing_max ? ageing : 0};
}

/* --- Rings of shares --- */

static void ring_add(struct fair_share **ring, struct fair_share *s)
{
    struct fair_share *head = *ring;
    s->ring = ring;
    if (head) { /* behind all: before the head */
        s->prev = head->prev;
        s->next = head;
        head->prev->next = s;
        head->prev = s;
    } else {
        *ring = s->prev = s->next = s;
    }
}

static void ring_remove(struct fair_share *s)
{
    if (*s->ring == s)
        *s->ring = s->next == s ? NULL : s->next;
    s->prev->next = s->next;
    s->next->prev = s->prev;
    s->ring = NULL;
}

/* --- A tenant's share of a level --- */

static uint32_t weight_of(const struct fair_share *s)
{
    return s->tenant->weight > 0 ? s->tenant->weight : 1;
}

static struct fair_share *share_of(const struct fair_queue *p, const struct job *job)
{
    return &job->tenant->shares[p->pool][job->level];
}

static bool make_shares(struct tenant *t, uint32_t pool)
{
    struct fair_share **shares = grow_array(t->shares, &t->share_room, pool, sizeof *shares);
    if (!shares)
        return false;
    t->shares = shares;
    if (!shares[pool] && (shares[pool] = calloc(FAIR_LEVELS, sizeof(struct fair_share))))
        for (int i = 0; i < FAIR_LEVELS; i++)
            shares[pool][i].tenant = t;
    return shares[pool] != NULL;
}

/* The tenant has a job now.  It is fresh only where it can overtake another. */
static void share_enter(struct fair_level *level, struct fair_share *s)
{
    if (s->ring)
        return;
    s->left = 0;
    level->shares++;
    level->weights += weight_of(s);
    bool fresh = level->turn && level->served >= s->fresh_from;
    ring_add(fresh ? &level->fresh : &level->turn, s);
}

static void share_leave(struct fair_level *level, struct fair_share *s)
{
    level->shares--;
    level->weights -= weight_of(s);
    assert(level->shares > 0 || level->weights == 0); /* no weight changed meanwhile */
    ring_remove(s);
}

/* --- Queued and removed --- */

/* When this job began to wait. */
static ao_time ready_at(const struct job *job, ao_time now)
{
    return job->ready > 0 && job->ready < now ? job->ready : now;
}

/* A level that was idle waits as long as this job does, but not for what was served before.  A job
 * that was taken back, and went before a higher level, gives its level that turn back. */
static void level_waits(struct fair_level *level, const struct job *job, ao_time now)
{
    ao_time ready = ready_at(job, now);
    bool later = level->count == 0 && level->since < ready;
    bool earlier = job->level > job->priority && level->since > ready;
    if (later || earlier)
        level->since = ready;
}

bool fair_queue_add(struct fair_queue *p, struct job *job, ao_time now)
{
    assert(job->priority < FAIR_LEVELS && !job->list);
    if (!make_shares(job->tenant, p->pool))
        return false;
    struct fair_level *level = &p->levels[job->priority];
    level_waits(level, job, now);
    job->level = job->priority;
    struct fair_share *s = share_of(p, job);
    job_list_insert(&s->jobs, job, s->put);
    if (job->next)
        s->put = job;
    level->count++;
    p->count++;
    share_enter(level, s);
    return true;
}

/* The share may be empty then. */
static void leave(struct fair_queue *p, struct fair_share *s, struct job *job)
{
    if (s->put == job)
        s->put = job->next;
    job_list_remove(job);
    p->levels[job->level].count--;
    p->count--;
}

void fair_queue_remove(struct fair_queue *p, struct job *job)
{
    struct fair_share *s = share_of(p, job);
    assert(job->list == &s->jobs); /* neither its level nor its pool has changed */
    leave(p, s, job);
    if (s->jobs.count == 0)
        share_leave(&p->levels[job->level], s);
}

/* --- Taken --- */

/* A fresh tenant has had its first job: from now on it is in the ring. */
static void served_fresh(struct fair_level *level, struct fair_share *s)
{
    ring_remove(s);
    ring_add(&level->turn, s);
}

static void served_turn(struct fair_level *level, struct fair_share *s)
{
    if (s->left == 0)
        s->left = weight_of(s);
    if (--s->left == 0)
        level->turn = s->next;
}

static struct job *take_of(struct fair_queue *p, struct fair_level *level)
{
    bool fresh = level->fresh && (!level->was_fresh || !level->turn);
    struct fair_share *s = fresh ? level->fresh : level->turn;
    struct job *job = s->jobs.first;
    assert(job && &p->levels[job->level] == level);
    leave(p, s, job);
    level->was_fresh = fresh;
    level->served++;
    s->fresh_from = level->served + level->weights;
    if (fresh)
        served_fresh(level, s);
    else
        served_turn(level, s);
    if (s->jobs.count == 0)
        share_leave(level, s);
    return job;
}

struct job *fair_queue_likely(const struct fair_queue *p, const struct job *taken)
{
    return share_of(p, taken)->jobs.first;
}

int fair_queue_top(const struct fair_queue *p)
{
    int top = p->count > 0 ? FAIR_LEVELS - 1 : -1;
    while (top >= 0 && p->levels[top].count == 0)
        top--;
    return top;
}

/* As if it had waited longer by `ageing` for each step of priority: the least goes first. */
static ao_time rank(const struct fair_queue *p, int level)
{
    return p->levels[level].since + (ao_time)(FAIR_LEVELS - 1 - level) * p->ageing;
}

static int next_level(const struct fair_queue *p)
{
    int top = fair_queue_top(p), next = top;
    bool ages = p->ageing > 0 && !p->was_aged;
    for (int i = top - 1; i >= 0 && ages; i--)
        if (p->levels[i].count > 0 && rank(p, i) <= rank(p, next))
            next = i;
    return next;
}

struct job *fair_queue_take(struct fair_queue *p)
{
    int next = next_level(p);
    return next >= 0 ? take_of(p, &p->levels[next]) : NULL;
}

void fair_queue_served(struct fair_queue *p, struct job *job, ao_time now)
{
    int top = fair_queue_top(p);
    assert(!job->list && job->level == job->priority);
    p->levels[job->level].since = now;
    p->was_aged = top > job->level;
    if (p->was_aged)
        job->level = (uint8_t)top;
}

/* --- The place of a job --- */

/* How many jobs are before it in its own list, at most `max`. */
static uint32_t own_before(const struct job *job, uint32_t max)
{
    uint32_t n = 0;
    for (job = job->prev; job && n < max; job = job->prev)
        n++;
    return n;
}

void fair_place(const struct fair_queue *p, const struct job *job, uint32_t max,
                struct fair_place *out)
{
    const struct fair_share *s = share_of(p, job);
    const struct fair_level *level = &p->levels[job->level];
    assert(job->list == &s->jobs);
    uint32_t own = own_before(job, max);
    *out = (struct fair_place){.own = own,
                               .own_is_least = own >= max,
                               .others = level->count - s->jobs.count,
                               .tenants = level->shares};
    for (int i = job->level + 1; i < FAIR_LEVELS; i++)
        out->higher += p->levels[i].count;
}

/* --- The jobs of each pool --- */

void pool_table_fini(struct pool_table *t)
{
    for (uint32_t i = 0; i < t->room; i++)
        free(t->pools[i]);
    free(t->pools);
}

struct pool_jobs *pool_table_get(struct pool_table *t, uint32_t index, ao_time ageing)
{
    struct pool_jobs *found = pool_table_find(t, index);
    if (found)
        return found;
    struct pool_jobs **pools = grow_array(t->pools, &t->room, index, sizeof *pools);
    if (!pools)
        return NULL;
    t->pools = pools;
    struct pool_jobs *made = calloc(1, sizeof *made);
    if (made)
        fair_queue_init(&made->queue, index, ageing);
    return t->pools[index] = made;
}

uint32_t queue_pool(const struct job_queue *q)
{
    return queue_runs(q) ? q->method->attempts_pool->index : POOL_NONE;
}

struct pool_jobs *pool_table_of(const struct pool_table *t, const struct job *job)
{
    return pool_table_find(t, queue_pool(job->queue));
}
