/* task.cancel: a job of which every start is on disk has its cancel on disk, too, before the answer
 * goes out.  Whose end is being committed has ended when that is on disk, and is answered then: a
 * crash before that runs it again. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/service/operation.h"

static void answer(struct operation *op, const struct job *job, bool cancelled)
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

static void refuse(struct operation *op, enum store_error error)
{
    char id[ID_TEXT_SIZE];
    const char *what = op->job.ends     ? "has ended"
                       : op->job.leaves ? "is shared by one less"
                                        : "is cancelled";
    operation_refuse(op, ERGON_E_STORE, "%s %s, but that could not be written: %s",
                     id_text(op->job.id, id), what, store_error_text(error));
}

static void saved(struct jobs *jobs, struct operation *op, struct job *job, enum store_error error)
{
    (void)jobs;
    if (error == STORE_OK && op->job.ends)
        return; /* ended() follows */
    waiters_leave(op);
    if (error == STORE_OK)
        answer(op, job, !op->job.leaves);
    else
        refuse(op, error);
}

static void ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    (void)jobs;
    if (!op->job.ends)
        return; /* saved() follows, or came before */
    waiters_leave(op);
    answer(op, job, false);
}

static void serve(struct jobs *jobs, struct operation *op)
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
        refuse(op, jobs->journal.error);
    else if (!(awaited || op->job.ends) || !waiters_join(op, job))
        answer(op, job, cancelled);
}

const struct operation_class operation_task_cancel = {.method = method_task_cancel,
                                                      .serve = serve,
                                                      .dropped = waiters_drop,
                                                      .job_ended = ended,
                                                      .cancel_saved = saved};
