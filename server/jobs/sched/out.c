#include "server/jobs/sched/out.h"
#include "server/jobs/sched/lines.h"

#include <assert.h>

#include "base/clock.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/names.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/pool_rest.h"
#include "server/jobs/sched/quarantine.h"
#include "server/jobs/sched/spans.h"

enum {
    LOOK_MS = 1,   /* most handlers have begun, and many returned, when they are looked for */
    LOOKS_MAX = 15 /* each further look comes after twice the time, so many times: half a minute */
};

static void leave_assigned(struct scheduler *s, struct job *job)
{
    struct pool_jobs *pool = pool_table_of(&s->pools, job);
    assert(pool->assigned_at[job->level] > 0); /* its level is the one that it was picked with */
    pool->assigned_at[job->level]--;
    job_list_remove(job);
}

/* When its begin is looked for. */
static void look_later(struct scheduler *s, struct job *job)
{
    ao_time wait = AO_MS(LOOK_MS) << job->looks;
    if (job->looks < LOOKS_MAX)
        job->looks++;
    job->until = table_time_after(s->table, wait < job->timeout ? wait : job->timeout);
    job_effect(s->table, job, EFFECT_TIMER);
}

void out_add(struct scheduler *s, struct job *job)
{
    struct pool_jobs *pool = pool_table_of(&s->pools, job);
    assert(!job->attempt_task);
    job_list_push(&pool->assigned, job);
    pool->assigned_at[job->level]++;
    look_later(s, job);
}

void out_undo(struct scheduler *s, struct job *job, const struct attempt_mark *mark)
{
    assert(out_is_assigned(s, job));
    leave_assigned(s, job);
    job->attempt_task = NULL;
    job->until = AO_NEVER;
    if (mark)
        board_withdrawn(s->board, job, mark);
    if (job->is_message)
        s->messages.undone(s->messages.arg, job);
    admission_release(s, job);
    quarantine_leave(s, job);
    pool_rest_left(s, pool_table_of(&s->pools, job), job);
}

static void note_worker(struct scheduler *s, struct job *job)
{
    uint16_t worker = attempt_label(job->attempt_task);
    if (worker == job->ran_by)
        return;
    worker_label_ref(&s->table->labels, worker);
    worker_label_unref(&s->table->labels, job->ran_by);
    job->ran_by = worker;
}

void out_began(struct scheduler *s, struct job *job, ao_time at)
{
    assert(out_is_assigned(s, job) && job->attempt < JOB_COUNT_MAX);
    leave_assigned(s, job);
    if (job->level == 0) /* others wait for that (attempts.c) */
        job_source_wake(s->tasks, queue_pool(job->queue));
    job_list_push(&s->running, job);
    job->attempt++;
    job->looks = 0;
    note_worker(s, job);
    job->started = table_wall_of(s->table, at);
    job->until = clock_after(at, job->timeout);
    counter_add(&s->starts, 1);
    if (job->attempt > 1)
        counter_add(&s->retries, 1);
    admission_start(s, job, at);
    if (!job_is_quiet(job))
        job_note_event(s->table, job,
                       (struct history_event){
                           .what = JOB_EVENT_STARTED, .at = job->started, .worker = job->ran_by});
    spans_began(s, job);
    job_set_state(s->table, job, JOB_RUNNING, JOB_WHY_RUNNING);
}

bool out_has_begun(struct scheduler *s, struct job *job)
{
    if (!out_is_assigned(s, job))
        return true;
    if (attempt_stage(job->attempt_task) == ATTEMPT_ASSIGNED)
        return false;
    out_began(s, job, attempt_began(job->attempt_task));
    return true;
}

void out_show(struct scheduler *s, struct job *job)
{
    static const struct {
        enum job_state state;
        enum job_reason reason;
    } of[] = {[ATTEMPT_ASSIGNED] = {JOB_ASSIGNED, JOB_WHY_ASSIGNED},
              [ATTEMPT_RUNNING] = {JOB_RUNNING, JOB_WHY_RUNNING},
              [ATTEMPT_PARKED] = {JOB_PARKED, JOB_WHY_PARKED}};
    bool out = job->attempt_task && job_state_runs((enum job_state)job->state);
    if (!out || !out_has_begun(s, job)) /* at a stop it is queued again, though it is out */
        return;
    enum attempt_stage stage = attempt_stage(job->attempt_task);
    if (of[stage].state != (enum job_state)job->state)
        job_set_state(s->table, job, of[stage].state, of[stage].reason);
}

void out_show_all(struct scheduler *s)
{
    struct job *next;
    for (struct job *job = s->running.first; job; job = job->next)
        out_show(s, job);
    for (uint32_t i = 0; i < s->pools.room; i++)
        for (struct job *job = out_first_assigned(s, i); job; job = next) {
            next = job->next;
            out_show(s, job);
        }
}

bool out_recall(struct scheduler *s, struct job *job)
{
    const struct attempt_mark *mark;
    if (!out_is_assigned(s, job))
        return false;
    if (attempt_withdraw(s->tasks, job->attempt_task, &mark)) {
        out_undo(s, job, mark);
        return true;
    }
    out_began(s, job, attempt_began(job->attempt_task));
    return false;
}

bool out_holds(struct scheduler *s, struct job *job)
{
    if (!job_state_runs((enum job_state)job->state))
        return job->attempt_task != NULL;
    return !job->attempt_task || !out_recall(s, job);
}

/* What was granted is queued before anything else happens. */
void out_requeue(struct scheduler *s, struct job *job)
{
    if (out_recall(s, job))
        job_list_push(&s->granted, job);
}

void out_recall_all(struct scheduler *s)
{
    struct job *job;
    for (uint32_t i = 0; i < s->pools.room; i++)
        while ((job = out_first_assigned(s, i)))
            out_requeue(s, job);
}

void out_recall_queue(struct scheduler *s, const struct job_queue *queue)
{
    const struct pool_jobs *pool = pool_table_find(&s->pools, queue_pool(queue));
    struct job *next;
    for (struct job *job = pool ? pool->assigned.first : NULL; job; job = next) {
        next = job->next;
        if (job->queue == queue)
            out_requeue(s, job);
    }
}

static bool is_overtaken(const struct pool_jobs *pool, int top)
{
    uint32_t lower = 0;
    for (int level = 0; level < top; level++)
        lower += pool->assigned_at[level];
    return lower > 0;
}

void out_overtake(struct scheduler *s, const struct pool_jobs *pool)
{
    struct job *next;
    int top = fair_queue_top(&pool->queue);
    if (!pool->full || !is_overtaken(pool, top))
        return;
    for (struct job *job = pool->assigned.first; job; job = next) {
        next = job->next;
        if (job->level < top)
            out_requeue(s, job);
    }
}

void out_disown(struct scheduler *s, struct job *job, enum attempt_flag flag)
{
    assert(job->attempt_task && job->list == &s->running);
    attempt_flag(s->tasks, job->attempt_task, flag);
    job->attempt_task = NULL;
    job->until = AO_NEVER;
    job->orphans++;
    limit_note_late(job);
    job_unmark(job, JOB_HAS_PERMIT | JOB_QUARANTINED); /* the orphan has them now */
    job_list_remove(job);
    pool_rest_left(s, pool_table_of(&s->pools, job), job);
}
