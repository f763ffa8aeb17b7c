#include "server/jobs/sched/fair_queue.h"

#include <assert.h>

#include "base/grow.h"

enum { MOVES = 8 /* by age, an operation */ };

void fair_queue_init(struct fair_queue *p, uint32_t pool, ao_time ageing)
{
    *p = (struct fair_queue){.pool = pool, .ageing = ageing};
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

static bool is_empty(const struct fair_share *s)
{
    return s->again.count == 0 && s->risen.count == 0 && s->born.count == 0;
}

static struct job *head_of(const struct fair_share *s)
{
    struct job *risen = s->risen.first, *born = s->born.first;
    if (s->again.first)
        return s->again.first;
    if (!risen || !born)
        return risen ? risen : born;
    return risen->id < born->id ? risen : born;
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

/* It has something now.  Where there is nobody to overtake there are no newcomers. */
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
    ring_remove(s);
}

/* --- A job in its level --- */

static void enter(struct fair_queue *p, struct job_list *list, struct fair_share *s,
                  struct job *job)
{
    struct fair_level *level = &p->levels[job->level];
    job_list_push(list, job);
    job->older = level->youngest;
    job->younger = NULL;
    *(level->youngest ? &level->youngest->younger : &level->oldest) = job;
    if (level->youngest && job->entered < level->youngest->entered)
        job->entered = level->youngest->entered;
    level->youngest = job;
    level->count++;
    p->count++;
    share_enter(level, s);
}

/* Its share may be empty then. */
static void leave(struct fair_queue *p, struct job *job)
{
    struct fair_level *level = &p->levels[job->level];
    job_list_remove(job);
    *(job->older ? &job->older->younger : &level->oldest) = job->younger;
    *(job->younger ? &job->younger->older : &level->youngest) = job->older;
    job->older = job->younger = NULL;
    level->count--;
    p->count--;
}

/* --- Ageing --- */

static void rise(struct fair_queue *p, struct job *job)
{
    struct fair_share *from = share_of(p, job), *to = from + 1;
    bool again = job->list == &from->again;
    leave(p, job);
    if (is_empty(from))
        share_leave(&p->levels[job->level], from);
    job->level++;
    job->entered += p->ageing;
    enter(p, again ? &to->again : &to->risen, to, job);
}

/* From the top down, so that nobody takes two steps at once. */
static void age(struct fair_queue *p, ao_time now)
{
    int moves = p->ageing > 0 ? MOVES : 0;
    for (int i = FAIR_LEVELS - 2; i >= 0; i--) {
        struct job *job = p->levels[i].oldest;
        for (; job && moves > 0 && now >= job->entered && now - job->entered >= p->ageing;
             moves--) {
            rise(p, job);
            job = p->levels[i].oldest;
        }
    }
}

/* --- Queued and taken --- */

bool fair_queue_add(struct fair_queue *p, struct job *job, bool front, ao_time now)
{
    assert(job->priority < FAIR_LEVELS && !job->list);
    if (!make_shares(job->tenant, p->pool))
        return false;
    age(p, now);
    if (!front || job->level < job->priority)
        job->level = job->priority;
    job->entered = now;
    struct fair_share *s = share_of(p, job);
    enter(p, front ? &s->again : &s->born, s, job);
    return true;
}

void fair_queue_remove(struct fair_queue *p, struct job *job)
{
    struct fair_share *s = share_of(p, job);
    leave(p, job);
    if (is_empty(s))
        share_leave(&p->levels[job->level], s);
}

/* A newcomer has had its first: it goes on as everybody does. */
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
    struct job *job = head_of(s);
    leave(p, job);
    level->was_fresh = fresh;
    level->served++;
    s->fresh_from = level->served + level->weights;
    if (fresh)
        served_fresh(level, s);
    else
        served_turn(level, s);
    if (is_empty(s))
        share_leave(level, s);
    return job;
}

int fair_queue_top(const struct fair_queue *p)
{
    int top = p->count > 0 ? FAIR_LEVELS - 1 : -1;
    while (top >= 0 && p->levels[top].count == 0)
        top--;
    return top;
}

struct job *fair_queue_take(struct fair_queue *p, ao_time now)
{
    age(p, now);
    int top = fair_queue_top(p);
    return top >= 0 ? take_of(p, &p->levels[top]) : NULL;
}

/* --- Where one stands --- */

/* Those that stand before it in its own list. */
static uint32_t before_in_list(const struct job *job, uint32_t max)
{
    uint32_t n = 0;
    for (job = job->prev; job && n < max; job = job->prev)
        n++;
    return n;
}

/* Those of the list with a lower id, as far as they stand at its head. */
static uint32_t older_in(const struct job_list *list, const struct job *than, uint32_t max)
{
    uint32_t n = 0;
    for (const struct job *job = list->first; job && job->id < than->id && n < max; job = job->next)
        n++;
    return n;
}

static uint32_t own_before(const struct fair_share *s, const struct job *job, uint32_t max)
{
    uint32_t n = before_in_list(job, max);
    if (job->list == &s->again)
        return n;
    n += s->again.count;
    return n < max ? n + older_in(job->list == &s->born ? &s->risen : &s->born, job, max - n) : n;
}

void fair_place(const struct fair_queue *p, const struct job *job, uint32_t max,
                struct fair_place *out)
{
    const struct fair_share *s = share_of(p, job);
    const struct fair_level *level = &p->levels[job->level];
    uint32_t own = own_before(s, job, max);
    *out = (struct fair_place){
        .own = own < max ? own : max, .own_is_least = own >= max, .tenants = level->shares};
    out->others = level->count - s->again.count - s->risen.count - s->born.count;
    for (int i = job->level + 1; i < FAIR_LEVELS; i++)
        out->higher += p->levels[i].count;
}
