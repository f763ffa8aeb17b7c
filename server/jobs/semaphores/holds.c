#include "server/jobs/semaphores/holds.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/hold_claims.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/semaphores/rows.h"

enum { END_WORK = 20 /* of one that is ended; see jobs_worked() */ };

/* --- When a hold is taken back --- */

static ao_time ends_at(const struct hold *h)
{
    return h->ends < h->lost_until ? h->ends : h->lost_until;
}

/* Only what is held is taken back: while its row is on its way, an operation waits for it. */
static void arm(struct hold *h)
{
    ao_time next = ends_at(h);
    ao_deactivate(&h->timer);
    if (h->state == HOLD_HELD && next != AO_NEVER && !h->is_over)
        ao_sleep_until(&h->timer, next);
}

/* Within its own timer's step it cannot go. */
static enum ao_verdict is_due(struct ao *self)
{
    struct hold *h = ao_of(self, struct hold, timer);
    struct jobs *jobs = h->semaphore->jobs;
    h->is_over = true;
    h->next_over = jobs->semaphores->over;
    jobs->semaphores->over = h;
    ao_activate(&jobs->ao);
    return AO_DONE;
}

static const struct ao_class timer_class = {.name = "hold", .step = is_due};

bool holds_go_on(struct jobs *jobs)
{
    struct hold *h;
    while ((h = jobs->semaphores->over) && jobs_have_time(jobs)) {
        jobs_worked(jobs, END_WORK);
        hold_end(jobs, h);
    }
    return !h;
}

static ao_time sooner(ao_time when, ao_time now, ao_time by)
{
    if (when == AO_NEVER)
        return when;
    return when > now && when - now > by ? when - by : now;
}

static void advance(struct hold *h, ao_time now, ao_time by)
{
    h->ends = sooner(h->ends, now, by);
    h->lost_until = sooner(h->lost_until, now, by);
    if (ao_current() != &h->timer)
        arm(h);
}

void holds_look(struct jobs *jobs)
{
    ao_time now = table_now(&jobs->table);
    uint64_t suspended = jobs->options.suspended(jobs->options.wall_arg);
    if (suspended < jobs->semaphores->suspended + AO_S(1))
        return;
    ao_time by = suspended - jobs->semaphores->suspended;
    jobs->semaphores->suspended = suspended;
    for (struct semaphore *s = jobs->semaphores->first; s; s = s->next)
        for (struct hold *h = s->first; h; h = h->next)
            advance(h, now, by);
}

/* So long after this moment: what was slept before is none of it. */
static ao_time time_after(struct jobs *jobs, ao_time duration)
{
    holds_look(jobs);
    return table_time_after(&jobs->table, duration);
}

bool holds_follow_wall(const struct jobs *jobs)
{
    return jobs->semaphores->hold_count > 0;
}

/* --- The lists that a hold is in --- */

static void link_waiting(struct semaphore *s, struct hold *h)
{
    h->prev = NULL;
    h->next = s->waiting;
    if (h->next)
        h->next->prev = h;
    s->waiting = h;
    s->waiting_count++;
    counter_add(&s->jobs->semaphores->shown_waiting, 1);
}

static void unlink_waiting(struct semaphore *s, const struct hold *h)
{
    *(h->prev ? &h->prev->next : &s->waiting) = h->next;
    if (h->next)
        h->next->prev = h->prev;
    s->waiting_count--;
    counter_add(&s->jobs->semaphores->shown_waiting, (uint64_t)-1);
}

static void link_held(struct semaphore *s, struct hold *h)
{
    h->next = NULL;
    h->prev = s->last;
    *(h->prev ? &h->prev->next : &s->first) = h;
    s->last = h;
    assert(h->fence > 0);
    h->by_fence.hash = h->fence;
    hash_add(&s->jobs->semaphores->fences, &h->by_fence);
    s->held_count++;
    counter_add(&s->jobs->semaphores->shown_held, 1);
}

static void unlink_held(struct semaphore *s, struct hold *h)
{
    hash_remove(&s->jobs->semaphores->fences, &h->by_fence);
    *(h->prev ? &h->prev->next : &s->first) = h->next;
    *(h->next ? &h->next->prev : &s->last) = h->prev;
    s->held_count--;
    counter_add(&s->jobs->semaphores->shown_held, (uint64_t)-1);
}

static void link_holder(struct hold *h, struct holder *holder)
{
    h->holder = holder;
    h->holder_prev = NULL;
    h->holder_next = holder->first;
    if (h->holder_next)
        h->holder_next->holder_prev = h;
    holder->first = h;
}

static void unlink_holder(struct hold *h)
{
    if (!h->holder)
        return;
    *(h->holder_prev ? &h->holder_prev->holder_next : &h->holder->first) = h->holder_next;
    if (h->holder_next)
        h->holder_next->holder_prev = h->holder_prev;
    h->holder = NULL;
}

