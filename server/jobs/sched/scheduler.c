#include "server/jobs/sched/scheduler.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/names.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/pool_rest.h"
#include "server/jobs/sched/queueing.h"
#include "server/jobs/sched/quarantine.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/job_source.h"
#include "server/tasks/manager/pool.h"

const char scheduler_no_numbers[] =
    "the numbers that this node of the cluster may give are used up, and its database has not "
    "given more; try again";

enum { GO_ON_BUDGET = 256 /* jobs, or dependencies, a step */ };

static void fail_after(struct scheduler *s, struct job *job)
{
    char text[96];
    dependencies_say(s, job, text, sizeof text);
    job_end(s, job, JOB_FAILED, "AFTER", text);
}

/* Of one that is read back: why it was delayed last. */
static bool asked_to_come_again(const struct job *job)
{
    struct history_event last;
    return job->attempt > 0 && history_get(job, history_next(job) - 1, &last) &&
           last.what == JOB_EVENT_DELAYED && last.reason == JOB_WHY_AGAIN;
}

static enum job_reason why_later(const struct job *job)
{
    if (job_losses(job) > 0)
        return JOB_WHY_LOST;
    if (asked_to_come_again(job))
        return JOB_WHY_AGAIN;
    if (job->failures)
        return JOB_WHY_RETRY;
    return job->is_message && job_message(job)->is_step ? JOB_WHY_SLEEP : JOB_WHY_DELAY;
}

