/* The queues, one per method: what is in them, and who stops them. */

#include "server/jobs/jobs_parts.h"

enum {
    GO_ON_BUDGET = 256, /* jobs queued again, a step */
    OLDEST_VISITS = 20000
};

/* Made if a module offers the method. */
struct job_queue *queues_find(struct jobs *jobs, struct operation *op)
{
    for (struct job_queue *q = jobs->queues; q; q = q->next)
        if (span_equal(q->name, op->name))
            return q;
    if (!registry_find(jobs->options.registry, op->name)) {
        operation_refuse(jobs, op, ERGON_E_NOT_FOUND,
                         "no method \"%.*s\"; queue.list shows the queues",
                         (int)(op->name.len < 64 ? op->name.len : 64), (const char *)op->name.at);
        return NULL;
    }
    struct job_queue *q = job_queue(jobs, op->name);
    if (!q)
        operation_refuse(jobs, op, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    return q;
}

static const char *kind_name(const struct job_queue *q)
{
    if (!q->method)
        return NULL;
    return q->method->handler->kind == ERGON_STEPPED ? "stepped" : "blocking";
}

/* One walk for all queues; one whose tasks are not among the first is not known. */
static void look_for_oldest(struct jobs *jobs)
{
    uint32_t visits = 0;
    for (struct job_queue *q = jobs->queues; q; q = q->next)
        q->oldest = 0;
    for (struct job *job = jobs->first; job && visits < OLDEST_VISITS;
         job = job->all_next, visits++)
        if (job->queue->oldest == 0 && job_state_open((enum job_state)job->state))
            job->queue->oldest = job->created;
}

void queues_pack(const struct job_queue *q, struct pack *p)
{
    static const enum job_state shown[] = {JOB_QUEUED,   JOB_DELAYED, JOB_WAITING,
                                           JOB_ASSIGNED, JOB_RUNNING, JOB_PARKED};

    pack_key_span(p, "method", q->name);
    pack_key_str(p, "kind", kind_name(q));
    pack_key_bool(p, "paused", q->paused);
    pack_key_bool(p, "draining", q->draining);
    for (unsigned i = 0; i < sizeof shown / sizeof shown[0]; i++)
        pack_key_uint(p, job_state_names[shown[i]], q->by_state[shown[i]]);
    pack_key_uint(p, "submitted", q->submitted);
    pack_key_uint(p, "done", q->done);
    pack_key_uint(p, "failed", q->failed);
    pack_str(p, "oldest");
    if (q->oldest > 0)
        pack_uint(p, q->oldest / AO_MS(1));
    else
        pack_nil(p);
}

/* The stages of what is out, and the ages, are asked only when somebody looks. */
void queues_look(struct jobs *jobs)
{
    for (struct job *job = jobs->outs.first; job; job = job->next)
        view_stage(jobs, job);
    look_for_oldest(jobs);
}

static void list(struct jobs *jobs, struct operation *op)
{
    uint32_t count = 0;

    queues_look(jobs);
    for (const struct job_queue *q = jobs->queues; q; q = q->next)
        count++;
    pack_init(&op->result);
    pack_array(&op->result, count);
    for (const struct job_queue *q = jobs->queues; q; q = q->next) {
        pack_map(&op->result, QUEUE_PAIRS);
        queues_pack(q, &op->result);
    }
    operation_finish(jobs, op);
}

static void answer(struct jobs *jobs, struct operation *op, const struct job_queue *q)
{
    queues_look(jobs);
    pack_init(&op->result);
    pack_map(&op->result, QUEUE_PAIRS);
    queues_pack(q, &op->result);
    operation_finish(jobs, op);
}

/* --- Paused, also after a restart --- */

/* False without memory. */
static bool save(struct jobs *jobs, struct job_queue *q)
{
    enum store_verb verb = q->paused ? STORE_PAUSE : STORE_RESUME;
    struct store_op *write = q->saving ? NULL : codec_write_new(jobs, verb, 0);

    if (!write)
        return q->saving;
    write->owner = q;
    write->queue = q->name; /* stays as long as the ledger */
    q->saving = true;
    store_push(jobs->store, write);
    return true;
}

bool queues_save(struct jobs *jobs)
{
    bool any = false;
    for (struct job_queue *q = jobs->queues; jobs->store && q; q = q->next)
        if (q->paused != q->saved) {
            save(jobs, q);
            any = true;
        }
    return any;
}

static void refuse(struct jobs *jobs, struct operation *op, const struct job_queue *q,
                   enum store_error error)
{
    operation_refuse(jobs, op, ERGON_E_STORE,
                     "the queue is %s now, but until that can be written, a restart forgets it: %s",
                     q->paused ? "paused" : "open", store_error_text(error));
}

static void settle(struct jobs *jobs, struct job_queue *q, enum store_error error)
{
    struct operation *next;
    for (struct operation *op = q->asks; op; op = next) {
        next = op->next;
        if (error == STORE_OK)
            answer(jobs, op, q);
        else
            refuse(jobs, op, q, error);
    }
    q->asks = NULL;
}

/* What was asked meanwhile is written before anybody is told. */
void queues_returned(struct jobs *jobs, struct store_op *write)
{
    struct job_queue *q = write->owner;
    enum store_error error = write->error;

    q->saving = false;
    if (error == STORE_OK) {
        q->saved = write->verb == STORE_PAUSE;
        if (q->saved != q->paused && save(jobs, q))
            return;
        error = q->saved != q->paused ? STORE_MEMORY : STORE_OK;
    }
    settle(jobs, q, error);
}

/* True: the answer comes when it is on disk. */
static bool waits_for_store(struct jobs *jobs, struct job_queue *q, struct operation *op)
{
    if (!jobs->store || (q->saved == q->paused && !q->saving))
        return false;
    op->next = q->asks;
    q->asks = op;
    if (!save(jobs, q))
        settle(jobs, q, STORE_MEMORY);
    return true;
}

static void resume(struct jobs *jobs, struct job_queue *q)
{
    q->paused = false;
    q->draining = false;
    ao_activate(&jobs->ao);
}

/* They had their turn before, so they go before the others, in their order. */
static bool go_on(struct jobs *jobs, struct job_queue *q, int *budget)
{
    while (q->held.first && !q->paused && q->method && --*budget >= 0)
        job_schedule(jobs, job_list_pop(&q->held), true);
    return *budget >= 0;
}

bool queues_go_on(struct jobs *jobs)
{
    int budget = GO_ON_BUDGET;
    for (struct job_queue *q = jobs->queues; q; q = q->next)
        if (!go_on(jobs, q, &budget))
            return false;
    return true;
}

static void change(struct jobs *jobs, struct operation *op)
{
    struct job_queue *q = queues_find(jobs, op);
    if (!q)
        return;
    if (op->verb == OPERATION_QUEUE_PAUSE)
        q->paused = true;
    else if (op->verb == OPERATION_QUEUE_DRAIN)
        q->draining = true;
    else
        resume(jobs, q);
    if (!waits_for_store(jobs, q, op))
        answer(jobs, op, q);
}

void queues_serve(struct jobs *jobs, struct operation *op)
{
    if (op->verb == OPERATION_QUEUE_LIST)
        list(jobs, op);
    else
        change(jobs, op);
}
