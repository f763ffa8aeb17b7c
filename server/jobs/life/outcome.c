/* How attempts, and tasks, end. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "server/jobs/jobs_parts.h"

/* --- What is kept of an end --- */

static struct job_result *end_of(struct job *job)
{
    if (!job->end)
        job->end = calloc(1, sizeof *job->end);
    return job->end;
}

/* Code and text lie in one block.  Without memory the error is told without words. */
static void set_error(struct jobs *jobs, struct job *job, const char *code, const char *text)
{
    size_t was = job_bytes(job);
    struct job_result *end = end_of(job);
    size_t code_size = strlen(code) + 1, text_size = strlen(text) + 1;
    char *block = end ? malloc(code_size + text_size) : NULL;
    if (block) {
        free(end->code);
        end->code = memcpy(block, code, code_size);
        end->text = memcpy(block + code_size, text, text_size);
    }
    jobs_weigh(jobs, job, was);
}

/* False without memory for even the least. */
static bool take_result(struct jobs *jobs, struct job *job, struct outcome *outcome)
{
    struct job_spec policy;
    size_t was = job_bytes(job);
    job_result_free(job); /* of the attempts before */
    struct job_result *end = end_of(job);
    job_policy(job, &policy);
    if (end && outcome->result.len > policy.keep_size) {
        end->cut = true;
    } else if (end && outcome->block && outcome->block == outcome->result.at) {
        end->result = outcome->block;
        outcome->block = NULL;
    } else if (end && (end->result = malloc(outcome->result.len ? outcome->result.len : 1))) {
        memcpy(end->result, outcome->result.at, outcome->result.len);
    } else if (end) {
        end->cut = true;
    }
    if (end && end->result)
        end->result_len = outcome->result.len;
    jobs_weigh(jobs, job, was);
    return end != NULL;
}

/* --- The end of the whole --- */

void job_end(struct jobs *jobs, struct job *job, enum job_state state, const char *code,
             const char *text)
{
    if (!job_is_open(job))
        return;
    job_dequeue(jobs, job);
    if (code)
        set_error(jobs, job, code, text);
    if (job->durable == DURABLE_NONE) {
        job_set_state(jobs, job, state, JOB_WHY_ENDED);
        return;
    }
    job->ending = (uint8_t)state;
    job->ended = jobs_wall(jobs);
    job_mark(job, JOB_ENDING);
    job_set_state(jobs, job, job->state == JOB_NEW ? JOB_QUEUED : (enum job_state)job->state,
                  JOB_WHY_COMMIT);
    journal_change(jobs, job);
}

/* --- A failure --- */

static void try_again(struct jobs *jobs, struct job *job)
{
    struct job_spec policy;
    job_policy(job, &policy);
    ao_time wait = backoff_wait(policy.backoff, policy.backoff_max, policy.jitter, job->failures,
                                activator_random(jobs->activator));
    job->due = jobs_time_after(jobs, wait);
    job_set_state(jobs, job, JOB_DELAYED, JOB_WHY_RETRY);
    journal_change(jobs, job);
}

void outcome_failed(struct jobs *jobs, struct job *job, enum job_event what, const char *code,
                    const char *text)
{
    char line[OPERATION_LINE_MAX];
    snprintf(line, sizeof line, "%s: %s", code, text);
    job->failures++;
    job_note(jobs, job, what, line);
    if (job->retries == 0 || backoff_is_permanent(code)) {
        job_end(jobs, job, JOB_FAILED, code, text);
    } else if (job->failures > job->retries) {
        job_end(jobs, job, JOB_DEAD, code, text);
    } else {
        set_error(jobs, job, code, text);
        try_again(jobs, job);
    }
}

/* --- An attempt that came home --- */

static void run_again(struct jobs *jobs, struct job *job, ao_time after)
{
    job->due = jobs_time_after(jobs, after);
    job_set_state(jobs, job, JOB_DELAYED, JOB_WHY_AGAIN);
    journal_change(jobs, job);
}

