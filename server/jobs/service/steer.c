/* task.cancel, task.retry, task.forget, task.change, task.run_now: what is done to one task by its
 * id. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/change.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

/* --- task.cancel --- */

/* The cancel of an fsync job is on disk before it is answered.  If the end of the job is being
 * committed, the answer waits until it is on disk, since a crash before that runs the job again. */

static void answer_cancel(struct operation *op, const struct job *job, bool cancelled)
{
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    pack_init(p);
    pack_map(p, 3);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_str(p, "state", job_state_names[job->state]);
    pack_key_bool(p, "cancelled", cancelled);
    operation_finish(op);
}

static void refuse_cancel(struct operation *op, enum store_error error)
{
    char id[ID_TEXT_SIZE];
    const char *what = op->job.ends     ? "has ended"
                       : op->job.leaves ? "is shared by one less"
                                        : "is cancelled";
    operation_refuse(op, ERGON_E_STORE, "%s %s, but that could not be written: %s",
                     id_text(op->job.id, id), what, store_error_text(error));
}

static void cancel_saved(struct jobs *jobs, struct operation *op, struct job *job,
                         enum store_error error)
{
    (void)jobs;
    if (error == STORE_OK && op->job.ends)
        return; /* cancel_ended() follows */
    waiters_leave(op);
    if (error == STORE_OK)
        answer_cancel(op, job, !op->job.leaves);
    else
        refuse_cancel(op, error);
}

static void cancel_ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    (void)jobs;
    if (!op->job.ends)
        return; /* cancel_saved() follows, or came before */
    waiters_leave(op);
    answer_cancel(op, job, false);
}

static void serve_cancel(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    if (!job)
        return;
    jobs_worked(jobs, EDGE_WORK * (size_t)dependencies_open(job));
    bool open = job_is_open(job), cancelled = job_cancel(&jobs->sched, job);
    op->job.ends = !cancelled && job_is(job, JOB_ENDING);
    op->job.leaves = open && !cancelled;
    bool awaited = (cancelled || op->job.leaves) && job->durable == DURABLE_FSYNC;
    if ((awaited || op->job.ends) && job_is(job, JOB_UNSAVED))
        refuse_cancel(op, jobs->journal.error);
    else if (!(awaited || op->job.ends) || !waiters_join(op, job))
        answer_cancel(op, job, cancelled);
}

const struct operation_class operation_task_cancel = {.method = method_task_cancel,
                                                      .serve = serve_cancel,
                                                      .dropped = waiters_drop,
                                                      .job_ended = cancel_ended,
                                                      .cancel_saved = cancel_saved};

/* --- task.retry --- */

/* Queues a job again that failed, died, expired or was cancelled.  The retry of an fsync job is on
 * disk before it is answered. */

static void serve_retry(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    if (!job || !operation_admit_run(op, job) ||
        (job->durable == DURABLE_FSYNC && !sync_possible(jobs, op)))
        return;
    if (!job_retry(&jobs->sched, job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "task %s is %s: only one that ended otherwise than done is tried again",
                         id_text(job->id, id), job_state_names[job->state]);
        return;
    }
    pack_init(p);
    pack_map(p, 2);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_str(p, "state", job_state_names[job->state]);
    if (job->durable == DURABLE_FSYNC)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

const struct operation_class operation_task_retry = {.method = method_task_retry,
                                                     .serve = serve_retry};

/* --- task.forget --- */

/* False: the operation was answered. */
static bool may_forget(struct jobs *jobs, struct operation *op, struct job *job)
{
    char id[ID_TEXT_SIZE];
    if (job_is(job, JOB_ENDING)) {
        operation_refuse(op, ERGON_E_BUSY,
                         "task %s ends as %s, and that is still being written; try again later",
                         id_text(job->id, id), job_state_names[job->ending]);
        return false;
    }
    if (job_state_open((enum job_state)job->state)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "task %s is %s: only one that has ended is forgotten; task.cancel ends it",
                         id_text(job->id, id), job_state_names[job->state]);
        return false;
    }
    dependencies_finish(&jobs->sched, job);
    if (!retention_may_forget(job)) {
        operation_refuse(op, ERGON_E_BUSY,
                         "an attempt of task %s that was given up has not returned, or its last "
                         "change is still being written; try again later",
                         id_text(job->id, id));
        return false;
    }
    return job->durable != DURABLE_FSYNC || sync_possible(jobs, op);
}

static void serve_forget(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    if (!job || !may_forget(jobs, op, job))
        return;
    bool durable = job->durable == DURABLE_FSYNC;
    pack_init(p);
    pack_map(p, 2);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_bool(p, "forgotten", true);
    retention_forget(&jobs->table, job);
    if (durable)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

const struct operation_class operation_task_forget = {.method = method_task_forget,
                                                      .serve = serve_forget};

/* --- task.change, task.run_now --- */

/* They change the priority and the time of a job that waits.  The change of an fsync job is on disk
 * before it is answered. */

static void answer_change(struct jobs *jobs, struct operation *op, const struct job *job,
                          bool changed)
{
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    bool timed = job_waits(job) && job->due > table_now(&jobs->table);
    pack_init(p);
    pack_map(p, 4);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_str(p, "state", job_state_names[job->state]);
    pack_key_uint(p, "priority", job->priority);
    view_ms(p, "due", timed ? table_wall_of(&jobs->table, job->due) : 0);
    if (changed && job->durable == DURABLE_FSYNC)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

static bool may_change(struct jobs *jobs, struct operation *op, const struct job *job)
{
    return job->durable != DURABLE_FSYNC || sync_possible(jobs, op);
}

/* Takes back a job that was given to an executor and has not begun, so that it waits as before.
 * False: the job does not wait. */
static bool take_back(struct jobs *jobs, struct job *job)
{
    view_stage(jobs, job);
    out_requeue(&jobs->sched, job);
    scheduler_admit(&jobs->sched);
    return job_waits(job);
}

static void serve_change(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->change.id);
    char id[ID_TEXT_SIZE];
    if (!job || !operation_admit_run(op, job))
        return;
    if (!take_back(jobs, job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "task %s is %s: only one that waits can be changed", id_text(job->id, id),
                         job_state_names[job->state]);
    } else if (may_change(jobs, op, job)) {
        job_change(&jobs->sched, job, &op->change.change);
        answer_change(jobs, op, job, true);
    }
}

static void serve_run_now(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->change.id);
    char id[ID_TEXT_SIZE];
    if (!job || !operation_admit_run(op, job))
        return;
    if (!job_is_open(job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS, "task %s has ended; task.retry runs it again",
                         id_text(job->id, id));
    } else if (may_change(jobs, op, job)) {
        bool changed = job_run_now(&jobs->sched, job);
        answer_change(jobs, op, job, changed);
    }
}

const struct operation_class operation_task_change = {.method = method_task_change,
                                                      .serve = serve_change};
const struct operation_class operation_task_run_now = {.method = method_task_run_now,
                                                       .serve = serve_run_now};
