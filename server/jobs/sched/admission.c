#include "server/jobs/sched/admission.h"

#include <assert.h>

#include "server/jobs/core/names.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/numbers.h"

/* How long after its last write a rate is written again for further starts alone. */
static const ao_time tell_after = AO_S(1);

/* --- The timer of a rate --- */

/* The next time at which something changes by itself; AO_NEVER: only a job changes something. */
static ao_time rate_next(const struct rate *r)
{
    bool moves = gate_has_lines(&r->gate) || r->refs == 0;
    ao_time next = moves ? start_window_moves(&r->starts, r->of) : AO_NEVER;
    if (!r->note.kept || !r->note.stale || r->note.writes > 0 || r->note.listed)
        return next;
    return next < r->note.told_at + tell_after ? next : r->note.told_at + tell_after;
}

bool rate_is_past(const struct rate *r)
{
    return r->refs == 0 && r->starts.length == 0 && r->note.writes == 0;
}

void admission_note(struct scheduler *s, struct rate *r)
{
    if (r->note.listed)
        return;
    r->note.listed = true;
    r->note.next = s->notes.rates;
    s->notes.rates = r;
    s->notes.any = true;
    ao_activate(s->ao);
}

/* May it be dropped?  Its row is removed before. */
static bool goes(struct scheduler *s, struct rate *r)
{
    if (!rate_is_past(r) || r->note.listed)
        return false;
    if (r->note.row == 0)
        return true;
    admission_note(s, r);
    return false;
}

void admission_weigh(struct scheduler *s, struct rate *r)
{
    size_t was = r->weighed;
    r->weighed = rate_bytes(r);
    table_weigh_other(s->table, r->key.tenant, was, r->weighed);
}

/* The list of notes does not have it.  Its memory is freed with its timer. */
static void drop_rate(struct scheduler *s, struct rate *r)
{
    table_weigh_other(s->table, r->key.tenant, r->weighed, 0);
    rate_drop(s->limits, r);
    table_tenant_unref(s->table, r->key.tenant);
    if (ao_current() == &r->timer) {
        ao_retire(&r->timer);
        return;
    }
    ao_deactivate(&r->timer);
    ao_fini(&r->timer);
    rate_free(r);
}

/* The first claim is called when a start leaves the window.  When the last start has left it, and
 * no job names the rate any more, the rate is dropped. */
static void await(struct scheduler *s, struct rate *r)
{
    if (ao_current() == &r->timer)
        return;
    if (goes(s, r)) {
        drop_rate(s, r);
        return;
    }
    ao_time next = rate_next(r);
    bool sleeps = ao_state(&r->timer) == AO_STATE_SLEEPING;
    if (sleeps ? r->timer.due == next : next == AO_NEVER)
        return;
    ao_deactivate(&r->timer);
    if (next != AO_NEVER)
        ao_sleep_until(&r->timer, next);
}

/* Claims may wait at the gate of the rate: the starts that they need are to be promised. */
static void ask(struct scheduler *s, struct rate *r, ao_time now)
{
    if (r->note.writes == 0 && rate_wants(r, now) > 0)
        admission_note(s, r);
    await(s, r);
}

static void grant(struct scheduler *s, struct claim *c)
{
    if (c->kind == CLAIM_OF_JOB) {
        job_list_push(&s->granted, claim_job(c));
        return;
    }
    c->in_line.next = NULL;
    *(s->called.first ? &s->called.last->next : &s->called.first) = &c->in_line;
    s->called.last = &c->in_line;
    ao_activate(s->ao);
}

/* Calls all claims that may go on at this gate. */
static void call(struct scheduler *s, struct gate *g)
{
    ao_time now = table_now(s->table);
    struct line *line;
    while ((line = gate_next(g, now))) {
        struct claim *c = line_call(line, now);
        if (c)
            grant(s, c);
        else if (line->at->rate)
            ask(s, line->rate, now); /* its gate has a line now */
    }
    if (g->rate)
        ask(s, g->rate, now);
}

static enum ao_verdict rate_due(struct ao *self)
{
    struct rate *r = ao_of(self, struct rate, timer);
    struct scheduler *s = r->scheduler;
    ao_time now = table_now(s->table);
    start_window_pass(&r->starts, r->of, now);
    if (r->note.kept && r->note.stale && now >= r->note.told_at + tell_after)
        admission_note(s, r);
    if (goes(s, r)) {
        drop_rate(s, r);
        return AO_DONE;
    }
    call(s, &r->gate);
    ao_activate(s->ao);
    ao_time next = rate_next(r);
    if (next == AO_NEVER)
        return AO_DONE;
    ao_sleep_until(self, next);
    return AO_PARK;
}

static void rate_retired(struct ao *self)
{
    ao_fini(self);
    rate_free(ao_of(self, struct rate, timer));
}

static const struct ao_class rate_timer_class = {
    .name = "rate", .step = rate_due, .retired = rate_retired};

/* --- Joined and left --- */

static void call_both(struct scheduler *s, const struct line *line)
{
    if (line->limit)
        call(s, &line->limit->gate);
    if (line->rate)
        call(s, &line->rate->gate);
}

/* A rate may outlive its jobs, and so counts as one of its tenant. */
static void adopt(struct scheduler *s, struct rate *r)
{
    if (!r->scheduler) {
        r->scheduler = s;
        r->note.kept = s->keeps_rates;
        r->key.tenant->jobs++;
        ao_init(&r->timer, &rate_timer_class, s->table->activator);
    }
    admission_weigh(s, r);
}

