/* task.change, task.run_now: the priority and the time of a job that waits; for an fsync job that
 * is on disk before it is answered. */
#include "server/jobs/life/change.h"

#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

static void answer(struct jobs *jobs, struct operation *op, const struct job *job, bool changed)
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

static bool may(struct jobs *jobs, struct operation *op, const struct job *job)
{
    return job->durable != DURABLE_FSYNC || sync_possible(jobs, op);
}

/* What has been given to an executor and has not begun is taken back: it waits as before. */
static bool waits(struct jobs *jobs, struct job *job)
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
    if (!waits(jobs, job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "task %s is %s: only one that waits can be changed", id_text(job->id, id),
                         job_state_names[job->state]);
    } else if (may(jobs, op, job)) {
        job_change(&jobs->sched, job, &op->change.change);
        answer(jobs, op, job, true);
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
    } else if (may(jobs, op, job)) {
        bool changed = job_run_now(&jobs->sched, job);
        answer(jobs, op, job, changed);
    }
}

const struct operation_class operation_task_change = {.method = method_task_change,
                                                      .serve = serve_change};
const struct operation_class operation_task_run_now = {.method = method_task_run_now,
                                                       .serve = serve_run_now};