static void unlink_over(struct semaphores *all, struct hold *h)
{
    struct hold **at = &all->over;
    while (h->is_over && *at != h)
        at = &(*at)->next_over;
    if (h->is_over)
        *at = h->next_over;
    h->is_over = false;
}

/* --- Asked and begun --- */

static size_t hold_bytes(const struct hold *h)
{
    return sizeof *h + h->who.len;
}

static bool may_ask(struct jobs *jobs, const struct tenant *t, size_t bytes, struct refusal *why)
{
    uint32_t left = HOLDS_MAX - jobs->semaphores->hold_count;
    if (left == 0)
        return refusal_set(why, ERGON_E_BUSY,
                           "too many hold permits of semaphores, or wait for some");
    if (!room_is_shared(jobs, (uint64_t)t->holds + 1, left - 1))
        return refusal_set(
            why, ERGON_E_BUSY,
            "the tenant has its share of what may be held and waited for at semaphores "
            "(tasks.tenant_share)");
    why->error = room_make_bytes(jobs, t->name, bytes, why->text, sizeof why->text);
    return why->error == ERGON_OK;
}

static uint64_t hash_of_secret(const struct jobs *jobs, const uint8_t *secret)
{
    return siphash(jobs->table.seed, span_of(secret, HOLD_SECRET));
}

static struct hold *new_hold(struct jobs *jobs, struct semaphore *s, const struct hold_wish *wish)
{
    struct hold *h = calloc(1, sizeof *h + wish->who.len);
    if (!h)
        return NULL;
    h->claim = (struct claim){.line = s->line,
                              .arrived = table_now(&jobs->table),
                              .id = jobs->table.next_id++, /* in one order with those of jobs */
                              .want = wish->permits,
                              .kind = CLAIM_OF_HOLD,
                              .priority = SPEC_PRIORITY};
    memcpy(h->secret, wish->secret, HOLD_SECRET);
    if (wish->who.len > 0)
        memcpy(h + 1, wish->who.at, wish->who.len);
    h->who = span_of(h + 1, wish->who.len);
    h->by_secret.hash = hash_of_secret(jobs, h->secret);
    h->semaphore = s;
    h->op = wish->op;
    h->durable = s->durable;
    h->asked = table_now(&jobs->table);
    h->since = table_wall(&jobs->table);
    h->ttl = wish->ttl;
    h->grace = wish->grace;
    h->ends = h->lost_until = AO_NEVER;
    ao_init(&h->timer, &timer_class, jobs->activator);
    return h;
}

static void enter(struct jobs *jobs, struct hold *h)
{
    struct tenant *t = semaphore_limit(h->semaphore)->key.tenant;
    hash_add(&jobs->semaphores->secrets, &h->by_secret);
    jobs->semaphores->hold_count++;
    t->holds++;
    table_weigh_other(&jobs->table, t, 0, hold_bytes(h));
    jobs_watch_clock(jobs);
}

struct hold *hold_ask(struct jobs *jobs, struct semaphore *s, const struct hold_wish *wish,
                      struct refusal *why)
{
    const struct tenant *t = semaphore_limit(s)->key.tenant;
    if (!may_ask(jobs, t, sizeof(struct hold) + wish->who.len, why))
        return NULL;
    struct hold *h = new_hold(jobs, s, wish);
    if (!h) {
        refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
        return NULL;
    }
    enter(jobs, h);
    link_waiting(s, h);
    link_holder(h, wish->holder);
    hold_claim_wait(&jobs->sched, &h->claim);
    return h;
}

void hold_begin(struct jobs *jobs, struct hold *h)
{
    assert(h->state == HOLD_WAITS && h->claim.stands == STANDS_NOWHERE);
    unlink_waiting(h->semaphore, h);
    h->state = h->durable ? HOLD_SAVES : HOLD_HELD;
    h->fence = stamp_next(&jobs->table.last_stamp, table_wall(&jobs->table));
    h->since = table_wall(&jobs->table);
    link_held(h->semaphore, h);
    hold_renew(jobs, h, h->ttl);
}

void hold_saved(struct jobs *jobs, struct hold *h)
{
    assert(h->state == HOLD_SAVES);
    h->state = HOLD_HELD;
    if (h->holder)
        arm(h);
    else
        hold_lose(jobs, h);
}

struct hold *hold_recover(struct jobs *jobs, struct semaphore *s, const struct hold_wish *wish,
                          uint64_t fence)
{
    struct hold *h = new_hold(jobs, s, wish);
    if (!h)
        return NULL;
    h->state = HOLD_HELD;
    h->durable = true;
    h->fence = fence;
    enter(jobs, h);
    link_held(s, h);
    limit_add(semaphore_limit(s), h->claim.want);
    return h;
}

/* Their grace begins with the server. */
void holds_start(struct jobs *jobs)
{
    for (struct semaphore *s = jobs->semaphores->first; s; s = s->next)
        for (struct hold *h = s->first; h; h = h->next)
            hold_lose(jobs, h);
}