static uint8_t more_durable(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

/* Numbers that were changed are state of their own, as durable as the most durable job that uses
 * them. */
static void keep_numbers(struct scheduler *s, const struct line *line, const struct job *job)
{
    struct limit *limit = line->limit;
    struct rate *r = line->rate;
    if (limit) {
        limit->durable = more_durable(limit->durable, job->durable);
        numbers_note_limit(s, limit);
    }
    if (r) {
        r->durable = more_durable(r->durable, job->durable);
        if (r->note.kept && r->untold && r->durable != DURABLE_NONE)
            admission_note(s, r);
    }
}

bool admission_join(struct scheduler *s, struct job *job, const struct job_spec *spec)
{
    struct job_spec recovered;
    if (spec->limit_key.len == 0 && spec->rate_key.len == 0)
        return true;
    if (s->table->recovering) {
        recovered = numbers_in_force(s, job, spec);
        spec = &recovered;
    }
    struct line *line =
        line_get(s->limits, job->tenant, spec, queue_pool(job->queue), table_now(s->table));
    job->more->claim.line = line;
    if (!line)
        return false;
    if (line->rate)
        adopt(s, line->rate);
    keep_numbers(s, line, job);
    call_both(s, line); /* either may have been raised */
    return true;
}

void admission_leave(struct scheduler *s, struct job *job)
{
    struct line *line = job->more->claim.line;
    struct rate *rate = line ? line->rate : NULL;
    if (!line)
        return;
    admission_release(s, job);
    job->more->claim.line = NULL;
    line_unref(s->limits, line);
    if (rate)
        await(s, rate);
}

void admission_settle(struct scheduler *s, struct job *job)
{
    struct line *line = job->more ? job->more->claim.line : NULL;
    if (!line || line->pool != POOL_NONE)
        return;
    struct line *settled = line_of_pool(s->limits, line, queue_pool(job->queue));
    if (!settled)
        return;
    assert(job->more->claim.stands == STANDS_NOWHERE); /* without a pool no job is picked */
    job->more->claim.line = settled;
    line_unref(s->limits, line);
}

void admission_fini(struct scheduler *s)
{
    struct rate *next = limit_table_rate(s->limits, NULL);
    struct limit *limit;
    while ((limit = limit_next_to_note(&s->notes)))
        numbers_drop_limit(s, limit);
    s->notes.rates = NULL;
    for (struct rate *r; (r = next);) {
        next = limit_table_rate(s->limits, r);
        drop_rate(s, r);
    }
}

struct rate *admission_rate(struct scheduler *s, struct tenant *tenant, struct span key,
                            struct start_rate of)
{
    struct rate *r = rate_get(s->limits, tenant, key, of, table_now(s->table));
    if (r)
        adopt(s, r);
    return r;
}

void admission_noted(struct scheduler *s, struct rate *r)
{
    call(s, &r->gate); /* the rate may be gone then */
}

/* --- Taken and given back --- */

/* Holds may have what jobs of the pool were called for. */
static void give_to_holds(struct scheduler *s, const struct pool_calls *calls)
{
    struct line *line;
    LIST_FOREACH(line, &calls->lines, by_calls)
    {
        if (line->limit)
            call(s, &line->limit->gate);
    }
}

void admission_set_idle(struct scheduler *s, uint32_t pool, bool idle)
{
    struct pool_calls *calls = limits_pool_calls(s->limits, pool);
    if (!calls || calls->idle == idle)
        return;
    calls->idle = idle;
    give_to_holds(s, calls);
}

void admission_set_rests(struct scheduler *s, uint32_t pool, bool rests)
{
    struct pool_calls *calls = limits_pool_calls(s->limits, pool);
    if (!calls || calls->rests == rests)
        return;
    calls->rests = rests;
    if (rests)
        give_to_holds(s, calls);
}

void admission_arrive(struct scheduler *s, struct job *job)
{
    if (job->more)
        job->more->claim.arrived = table_now(s->table);
}

bool admission_take(struct scheduler *s, struct job *job)
{
    struct line *line = job->more ? job->more->claim.line : NULL;
    if (!line || line_take(job, table_now(s->table)))
        return true;
    job_set_state(s->table, job, JOB_WAITING, limits_reason(job));
    limit_give(job); /* nor is either kept while it waits for the other */
    rate_give(job);
    call_both(s, line); /* what it was called for may be another's */
    return false;
}

void admission_start(struct scheduler *s, struct job *job, ao_time at)
{
    if (!job_is(job, JOB_HAS_TOKEN))
        return;
    struct rate *r = job->more->claim.line->rate;
    rate_use(job, at);
    admission_weigh(s, r);
    await(s, r);
}

void admission_release_permit(struct scheduler *s, struct job *job)
{
    if (!job_is(job, JOB_HAS_PERMIT))
        return;
    limit_give(job);
    call(s, &job->more->claim.line->limit->gate);
}

void admission_release(struct scheduler *s, struct job *job)
{
    if (!job->more || !job->more->claim.line)
        return;
    line_leave(&job->more->claim);
    limit_give(job);
    rate_give(job);
    call_both(s, job->more->claim.line);
}

void admission_release_orphan(struct scheduler *s, struct job *job)
{
    bool has_one = job_is(job, JOB_HAS_PERMIT);
    if (!job->more || !job->more->claim.line || !job->more->claim.line->limit)
        return;
    job_mark(job, JOB_HAS_PERMIT);
    admission_release_permit(s, job);
    if (has_one)
        job_mark(job, JOB_HAS_PERMIT);
}

void admission_reorder(struct scheduler *s, struct job *job)
{
    limits_reorder(job);
    if (job->more && job->more->claim.stands == STANDS_IN_LINE)
        call_both(s, job->more->claim.line);
}

void admission_call(struct scheduler *s, struct limit *limit)
{
    call(s, &limit->gate);
}
