/* task.explain, queue.explain: the reason was recorded when the task came to where it is; what
 * belongs to it is looked up now. */
#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/service/explain.h"

enum { TEXT_MAX = 400 };

/* What stands in the queue has one reason more than was recorded with it: those that count for the
 * whole queue were recorded there. */
static enum job_reason reason_of(struct jobs *jobs, const struct job *job)
{
    struct pick_place at;

    if (job->reason != JOB_WHY_TURN)
        return (enum job_reason)job->reason;
    if (jobs->stopping)
        return JOB_WHY_STOPPING;
    explain_place(jobs, job, &at);
    return jobs->full[job_kind(job)] && at.higher == 0 && at.own == 0 ? JOB_WHY_EXECUTORS
                                                                      : JOB_WHY_TURN;
}

void explain_serve(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_job(jobs, op);
    char id[ID_TEXT_SIZE], text[TEXT_MAX];
    struct pack *p = &op->result;

    if (!job)
        return;
    view_stage(jobs, job);
    enum job_reason reason = reason_of(jobs, job);
    const struct explain_detail *d = &explain_details[reason];
    snprintf(text, sizeof text, "%s", job_reason_meaning(reason));
    if (d->say)
        d->say(jobs, job, text, sizeof text);
    pack_init(p);
    pack_map(p, 5 + d->pairs);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_span(p, "method", job->queue->name);
    pack_key_str(p, "state", job_state_names[job->state]);
    pack_key_str(p, "reason", job_reason_name(reason));
    pack_key_str(p, "text", text);
    if (d->pack)
        d->pack(jobs, job, p);
    operation_finish(jobs, op);
}

/* --- queue.explain --- */

static enum job_reason reason_of_queue(const struct jobs *jobs, const struct job_queue *q)
{
    if (!q->method)
        return JOB_WHY_NO_EXECUTOR;
    if (q->paused)
        return JOB_WHY_PAUSED;
    if (jobs->stopping)
        return JOB_WHY_STOPPING;
    if (jobs->full[q->method->handler->kind == ERGON_STEPPED ? 0 : 1])
        return JOB_WHY_EXECUTORS;
    return JOB_WHY_TURN;
}

static void say_queue(const struct job_queue *q, enum job_reason reason, char *text, size_t size)
{
    uint64_t queued = q->by_state[JOB_QUEUED], waiting = q->by_state[JOB_WAITING];

    if (reason == JOB_WHY_TURN)
        snprintf(text, size,
                 "it flows: %" PRIu64 " queued, %" PRIu64 " held back by something of their own",
                 queued, waiting);
    else if (reason == JOB_WHY_NO_EXECUTOR)
        explain_no_executor(q, text, size);
    else
        snprintf(text, size, "%s%s", job_reason_meaning(reason),
                 q->draining ? "; it drains, and takes no new tasks" : "");
}

void explain_queue_serve(struct jobs *jobs, struct operation *op)
{
    struct job_queue *q = queues_find(jobs, op);
    char text[TEXT_MAX];

    if (!q)
        return;
    queues_look(jobs);
    enum job_reason reason = reason_of_queue(jobs, q);
    enum ergon_kind kind = q->method ? q->method->handler->kind : ERGON_STEPPED;
    say_queue(q, reason, text, sizeof text);
    pack_init(&op->result);
    pack_map(&op->result, QUEUE_PAIRS + 3);
    queues_pack(q, &op->result);
    pack_key_str(&op->result, "reason", job_reason_name(reason));
    pack_key_str(&op->result, "text", text);
    explain_executors(jobs, kind, &op->result);
    operation_finish(jobs, op);
}