struct hold *hold_find(const struct jobs *jobs, struct span tenant, struct span name,
                       const uint8_t *secret)
{
    const struct semaphore *s = semaphore_find(jobs, tenant, name);
    struct hash_link *link =
        s ? hash_first(&jobs->semaphores->secrets, hash_of_secret(jobs, secret)) : NULL;
    for (; link; link = hash_next(link)) {
        struct hold *h = ao_of(link, struct hold, by_secret);
        if (h->semaphore == s && h->state == HOLD_HELD && !h->is_over &&
            memcmp(h->secret, secret, HOLD_SECRET) == 0)
            return h;
    }
    return NULL;
}

struct hold *hold_find_fence(const struct jobs *jobs, struct span tenant, struct span name,
                             uint64_t fence)
{
    const struct semaphore *s = semaphore_find(jobs, tenant, name);
    struct hash_link *link = s ? hash_first(&jobs->semaphores->fences, fence) : NULL;
    for (; link; link = hash_next(link)) {
        struct hold *h = ao_of(link, struct hold, by_fence);
        if (h->semaphore == s && h->state == HOLD_HELD && !h->is_over)
            return h;
    }
    return NULL;
}

void hold_renew(struct jobs *jobs, struct hold *h, ao_time ttl)
{
    h->ttl = ttl;
    h->ends = ttl == AO_NEVER ? AO_NEVER : time_after(jobs, ttl);
    arm(h);
}

void hold_bind(struct jobs *jobs, struct hold *h, struct holder *to)
{
    (void)jobs;
    unlink_holder(h);
    link_holder(h, to);
    h->lost_until = AO_NEVER;
    arm(h);
}

/* --- Ended --- */

/* False: its row goes later. */
static bool forget(struct jobs *jobs, struct hold *h, bool has_row)
{
    struct tenant *t = semaphore_limit(h->semaphore)->key.tenant;
    hash_remove(&jobs->semaphores->secrets, &h->by_secret);
    assert(jobs->semaphores->hold_count > 0 && t->holds > 0);
    jobs->semaphores->hold_count--;
    t->holds--;
    table_weigh_other(&jobs->table, t, hold_bytes(h), 0);
    ao_deactivate(&h->timer);
    ao_fini(&h->timer);
    h->state = HOLD_GONE;
    h->semaphore = NULL;
    return hold_rows_end(jobs, h, has_row);
}

bool hold_end(struct jobs *jobs, struct hold *h)
{
    struct semaphore *s = h->semaphore;
    bool waits = h->state == HOLD_WAITS;
    uint32_t permits = waits ? 0 : h->claim.want;
    assert(!h->op); /* it would never be answered, and still name the hold */
    unlink_over(jobs->semaphores, h);
    unlink_holder(h);
    if (waits)
        unlink_waiting(s, h);
    else
        unlink_held(s, h);
    hold_claim_withdraw(&jobs->sched, &h->claim);
    bool pushed = forget(jobs, h, !waits && h->durable);
    if (permits > 0)
        hold_claim_put_back(&jobs->sched, semaphore_limit(s), permits);
    semaphore_settle(jobs, s);
    return pushed;
}

void hold_lose(struct jobs *jobs, struct hold *h)
{
    unlink_holder(h);
    if (h->state != HOLD_HELD || jobs->sched.stopping)
        return; /* the operation that waits for it drops it, or it is lost later; or the server ends
                   before */
    h->lost_until = time_after(jobs, h->grace);
    arm(h);
}

/* --- Connections --- */

void holder_enter(struct jobs *jobs, struct holder *holder)
{
    assert(!holder->first);
    hash_add(&jobs->semaphores->holders, &holder->by_conn);
}

struct holder *holder_find(const struct jobs *jobs, uint64_t conn)
{
    return (struct holder *)hash_first(&jobs->semaphores->holders, conn);
}

void holder_leave(struct jobs *jobs, struct holder *holder)
{
    hash_remove(&jobs->semaphores->holders, &holder->by_conn);
    while (holder->first)
        hold_lose(jobs, holder->first);
}

/* --- The end --- */

/* The server ends: what has a row keeps it. */
static void drop(struct jobs *jobs, struct hold *h)
{
    h->op = NULL; /* nobody is answered any more */
    h->durable = false;
    h->writes = 0; /* nothing comes back any more */
    hold_end(jobs, h);
}

void holds_free(struct jobs *jobs)
{
    struct semaphore *s;
    while ((s = jobs->semaphores->first)) {
        semaphore_limit(s)->kept = true; /* until its holds are gone */
        while (s->first || s->waiting)
            drop(jobs, s->first ? s->first : s->waiting);
        semaphore_limit(s)->kept = false;
        semaphore_rows_abandon(s);
        semaphore_settle(jobs, s);
    }
    hold_rows_abandon_gone(jobs);
}
