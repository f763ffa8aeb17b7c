#include "server/jobs/sched/queueing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/tracepoint.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/names.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/quarantine.h"

enum { MEMORY_PAUSE_MS = 100 };

static bool has_held(const struct job_queue *q)
{
    bool has = false;
    for (int kind = 0; kind < HELD_KINDS; kind++)
        has |= q->held[kind].count > 0;
    return has;
}

struct job *queue_pop_held(struct job_queue *q)
{
    struct job *job = NULL;
    for (int kind = 0; kind < HELD_KINDS && !job; kind++)
        job = job_list_pop(&q->held[kind]);
    return job;
}

void job_hold(struct scheduler *s, struct job *job, enum held_kind kind, enum job_reason reason)
{
    job_list_push(&job->queue->held[kind], job);
    job_set_state(s->table, job, JOB_WAITING, reason);
    quarantine_leave(s, job);
}

static void arrive(struct scheduler *s, struct job *job)
{
    job->arrival = ++s->arrivals;
    job->level = job->priority;
    admission_arrive(s, job);
}

void job_enqueue(struct scheduler *s, struct job *job, bool front)
{
    uint32_t pool = queue_pool(job->queue);
    enum held_kind kind = front ? HELD_CALLED : HELD_NEW;
    assert(!job->list && !job->attempt_task && !job_is(job, JOB_ENQUEUED | JOB_ENDING));
    if (!front)
        arrive(s, job);
    if (!queue_runs(job->queue)) {
        job_hold(s, job, kind, JOB_WHY_NO_EXECUTOR);
        admission_release(s, job); /* nobody waits for what it was called for */
        return;
    }
    if (job->queue->paused || (!front && has_held(job->queue))) { /* or it would overtake those */
        job_hold(s, job, kind, JOB_WHY_PAUSED);
        admission_release(s, job); /* others of its keys go on */
        return;
    }
    admission_settle(s, job);
    struct pool_jobs *jobs = pool_table_get(&s->pools, pool, s->settings->ageing);
    if (!jobs || !fair_queue_add(&jobs->queue, job, table_now(s->table))) {
        job->due = table_time_after(s->table, AO_MS(MEMORY_PAUSE_MS));
        job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_DELAY);
        quarantine_leave(s, job);
        admission_release(s, job);
        return;
    }
    job_mark(job, JOB_ENQUEUED);
    TRACEPOINT3(queue, job->id, job->queue->name.at, job->queue->name.len);
    job_set_state(s->table, job, JOB_QUEUED, s->stopping ? JOB_WHY_STOPPING : JOB_WHY_TURN);
    job_source_wake(s->tasks, pool);
    out_overtake(s, jobs);
}

void job_unplace(struct scheduler *s, struct job *job)
{
    if (job_is(job, JOB_ENQUEUED)) {
        fair_queue_remove(&pool_table_of(&s->pools, job)->queue, job);
        job_unmark(job, JOB_ENQUEUED);
    }
    job_list_remove(job);
    job_unmark(job, JOB_AWAITS_ROW);
    admission_release(s, job);
    quarantine_leave(s, job);
}

void job_dequeue(struct scheduler *s, struct job *job)
{
    if (job->attempt_task && !out_recall(s, job))
        out_disown(s, job, job_is(job, JOB_CANCEL) ? ATTEMPT_CANCEL : ATTEMPT_LATE);
    job_unplace(s, job);
    dependencies_unlink(s, job);
}

/* --- The end of a job --- */

struct job_result *job_result_of(struct job *job)
{
    /* calloc() passes by the cache that glibc has for each thread. */
    if (!job->end && (job->end = malloc(sizeof *job->end)))
        *job->end = (struct job_result){0};
    return job->end;
}

/* Code and text lie in one block.  Without memory there is none: the one before is of another
 * attempt. */
void job_set_error(struct scheduler *s, struct job *job, const char *code, const char *text)
{
    size_t was = job_bytes(job);
    struct job_result *end = job_result_of(job);
    size_t code_size = strlen(code) + 1, text_size = strlen(text) + 1;
    char *block = end ? malloc(code_size + text_size) : NULL;
    if (end) {
        free(end->code);
        end->code = block ? memcpy(block, code, code_size) : NULL;
        end->text = block ? memcpy(block + code_size, text, text_size) : NULL;
    }
    table_weigh(s->table, job, was);
}

void job_end(struct scheduler *s, struct job *job, enum job_state state, const char *code,
             const char *text)
{
    assert(!job_state_open(state));
    if (!job_is_open(job))
        return;
    job_dequeue(s, job);
    if (code)
        job_set_error(s, job, code, text);
    if (job->durable == DURABLE_NONE && !job_writes_more(job)) {
        job_set_state(s->table, job, state, JOB_WHY_ENDED);
        return;
    }
    job->ending = (uint8_t)state;
    job->ended = table_wall(s->table);
    job_mark(job, JOB_ENDING);
    job_set_state(s->table, job, job->state == JOB_NEW ? JOB_QUEUED : (enum job_state)job->state,
                  JOB_WHY_COMMIT);
}

bool job_crashed_enough(const struct scheduler *s, const struct job *job)
{
    return s->settings->crashes > 0 && job->crashes >= s->settings->crashes &&
           !job_is(job, JOB_CANCEL);
}

void job_end_crashed(struct scheduler *s, struct job *job)
{
    char text[96];
    snprintf(text, sizeof text,
             "it ran in %u crashes of the server, and is not run again by itself", job->crashes);
    job_end(s, job, JOB_DEAD, "QUARANTINED", text);
}

void job_end_otherwise(struct scheduler *s, struct job *job, enum job_state state, const char *code,
                       const char *text)
{
    size_t was = job_bytes(job);
    assert(job_is(job, JOB_ENDING) && !job_state_open(state));
    job_result_free(job);
    table_weigh(s->table, job, was);
    if (code)
        job_set_error(s, job, code, text);
    job->ending = (uint8_t)state;
}

void job_reopen(struct scheduler *s, struct job *job, const char *why)
{
    size_t was = job_bytes(job);
    assert(job_is(job, JOB_ENDING) && !job->list && !job->attempt_task);
    job_result_free(job);
    table_weigh(s->table, job, was);
    job_unmark(job, JOB_ENDING);
    job->ended = 0;
    job->due = 0;
    job_note(s->table, job, JOB_EVENT_INTERRUPTED, why);
    job_set_state(s->table, job, JOB_WAITING, JOB_WHY_STORE);
    job_effect(s->table, job, EFFECT_WRITE);
}

void job_end_saved(struct scheduler *s, struct job *job)
{
    assert(job_is(job, JOB_ENDING) && !job_state_open((enum job_state)job->ending));
    job_set_state(s->table, job, (enum job_state)job->ending, JOB_WHY_ENDED);
    job_unmark(job, JOB_ENDING);
}
