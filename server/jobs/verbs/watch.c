/* task.wait, task.watch: long polls on tasks.  task.wait is answered when tasks have ended, all of
 * them or any.  task.watch follows the history of one: it is answered as soon as there are new
 * events; with `push`, events are sent as they are recorded, and it is answered at the job's end.
 */
#include "server/jobs/verbs/watch.h"

#include <assert.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/history_reload.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/accessors.h"
#include "server/jobs/operations/channel.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/verbs/view.h"

enum {
    RESULTS_MAX = 8 << 20, /* bytes of an answer after which results are left out */
    NOTIFICATION = 2,      /* of MessagePack-RPC */
    ID_WORK = 3,           /* to find a job and to join it; see jobs_worked() */
    EVENT_WORK = 4         /* to look up a batch, or to pack an event */
};

static bool has_ended(const struct job *job)
{
    return job && !job_state_open((enum job_state)job->state);
}

/* --- task.wait --- */

static void answer_wait(struct jobs *jobs, struct operation *op)
{
    const struct wait_arguments *wait = &op->wait;
    struct pack *p = &op->reply.result;
    char text[ID_TEXT_SIZE];
    uint32_t ended = 0;
    jobs_worked(jobs, wait->count);
    for (uint32_t i = 0; i < wait->count; i++)
        ended += has_ended(table_find(jobs_table(jobs), wait->ids[i]));
    pack_init(p);
    pack_map(p, 2);
    pack_str(p, "ended");
    pack_array(p, ended);
    for (uint32_t i = 0; i < wait->count; i++) {
        struct job *job = table_find(jobs_table(jobs), wait->ids[i]);
        bool whole = wait->with_result && pack_size(p) < RESULTS_MAX;
        if (has_ended(job))
            view_job(jobs, op, job, whole ? VIEW_RESULT : 0, p);
    }
    pack_str(p, "open");
    pack_array(p, wait->count - ended);
    for (uint32_t i = 0; i < wait->count; i++)
        if (!has_ended(table_find(jobs_table(jobs), wait->ids[i])))
            pack_str(p, id_text(wait->ids[i], text));
}

static void finish_wait(struct jobs *jobs, struct operation *op)
{
    answer_wait(jobs, op);
    waiters_leave(op);
    operation_finish(op);
}

static uint32_t count_open(const struct operation *op)
{
    uint32_t open = 0;
    for (const struct waiter *w = op->waiting.at; w; w = w->next_of_op)
        open += !has_ended(w->job);
    return open;
}

/* `open` may be too low, since a job that had ended may have been retried: when it reaches 0, the
 * jobs are counted again. */
static void wait_job_ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    uint32_t *open = &op->waiting.open;
    (void)job;
    if (*open > 0 && --*open == 0)
        *open = count_open(op);
    if (*open == 0 || op->wait.any)
        waiters_due(jobs, op);
}

static bool knows_all(struct jobs *jobs, struct operation *op)
{
    for (uint32_t i = 0; i < op->wait.count; i++)
        if (!operation_find_job(jobs, op, op->wait.ids[i]))
            return false;
    return true;
}

