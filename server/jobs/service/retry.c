/* task.retry: a job that ended otherwise than done is queued again; for an fsync job that is on
 * disk before it is answered. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/service/operation.h"

static void serve(struct jobs *jobs, struct operation *op)
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

const struct operation_class operation_task_retry = {.method = method_task_retry, .serve = serve};