void job_schedule(struct scheduler *s, struct job *job, bool front)
{
    struct job_table *table = s->table;
    ao_time now = table_now(table);
    if (job_is(job, JOB_CANCEL)) {
        job_end(s, job, JOB_CANCELLED, NULL, NULL);
    } else if (job->deadline <= now) {
        job_end(s, job, JOB_EXPIRED, "DEADLINE", "its deadline passed before it was done");
    } else if (job->more && job->more->after_failed) {
        fail_after(s, job);
    } else if (job->more && job->more->after) {
        job_set_state(table, job, JOB_WAITING, JOB_WHY_AFTER);
    } else if (job->due > now) {
        job_set_state(table, job, JOB_DELAYED, why_later(job));
    } else if (job->is_message && !s->messages.joins(s->messages.arg, job)) {
        return;
    } else if (durable_is_awaited(job->durable) && job_is(job, JOB_SUBMITTING)) {
        job_set_state(table, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else if (!job_may_begin(job)) {
        job_mark(job, JOB_AWAITS_ROW);
        job_set_state(table, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else {
        job_enqueue(s, job, front);
    }
}

void scheduler_admit(struct scheduler *s)
{
    struct job *job;
    while ((job = job_list_pop(&s->granted)))
        job_enqueue(s, job, true);
}

/* --- In small steps --- */

static bool go_on_released(struct scheduler *s)
{
    struct job *job;
    bool all = dependencies_release(s, GO_ON_BUDGET);
    for (int budget = GO_ON_BUDGET; budget > 0 && (job = job_list_pop(&s->released)); budget--) {
        budget -= (int)dependencies_open(job);
        job_schedule(s, job, false);
    }
    return all && s->released.count == 0;
}

void scheduler_move(struct scheduler *s, struct job_queue *q)
{
    if (!q->moves) {
        q->moves = true;
        q->next_moving = s->moving;
        s->moving = q;
    }
    ao_activate(s->ao);
}

/* Steps of actors wait here while nobody offers them; other tasks are queued. */
static bool goes_on(const struct job_queue *q)
{
    bool steps = q->method && method_actor(q->method) & ACTOR_STEP;
    return !q->paused && queue_runs(q) && (!steps || queue_is_served(q));
}

/* The queue takes them by their arrival. */
static bool go_on_queues(struct scheduler *s)
{
    int budget = GO_ON_BUDGET;
    for (struct job_queue *q; (q = s->moving); q->moves = false) {
        struct job *job;
        while (goes_on(q) && (job = queue_pop_held(q))) {
            job_schedule(s, job, true);
            if (--budget == 0)
                return false;
        }
        s->moving = q->next_moving;
    }
    return true;
}

bool scheduler_go_on(struct scheduler *s)
{
    bool idle = go_on_released(s);
    idle &= go_on_queues(s);
    quarantine_grant(s);
    scheduler_admit(s);
    return idle;
}

/* --- Methods that workers offer --- */

static void note_leaver(struct job_queue *q, struct span last)
{
    free(q->offer.who);
    q->offer.left = q->offer.at;
    q->offer.who = last.len > 0 ? span_strdup(last) : NULL;
}

struct job_queue *offers_changed(struct scheduler *s, struct method *m, bool workers,
                                 struct span last)
{
    struct job_queue *q = table_queue(s->table, m->name);
    if (!q)
        return NULL;
    q->method = m; /* it may have been made before this was */
    q->offer.now = workers;
    q->offer.at = table_wall(s->table);
    admission_set_idle(s, m->attempts_pool->index, !workers);
    if (workers) {
        scheduler_move(s, q);
        job_source_wake(s->tasks, m->attempts_pool->index);
    } else {
        note_leaver(q, last);
    }
    return q;
}

/* --- Made and unmade --- */

int scheduler_init(struct scheduler *s, const struct scheduler_options *options)
{
    *s = (struct scheduler){.table = options->table,
                            .tasks = options->tasks,
                            .ao = options->ao,
                            .settings = options->settings,
                            .keeps_rates = options->keeps_rates,
                            .tracer = options->tracer};
    TAILQ_INIT(&s->notes.rows);
    s->limits = limit_table_new(s->table->seed, options->settings->ageing, POOLS_LOCAL, &s->notes);
    return s->limits ? 0 : -1;
}

void scheduler_fini(struct scheduler *s)
{
    assert(!s->running.first && !s->granted.first && !s->released.first && !s->suspects.first);
    if (s->limits)
        admission_fini(s);
    limit_table_free(s->limits);
    pool_rest_fini(&s->pools);
    pool_table_fini(&s->pools);
}

void scheduler_forget(struct scheduler *s, struct job *job)
{
    if (!kept_has(&job->tenant->kept, job))
        job_list_remove(job);
    dependencies_forget(job);
    if (job->more)
        admission_leave(s, job);
    if (job->is_message || job_writes_more(job))
        s->messages.forgotten(s->messages.arg, job);
}

/* --- What goes with what --- */

void job_check(const struct scheduler *s, const struct job *job)
{
#ifndef NDEBUG
    bool out = job->list == &s->running || out_is_assigned(s, job), held = false;
    bool queued = job_is(job, JOB_ENQUEUED);
    for (int kind = 0; kind < HELD_KINDS; kind++)
        held |= job->list == &job->queue->held[kind];
    const struct job_more *more = job->more;
    switch ((enum job_state)job->state) {
    case JOB_QUEUED:
        assert(queued || job_is(job, JOB_AWAITS_ROW | JOB_ENDING) ||
               job->reason == JOB_WHY_COMMIT || job->reason == JOB_WHY_STOPPING ||
               (job_is_quiet(job) && job->reason == JOB_WHY_STORE));
        break;
    case JOB_DELAYED:
        assert(!job->list && !queued);
        break;
    case JOB_WAITING:
        assert(!queued && !out);
        assert(held == (job->reason == JOB_WHY_PAUSED || job->reason == JOB_WHY_NO_EXECUTOR) ||
               job_is(job, JOB_ENDING));
        break;
    case JOB_ASSIGNED:
    case JOB_RUNNING:
    case JOB_PARKED:
        assert(job->state == JOB_ASSIGNED || !out_is_assigned(s, job));
        assert((out && job->attempt_task) || job_is(job, JOB_ENDING));
        break;
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_EXPIRED:
    case JOB_DEAD:
        assert(kept_has(&job->tenant->kept, job) && !queued && job->ended > 0);
        break;
    case JOB_STATE_COUNT:
        break; /* it has not been placed yet */
    }
    assert(!job->attempt_task || out);
    assert(!out || !queued);
    assert(!job->open_prev || job->open_prev->id < job->id);
    assert(!job_is(job, JOB_HAS_PERMIT) ||
           (more && more->claim.line && more->claim.line->limit->taken > 0));
    assert(!job_is(job, JOB_HAS_TOKEN) ||
           (more && more->claim.line && more->claim.line->rate->held > 0));
    assert(!more || more->claim.stands != STANDS_IN_LINE || job->state == JOB_WAITING);
    assert(!job_is(job, JOB_QUARANTINED) || s->suspect == job);
    assert(!job_is(job, JOB_ENDING) || !job->list);
#else
    (void)s;
    (void)job;
#endif
}
