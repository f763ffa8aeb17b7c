#include "server/jobs/effects.h"

#include <assert.h>

#include "base/tracepoint.h"
#include "server/jobs/batches/members.h"
#include "server/jobs/feed/feed_readers.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/life/timers.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/operations/waiters.h"
#include "server/jobs/persist/rates.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/result_refs.h"
#include "server/jobs/sched/spans.h"
#include "server/jobs/semaphores/operations.h"

static void take_back(struct jobs *jobs, struct job *job, enum store_error error)
{
    job_take_back(jobs, job, error_name(sync_error(error)), store_error_text(error));
    if (job_is(job, JOB_CRON))
        jobs->task_lost(jobs, job);
}

/* Its first row came back: its submitters are answered, and then it goes on. */
static void saved(struct jobs *jobs, struct job *job, enum store_error error)
{
    waiters_job_saved(jobs, job, error);
    if (!durable_is_awaited(job->durable))
        return; /* it is there already: submissions that joined it wanted more, and were refused */
    if (error != STORE_OK && job->saved == JOB_SAVED_NOTHING)
        take_back(jobs, job, error);
    else if (job_is_open(job) && job->reason == JOB_WHY_COMMIT && !job_is(job, JOB_AWAITS_ROW))
        job_schedule(&jobs->sched, job, false);
}

/* As near as its state tells. */
static enum ergon_error error_of(const struct job *job)
{
    if (job->state == JOB_DONE)
        return ERGON_OK;
    if (job->state == JOB_CANCELLED)
        return ERGON_E_CANCELLED;
    return job->state == JOB_EXPIRED ? ERGON_E_DEADLINE : ERGON_E_FAILED;
}

static void drop_checkpoint(struct jobs *jobs, struct job *job)
{
    size_t was = job_bytes(job);
    blob_unref(job->more->checkpoint);
    job->more->checkpoint = NULL;
    table_weigh(&jobs->table, job, was);
}

static void ended(struct jobs *jobs, struct job *job)
{
    if (tracepoint_watched(answer))
        TRACEPOINT4(answer, job->id, job->queue->name.at, job->queue->name.len,
                    (int32_t)error_of(job));
    spans_ended(&jobs->sched, job);
    waiters_job_ended(jobs, job);
    if (job->is_message)
        jobs->sched.messages.ended(jobs->sched.messages.arg, job);
    if (job->in_batch)
        members_ended(jobs, job);
    dependencies_ended(&jobs->sched, job);
    result_refs_let_go(&jobs->sched, job);
    if (job->state == JOB_DONE && job->more && job->more->checkpoint)
        drop_checkpoint(jobs, job);
    retention_add(&jobs->sched, job);
}

static void gone(struct jobs *jobs, struct job *job)
{
    assert(!job->list && !job->attempt_task && job->orphans == 0);
    if (job->in_batch)
        members_goes(jobs, job);
    journal_remove(jobs, job);
    scheduler_forget(&jobs->sched, job);
    job_free(&jobs->table, job);
}

/* No event is there before the first row. */
static void store(struct jobs *jobs, struct job *job, unsigned effects)
{
    bool first = job->row == JOB_NEW;
    if (effects & EFFECT_WRITE && first)
        journal_write(jobs, job);
    if (effects & EFFECT_HISTORY)
        journal_events(jobs, job);
    if (effects & EFFECT_WRITE && !first)
        journal_write(jobs, job);
}

/* What others see, and what follows for other jobs. */
static void tell(struct jobs *jobs, struct job *job, unsigned effects, enum store_error error)
{
    if (effects & EFFECT_SAVED)
        saved(jobs, job, error);
    if (effects & EFFECT_CANCEL_SAVED && job->waits)
        waiters_cancel_saved(jobs, job, error);
    if (effects & EFFECT_HISTORY && job->is_followed)
        waiters_history_grew(jobs, job);
    if (effects & EFFECT_ENDED)
        ended(jobs, job);
    if (effects & EFFECT_FORGET) {
        waiters_job_goes(jobs, job);
        dependencies_finish(&jobs->sched, job);
        retention_forget(&jobs->table, job);
    }
}

static void apply(struct jobs *jobs, struct job *job, unsigned effects)
{
    enum store_error error = (enum store_error)job->save_error; /* a write may fail here, too */
    if (effects & EFFECT_GONE) {
        gone(jobs, job);
        return;
    }
    if (effects & (EFFECT_HISTORY | EFFECT_WRITE))
        store(jobs, job, effects);
    if (effects & ~(unsigned)(EFFECT_WRITE | EFFECT_TIMER))
        tell(jobs, job, effects, error);
    if (effects & EFFECT_TIMER) {
        timers_arm(job);
        if (timers_follow_wall(job))
            jobs_watch_clock(jobs);
    }
    if (!job->effects)
        job_check(&jobs->sched, job);
}

void effects_apply(struct jobs *jobs)
{
    struct job *job;
    unsigned effects;
    assert(!activator_current() || activator_current() == jobs->activator);
    if (jobs->sched.notes.any)
        rates_write(jobs); /* a task is not on disk before the numbers that it changed */
    do {
        scheduler_admit(&jobs->sched);
        if (jobs->sched.called.first)
            semaphores_settle(jobs);
        job = job_next_effect(&jobs->table, &effects);
        if (job)
            apply(jobs, job, effects);
        if (!job && jobs->sched.notes.any)
            rates_write(jobs); /* without memory somebody may go on at once */
    } while (job || jobs->sched.granted.first || (jobs->sched.called.first && jobs_may_act(jobs)));
    if (jobs->feed_readers->first)
        feed_readers_wake(jobs);
}

static enum ao_verdict job_due(struct ao *self)
{
    struct job *job = ao_of(self, struct job, timer);
    struct jobs *jobs = ao_of(job->queue->table, struct jobs, table);
    uint64_t id = job->id;
    timers_due(&jobs->sched, job);
    effects_apply(jobs);
    job = table_find(&jobs->table, id); /* it may have been freed */
    ao_time next = job ? timers_next(job) : AO_NEVER;
    if (next == AO_NEVER)
        return AO_DONE;
    ao_sleep_until(self, next);
    return AO_PARK;
}

const struct ao_class job_timer_class = {
    .name = "job timer", .step = job_due, .retired = job_timer_retired};
