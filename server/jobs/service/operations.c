/* Asks, by verb. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/jobs/jobs_parts.h"

/* --- task.cancel --- */

static void answer_cancel(struct jobs *jobs, struct operation *op, const struct job *job,
                          bool cancelled)
{
    char id[ID_TEXT_SIZE];
    pack_init(&op->result);
    pack_map(&op->result, 3);
    pack_key_str(&op->result, "id", id_text(job->id, id));
    pack_key_str(&op->result, "state", job_state_names[job->state]);
    pack_key_bool(&op->result, "cancelled", cancelled);
    operation_finish(jobs, op);
}

static void refuse_cancel(struct jobs *jobs, struct operation *op, enum store_error error)
{
    char id[ID_TEXT_SIZE];
    operation_refuse(jobs, op, ERGON_E_STORE, "%s is cancelled, but that could not be written: %s",
                     id_text(op->ids[0], id), store_error_text(error));
}

/* Of a task whose every start is on disk the wish that it ends is, too, before anybody is told. */
static void cancel_serve(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_job(jobs, op);
    if (!job)
        return;
    bool cancelled = job_cancel(jobs, job), awaited = cancelled && job->durable == DURABLE_FSYNC;
    if (awaited && job_is(job, JOB_UNSAVED))
        refuse_cancel(jobs, op, jobs->store_error);
    else if (!awaited || job->pending == 0 || !wait_join(jobs, op, job))
        answer_cancel(jobs, op, job, cancelled);
}

void cancel_saved(struct jobs *jobs, struct job *job, enum store_error error)
{
    struct operation_wait *next;
    for (struct operation_wait *w = job->waits; w; w = next) {
        struct operation *op = w->op;
        next = w->next_of_entry;
        if (op->verb != OPERATION_CANCEL)
            continue;
        wait_leave(jobs, op);
        if (error == STORE_OK)
            answer_cancel(jobs, op, job, true);
        else
            refuse_cancel(jobs, op, error);
    }
}

/* --- The others --- */

static void retry_serve(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_job(jobs, op);
    char id[ID_TEXT_SIZE];
    if (!job)
        return;
    if (!job_retry(jobs, job)) {
        operation_refuse(jobs, op, ERGON_E_BAD_PARAMS,
                         "task %s is %s: only one that ended otherwise than done is tried again",
                         id_text(job->id, id), job_state_names[job->state]);
        return;
    }
    pack_init(&op->result);
    pack_map(&op->result, 2);
    pack_key_str(&op->result, "id", id_text(job->id, id));
    pack_key_str(&op->result, "state", job_state_names[job->state]);
    operation_finish(jobs, op);
}

void operation_serve(struct jobs *jobs, struct operation *op)
{
    static void (*const verbs[])(struct jobs * jobs, struct operation * op) = {
        [OPERATION_SUBMIT] = submit_serve,      [OPERATION_SUBMIT_MANY] = submit_serve,
        [OPERATION_CALL] = submit_serve,        [OPERATION_GET] = view_serve,
        [OPERATION_WAIT] = wait_serve,          [OPERATION_WATCH] = watch_serve,
        [OPERATION_CANCEL] = cancel_serve,      [OPERATION_RETRY] = retry_serve,
        [OPERATION_LIST] = list_serve,          [OPERATION_EXPLAIN] = explain_serve,
        [OPERATION_QUEUE_LIST] = queues_serve,  [OPERATION_QUEUE_EXPLAIN] = explain_queue_serve,
        [OPERATION_QUEUE_PAUSE] = queues_serve, [OPERATION_QUEUE_RESUME] = queues_serve,
        [OPERATION_QUEUE_DRAIN] = queues_serve, [OPERATION_CRON_PUT] = crons_serve,
        [OPERATION_CRON_LIST] = crons_serve,    [OPERATION_CRON_DELETE] = crons_serve,
        [OPERATION_AUDIT] = audit_serve,
    };
    verbs[op->verb](jobs, op);
}

void operation_refuse(struct jobs *jobs, struct operation *op, enum ergon_error error,
                      const char *format, ...)
{
    va_list args;
    op->error = error;
    va_start(args, format);
    vsnprintf(op->text, sizeof op->text, format, args);
    va_end(args);
    operation_finish(jobs, op);
}

void operation_finish(struct jobs *jobs, struct operation *op)
{
    (void)jobs;
    assert(!op->held);
    if (op->result.failed && op->error == ERGON_OK) {
        op->error = ERGON_E_MEMORY;
        snprintf(op->text, sizeof op->text, "%s", error_meaning(ERGON_E_MEMORY));
    }
    channel_return(op);
}

bool operation_may_know(const struct operation *op, const struct job *job)
{
    return !op->confined || span_equal(job->tenant->name, op->principal);
}

struct job *operation_job(struct jobs *jobs, struct operation *op)
{
    struct job *job = jobs_find(jobs, op->ids[0]);
    char id[ID_TEXT_SIZE];
    if (job && operation_may_know(op, job))
        return job;
    operation_refuse(jobs, op, ERGON_E_NOT_FOUND, "no task %s: it never was, or was forgotten",
                     id_text(op->ids[0], id));
    return NULL;
}
