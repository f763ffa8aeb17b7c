/* task.call: submits a job, and answers with the job's end. */
#include <assert.h>
#include <stdio.h>

#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/submission.h"

/* --- The answer --- */

static enum ergon_error error_of(const struct job *job)
{
    if (job->state == JOB_CANCELLED)
        return ERGON_E_CANCELLED;
    return job->state == JOB_EXPIRED ? ERGON_E_DEADLINE : ERGON_E_FAILED;
}

static void fail(struct operation_reply *reply, const struct job *job)
{
    const struct job_result *end = job->end;
    reply->error = error_of(job);
    if (end && end->code && reply->error == ERGON_E_FAILED)
        snprintf(reply->code, sizeof reply->code, "%s", end->code);
    snprintf(reply->text, sizeof reply->text, "%s",
             end && end->text ? end->text : error_meaning(reply->error));
}

static void answer(struct jobs *jobs, struct operation *op, struct job *job)
{
    const struct job_result *end = job->end;
    struct operation_reply *reply = &op->reply;
    (void)jobs;
    waiters_leave(op);
    if (job->state != JOB_DONE) {
        fail(reply, job);
    } else if (end && end->cut) {
        reply->error = ERGON_E_TOO_LARGE;
        snprintf(reply->text, sizeof reply->text,
                 "the result is larger than keep_size and was not kept");
    } else if (end && end->result) {
        pack_init(&reply->result);
        pack_blob(&reply->result, end->result);
    }
    operation_finish(op);
}

/* --- The caller dropped it --- */

static bool is_called(const struct job *job)
{
    for (const struct waiter *w = job->waits; w; w = w->next_of_job)
        if (w->op->cls == &operation_task_call)
            return true;
    return false;
}

static bool shares_run(const struct operation *op, const struct job *job)
{
    return !op->submission.outcomes[0].duplicate && job->more && job->more->coalesce.name.len > 0;
}

/* True if the job is to be cancelled with the call.  Of calls that share a job by its key, only the
 * last one cancels it, and none cancels a job that task.submit made.  Calls that share a run by
 * `coalesce` are counted, and job_cancel() cancels it with the last one. */
static bool takes_along(const struct operation *op, struct job *job)
{
    if (shares_run(op, job)) {
        job->more->calls--;
        return true;
    }
    return job_is(job, JOB_FOREGROUND) && !is_called(job);
}

static void dropped(struct jobs *jobs, struct operation *op)
{
    struct job *called = op->waiting.at->job;
    waiters_leave(op);
    if (takes_along(op, called))
        job_cancel(&jobs->sched, called);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

/* --- It joined a job that becomes as durable as the call wants --- */

static void job_saved(struct jobs *jobs, struct waiter *w, enum store_error error)
{
    struct operation *op = w->op;
    struct job *job = w->job;
    if (!op->submission.outcomes[0].hardens)
        return;
    if (error != STORE_OK && shares_run(op, job))
        job->more->calls--;
    submission_saved(jobs, op, 0, job, error);
    if (error != STORE_OK) {
        waiters_leave(op);
        submission_refuse(op);
    } else if (!job_state_open((enum job_state)job->state)) {
        answer(jobs, op, job);
    }
}

static void job_ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    if (!op->submission.outcomes[0].hardens)
        answer(jobs, op, job);
}

static void serve(struct jobs *jobs, struct operation *op)
{
    if (!submission_begin(op))
        return;
    struct job *job = submission_take(jobs, op, 0);
    const struct submission_outcome *outcome = &op->submission.outcomes[0];
    if (!job) {
        submission_refuse(op);
        return;
    }
    if (!outcome->duplicate && !outcome->coalesced)
        job_mark(job, JOB_FOREGROUND);
    if (shares_run(op, job))
        job->more->calls++;
    if (!job_state_open((enum job_state)job->state) && !outcome->hardens) {
        answer(jobs, op, job);
        return;
    }
    bool waits = waiters_join(op, job);
    assert(waits); /* to join the first job takes no memory */
    (void)waits;
    if (!outcome->hardens)
        operation_drop_arguments(op);
}

const struct operation_class operation_task_call = {.method = method_task_call,
                                                    .is_submission = true,
                                                    .serve = serve,
                                                    .fini = submission_fini,
                                                    .dropped = dropped,
                                                    .refused_at_stop = true,
                                                    .job_saved = job_saved,
                                                    .job_ended = job_ended};
