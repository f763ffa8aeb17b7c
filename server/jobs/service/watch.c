/* task.watch: follows the history of a job.  It is answered as soon as there is something to see;
 * or, with `push`, sent event by event and answered at the job's end. */
#include <stdlib.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/past.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/channel.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

static bool is_over(const struct job *job)
{
    return !job_state_open((enum job_state)job->state);
}

/* At most `max` events from `from` on, which is what comes next afterwards. */
static void pack_events(struct operation *op, const struct job *job, struct pack *p)
{
    struct history_event event;
    uint32_t count = 0;

    for (uint32_t seq = op->watch.from; count < op->watch.max && history_get(job, seq, &event);
         seq = event.seq + 1)
        count++;
    pack_str(p, "events");
    pack_array(p, count);
    if (count == 0 && op->watch.max > 0 && op->watch.from < history_next(job))
        op->watch.from = history_next(job); /* what was there is lost */
    for (; count > 0 && history_get(job, op->watch.from, &event);
         count--, op->watch.from = event.seq + 1)
        view_event(&event, p);
}

/* Events behind the submission that were dropped before they were seen. */
static uint32_t missed(const struct operation *op, const struct job *job)
{
    struct history_event event;
    uint32_t from = op->watch.from > 2 ? op->watch.from : 2;
    uint32_t is = history_get(job, from, &event) ? event.seq : history_next(job);
    return is > from ? is - from : 0;
}

static void answer(struct jobs *jobs, struct operation *op)
{
    struct job *job = table_find(&jobs->table, op->watch.id);
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];

    pack_init(p);
    pack_map(p, 5);
    pack_key_str(p, "id", id_text(op->watch.id, id));
    pack_key_uint(p, "missed", job ? missed(op, job) : 0);
    if (job) {
        pack_events(op, job, p);
    } else {
        pack_str(p, "events");
        pack_array(p, 0);
    }
    pack_key_uint(p, "next", op->watch.from);
    pack_key_bool(p, "ended", !job || (is_over(job) && op->watch.from >= history_next(job)));
}

static void finish(struct jobs *jobs, struct operation *op)
{
    answer(jobs, op);
    waiters_leave(op);
    operation_finish(op);
}

/* False without memory: the watcher goes on later from where it was. */
static bool push_event(struct operation *op, const struct job *job,
                       const struct history_event *event)
{
    struct operation_push *push = calloc(1, sizeof *push);
    char id[ID_TEXT_SIZE];

    if (!push)
        return false;
    push->item.kind = ITEM_PUSH;
    push->op = op;
    pack_init(&push->message);
    pack_array(&push->message, 2);
    pack_str(&push->message, id_text(job->id, id));
    view_event(event, &push->message);
    channel_push(op, push);
    return true;
}

/* True: everything that there is was sent. */
static bool push_all(struct operation *op, const struct job *job)
{
    struct history_event event;

    while (history_get(job, op->watch.from, &event)) {
        if (!push_event(op, job, &event))
            return false;
        op->watch.from = event.seq + 1;
    }
    return true;
}

/* A watcher of events that are still to come is not woken by those before them. */
static void follow(struct jobs *jobs, struct operation *op, struct job *job)
{
    bool seen = op->watch.push ? !push_all(op, job) : history_next(job) > op->watch.from;
    if (seen || is_over(job))
        finish(jobs, op);
}

static void serve(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->watch.id);
    if (!job)
        return;
    view_stage(jobs, job);
    history_complete(&jobs->table, job);
    if (op->watch.from == 0)
        op->watch.from = 1;
    if (op->watch.push && !push_all(op, job)) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    if (is_over(job) || history_next(job) > op->watch.from) {
        finish(jobs, op);
        return;
    }
    if (!waiters_join(op, job))
        operation_refuse_plain(op, ERGON_E_MEMORY);
    else if (!waiters_poll(jobs, op, op->watch.timeout))
        finish(jobs, op);
}

const struct operation_class operation_watch = {
    .serve = serve, .dropped = waiters_drop, .overdue = answer, .history_grew = follow};
