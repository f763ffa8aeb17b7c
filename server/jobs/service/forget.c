/* task.forget: a job that has ended is forgotten before its time. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/service/operation.h"

/* False: the operation was answered. */
static bool may(struct jobs *jobs, struct operation *op, struct job *job)
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

static void serve(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    if (!job || !may(jobs, op, job))
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

const struct operation_class operation_task_forget = {.method = method_task_forget, .serve = serve};
