#include "server/jobs/sched/admission.h"

#include "server/jobs/core/names.h"

/* --- The timer of a rate --- */

/* The next time at which something changes by itself; AO_NEVER: only a job changes something. */
static ao_time rate_next(const struct rate *r)
{
    return gate_has_lines(&r->gate) || r->refs == 0 ? start_window_moves(&r->starts, r->of)
                                                    : AO_NEVER;
}

static bool is_past(const struct rate *r)
{
    return r->refs == 0 && r->starts.length == 0;
}

static void drop_rate(struct scheduler *s, struct rate *r)
{
    struct tenant *tenant = r->key.tenant;
    ao_deactivate(&r->timer);
    ao_fini(&r->timer);
    rate_drop(s->limits, r);
    table_tenant_unref(s->table, tenant);
}

/* Who stands first is called when a start leaves the window; when the last has left it, and nobody
 * names the rate any more, it goes. */
static void await(struct scheduler *s, struct rate *r)
{
    if (ao_current() == &r->timer)
        return;
    if (is_past(r)) {
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

/* Calls whoever may go on at this gate. */
static void call(struct scheduler *s, struct gate *g)
{
    ao_time now = table_now(s->table);
    struct line *line;
    for (unsigned kind = 0; kind < JOB_KINDS; kind++)
        while ((line = gate_next(g, kind, now))) {
            struct job *job = line_call(line, now);
            if (job)
                job_list_push(&s->granted, job);
            else if (line->at->rate)
                await(s, line->rate); /* its gate has a line now */
        }
    if (g->rate)
        await(s, g->rate);
}

static enum ao_verdict rate_due(struct ao *self)
{
    struct rate *r = ao_of(self, struct rate, timer);
    struct scheduler *s = r->scheduler;
    start_window_pass(&r->starts, r->of, table_now(s->table));
    if (is_past(r)) {
        ao_retire(self);
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
    struct rate *r = ao_of(self, struct rate, timer);
    drop_rate(r->scheduler, r);
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

bool admission_join(struct scheduler *s, struct job *job, const struct job_spec *spec)
{
    if (spec->limit_key.len == 0 && spec->rate_key.len == 0)
        return true;
    struct line *line = line_get(s->limits, job->tenant, spec, job_kind(job), table_now(s->table));
    job->more->line = line;
    if (!line)
        return false;
    if (line->rate && !line->rate->scheduler) {
        line->rate->scheduler = s;
        job->tenant->jobs++; /* a rate may outlive its jobs */
        ao_init(&line->rate->timer, &rate_timer_class, s->table->activator);
    }
    call_both(s, line); /* either may have been raised */
    return true;
}

void admission_leave(struct scheduler *s, struct job *job)
{
    struct line *line = job->more->line;
    struct rate *rate = line ? line->rate : NULL;
    if (!line)
        return;
    admission_release(s, job);
    job->more->line = NULL;
    line_unref(s->limits, line);
    if (rate)
        await(s, rate);
}

void admission_fini(struct scheduler *s)
{
    struct rate *r;
    while ((r = limit_table_rate(s->limits)))
        drop_rate(s, r);
}

/* --- Taken and given back --- */

void admission_arrive(struct scheduler *s, struct job *job)
{
    if (job->more)
        job->more->arrived = table_now(s->table);
}

bool admission_take(struct scheduler *s, struct job *job)
{
    struct line *line = job->more ? job->more->line : NULL;
    if (!line || line_take(job, table_now(s->table)))
        return true;
    job_set_state(s->table, job, JOB_WAITING, limits_reason(job));
    limit_give(job); /* nor is either kept while it waits for the other */
    rate_give(job);
    call_both(s, line); /* what it was called for may be another's */
    return false;
}

/* The activator's clock is read anew: the round may have begun before the handler. */
void admission_start(struct scheduler *s, struct job *job)
{
    if (!job_is(job, JOB_HAS_TOKEN))
        return;
    rate_use(job, activator_clock(s->table->activator));
    await(s, job->more->line->rate);
}

void admission_release_permit(struct scheduler *s, struct job *job)
{
    if (!job_is(job, JOB_HAS_PERMIT))
        return;
    limit_give(job);
    call(s, &job->more->line->limit->gate);
}

void admission_release(struct scheduler *s, struct job *job)
{
    if (!job->more || !job->more->line)
        return;
    line_leave(job);
    limit_give(job);
    rate_give(job);
    call_both(s, job->more->line);
}

void admission_release_orphan(struct scheduler *s, struct job *job)
{
    bool has_one = job_is(job, JOB_HAS_PERMIT);
    if (!job->more || !job->more->line || !job->more->line->limit)
        return;
    job_mark(job, JOB_HAS_PERMIT);
    admission_release_permit(s, job);
    if (has_one)
        job_mark(job, JOB_HAS_PERMIT);
}