/* No fault of the task: it goes on with the next attempt. */
static void interrupted(struct jobs *jobs, struct job *job)
{
    job_note(jobs, job, JOB_EVENT_INTERRUPTED, NULL);
    job->due = 0;
    job_schedule(jobs, job, true);
    journal_change(jobs, job);
}

/* A handler that was told to stop may have left its work undone, whatever it answers. */
static bool is_interrupted(const struct jobs *jobs, const struct attempt_end *r)
{
    return !r->started || (jobs->stopping && (r->told || r->outcome->error == ERGON_E_CANCELLED ||
                                              r->outcome->error == ERGON_E_DRAINING));
}

static void failed(struct jobs *jobs, struct job *job, const struct outcome *outcome)
{
    char text[OPERATION_TEXT_MAX];
    const char *code = outcome->code ? outcome->code : error_name(outcome->error);
    struct span cut = utf8_cut(outcome->text, sizeof text - 1); /* task_fail() has cleaned it */
    snprintf(text, sizeof text, "%.*s", (int)cut.len, (const char *)cut.at);
    if (outcome->error == ERGON_E_DEADLINE && job->deadline <= jobs_now(jobs))
        job_end(jobs, job, JOB_EXPIRED, code, "its deadline passed before it was done");
    else if (outcome->error == ERGON_E_DEADLINE)
        outcome_failed(jobs, job, JOB_EVENT_TIMED_OUT, code, text);
    else
        outcome_failed(jobs, job, JOB_EVENT_ATTEMPT_FAILED, code, text);
}

static void succeeded(struct jobs *jobs, struct job *job, struct outcome *outcome)
{
    if (take_result(jobs, job, outcome))
        job_end(jobs, job, JOB_DONE, NULL, NULL);
    else
        outcome_failed(jobs, job, JOB_EVENT_ATTEMPT_FAILED, "MEMORY", "no memory for its result");
}

void outcome_returned(struct jobs *jobs, struct job *job, const struct attempt_end *r)
{
    if (job_is(job, JOB_CANCEL)) {
        job_end(jobs, job, JOB_CANCELLED, NULL, NULL);
    } else if (r->again) {
        run_again(jobs, job, r->after);
    } else if (is_interrupted(jobs, r)) {
        interrupted(jobs, job);
    } else if (r->outcome->error == ERGON_OK) {
        succeeded(jobs, job, r->outcome);
    } else {
        failed(jobs, job, r->outcome);
    }
}

/* --- What people wish --- */

bool job_cancel(struct jobs *jobs, struct job *job)
{
    struct job_more *more = job->more;
    if (!job_is_open(job))
        return job_is(job, JOB_ENDING) && job->ending == JOB_CANCELLED;
    if (more && more->coalesce.name.len > 0 && more->waiters > 1) {
        more->waiters--;
        return false;
    }
    job_mark(job, JOB_CANCEL);
    if (more)
        key_remove(&jobs->shared, &more->coalesce); /* who comes now wants another run */
    if (job->list != &jobs->outs || !job->attempt_task) {
        job_end(jobs, job, JOB_CANCELLED, NULL, NULL);
        return true;
    }
    attempt_flag(jobs->tasks, job->attempt_task,
                 ATTEMPT_CANCEL); /* it ends when this has returned */
    journal_change(jobs, job);    /* also when the server dies before */
    return true;
}

bool job_retry(struct jobs *jobs, struct job *job)
{
    if (job_state_open((enum job_state)job->state) || job->state == JOB_DONE)
        return false;
    (job->durable == DURABLE_NONE ? &jobs->fleeting : &jobs->kept)->ended[job->state]--;
    retention_remove(jobs, job);
    dependencies_finish(jobs, job);
    replay_row(jobs, job);
    journal_replayed(jobs, job);
    job_note(jobs, job, JOB_EVENT_RETRIED, NULL);
    job_unmark(job, JOB_CANCEL);
    job->failures = 0;
    job->crashes = 0;
    job->due = 0;
    job->ended = 0;
    if (job->deadline <= jobs_now(jobs))
        job->deadline = AO_NEVER;
    dependencies_settle(jobs, job);
    job_schedule(jobs, job, false);
    journal_change(jobs, job);
    return true;
}