static void serve_wait(struct jobs *jobs, struct operation *op)
{
    bool memory = true;
    jobs_worked(jobs, ID_WORK * (size_t)op->wait.count);
    if (!knows_all(jobs, op))
        return;
    for (uint32_t i = 0; i < op->wait.count && memory; i++) /* ended jobs, too: so they are kept */
        memory = waiters_join(op, table_find(jobs_table(jobs), op->wait.ids[i]));
    if (!memory) {
        waiters_leave(op);
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    assert(op->waiting.open <= op->wait.count);
    uint32_t all = op->waiting.open, open = count_open(op); /* `all` counts a repeated id once */
    op->waiting.open = open;
    if (open == 0 || (op->wait.any && open < all) || !waiters_poll(jobs, op, op->wait.timeout))
        finish_wait(jobs, op);
}

const struct operation_class operation_task_wait = {.method = method_task_wait,
                                                    .shows_contents = true,
                                                    .serve = serve_wait,
                                                    .dropped = waiters_drop,
                                                    .due = finish_wait,
                                                    .job_ended = wait_job_ended};

/* --- Batches of events --- */

static void pack_notification(struct pack *p, const struct job *job,
                              const struct history_event *event, unsigned sees)
{
    char id[ID_TEXT_SIZE];
    pack_array(p, 3);
    pack_uint(p, NOTIFICATION);
    pack_str(p, "task.event");
    pack_array(p, 2);
    pack_str(p, id_text(job->id, id));
    view_event(event, sees, p);
}

/* Bytes that an event takes at most. */
static size_t bound_of(const struct history_event *event)
{
    enum { AROUND = 192 };
    return AROUND + event->text.len + event->data.len;
}

static struct blob *make_batch(struct jobs *jobs, const struct job *job, uint32_t from,
                               unsigned sees, uint32_t *next)
{
    struct pack p;
    struct history_event event;
    struct blob *events = NULL;
    *next = from;
    pack_init(&p);
    while (history_get(job, *next, &event)) {
        if (p.buffer.size > 0 && p.buffer.size + bound_of(&event) > EVENT_BATCH_BYTES)
            break;
        assert(event.seq >= *next);
        pack_notification(&p, job, &event, sees);
        *next = event.seq + 1;
        jobs_worked(jobs, EVENT_WORK);
    }
    if (!p.failed && p.buffer.size > 0)
        events = blob_copy(pack_bytes(&p));
    pack_fini(&p);
    return events;
}

struct blob *event_batches_get(struct jobs *jobs, struct job *job, uint32_t from, unsigned sees,
                               uint32_t *next)
{
    struct event_batch *b = &jobs_event_batches(jobs)->batches[(job->id ^ from) % EVENT_BATCHES];
    jobs_worked(jobs, EVENT_WORK);
    if (!b->events || b->id != job->id || b->from != from || b->sees != sees) {
        blob_unref(b->events);
        *b = (struct event_batch){.id = job->id, .from = from, .sees = sees};
        b->events = make_batch(jobs, job, from, sees, &b->next);
    }
    *next = b->next;
    return b->events;
}

void event_batches_fini(struct event_batches *all)
{
    for (unsigned i = 0; i < EVENT_BATCHES; i++)
        blob_unref(all->batches[i].events);
    *all = (struct event_batches){0};
}

/* --- task.watch --- */

/* Packs at most `max` events from `from` on, and moves `from` past them. */
static void pack_events(struct operation *op, const struct job *job, struct pack *p)
{
    struct history_event event;
    unsigned sees = operation_sees(op, job);
    uint32_t count = 0;

    for (uint32_t seq = op->watch.from; count < op->watch.max && history_get(job, seq, &event);
         seq = event.seq + 1)
        count++;
    pack_str(p, "events");
    pack_array(p, count);
    if (count == 0 && op->watch.max > 0 && op->watch.from < history_next(job))
        op->watch.from = history_next(job); /* the events in between were dropped */
    for (; count > 0 && history_get(job, op->watch.from, &event);
         count--, op->watch.from = event.seq + 1)
        view_event(&event, sees, p);
}

/* Counts events after the submission that the history dropped before the client got them. */
static uint32_t missed(const struct operation *op, const struct job *job)
{
    struct history_event event;
    uint32_t from = op->watch.from > 2 ? op->watch.from : 2;
    uint32_t is = history_get(job, from, &event) ? event.seq : history_next(job);
    return is > from ? is - from : 0;
}

static void answer_watch(struct jobs *jobs, struct operation *op)
{
    struct job *job = table_find(jobs_table(jobs), op->watch.id);
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
    pack_key_bool(p, "ended", !job || (has_ended(job) && op->watch.from >= history_next(job)));
}

/* While a push is under way, the operation leaves the job and waits for that push alone. */
static void finish_watch(struct jobs *jobs, struct operation *op)
{
    answer_watch(jobs, op);
    waiters_leave(op);
    if (op->watch.pushing)
        op->waiting.held = true;
    else
        operation_finish(op);
}

/* --- task.watch with `push`: a batch of events at a time, the next when the loop has taken it ---
 */

/* False: there is nothing to push, or no memory. */
static bool push_some(struct jobs *jobs, struct operation *op, struct job *job)
{
    uint32_t next;
    struct blob *events =
        event_batches_get(jobs, job, op->watch.from, operation_sees(op, job), &next);
    if (!events)
        return false;
    assert(!op->push.events && next > op->watch.from); /* the last one is back */
    op->push.events = blob_ref(events);
    op->push.from = op->watch.from;
    op->watch.from = next;
    op->watch.pushing = true;
    channel_push(op);
    return true;
}

/* A watcher may ask for events that are not recorded yet; earlier ones are no news to it. */
static bool has_news(const struct operation *op, const struct job *job)
{
    return history_next(job) > op->watch.from;
}

static void watch_due(struct jobs *jobs, struct operation *op)
{
    struct job *job = op->waiting.at->job;
    if (op->watch.pushing && !op->waiting.over)
        return; /* push_taken() calls it again */
    if (op->watch.push && !op->waiting.over && has_news(op, job) && push_some(jobs, op, job))
        return;
    if (op->waiting.over || has_ended(job) || has_news(op, job))
        finish_watch(jobs, op);
}

static void push_taken(struct jobs *jobs, struct operation *op)
{
    assert(op->watch.pushing);
    op->watch.pushing = false;
    if (op->waiting.at) {
        waiters_due(jobs, op);
        return;
    }
    op->waiting.held = false;
    operation_finish(op);
}

static void follow(struct jobs *jobs, struct operation *op, struct job *job)
{
    if (has_news(op, job) || has_ended(job))
        waiters_due(jobs, op);
}

static void serve_watch(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->watch.id);
    if (!job)
        return;
    view_stage(jobs, job);
    history_complete(jobs_table(jobs), job);
    if (op->watch.from == 0)
        op->watch.from = 1;
    if (!op->watch.push && (has_ended(job) || has_news(op, job))) {
        finish_watch(jobs, op);
        return;
    }
    if (!waiters_join(op, job)) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    op->waiting.over = !waiters_poll(jobs, op, op->watch.timeout);
    watch_due(jobs, op);
}

const struct operation_class operation_task_watch = {.method = method_task_watch,
                                                     .shows_contents = true,
                                                     .serve = serve_watch,
                                                     .dropped = waiters_drop,
                                                     .due = watch_due,
                                                     .push_taken = push_taken,
                                                     .history_grew = follow};
