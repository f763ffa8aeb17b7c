/* queue.*: shows, pauses, drains and resumes the queues, one per method. */
#include "server/jobs/verbs/queues.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/pool_rest.h"
#include "server/jobs/verbs/explain.h"
#include "server/jobs/verbs/explain.h"
#include "server/jobs/verbs/view.h"

enum {
    PAIRS = 15,    /* in the map of a queue */
    SHOW_WORK = 10 /* see jobs_worked() */
};

/* Finds the queue that the operation names, or makes it if a module offers the method.  NULL: the
 * operation was answered DENIED, NOT_FOUND, or MEMORY. */
static struct job_queue *find(struct jobs *jobs, struct operation *op)
{
    if (!operation_may_queue(op, op->named.name)) {
        operation_refuse(
            op, ERGON_E_DENIED,
            "this queue is not among those of the role that allows %s: its `queues` have "
            "to name it",
            op->cls->method);
        return NULL;
    }
    struct job_queue *q = table_queue_find(jobs_table(jobs), op->named.name);
    if (q)
        return q;
    if (!registry_find(jobs_options(jobs)->registry, op->named.name)) {
        operation_refuse(op, ERGON_E_NOT_FOUND, "no method \"%.*s\"; queue.list shows the queues",
                         (int)(op->named.name.len < 64 ? op->named.name.len : 64),
                         (const char *)op->named.name.at);
        return NULL;
    }
    q = table_queue(jobs_table(jobs), op->named.name);
    if (!q)
        operation_refuse_plain(op, ERGON_E_MEMORY);
    return q;
}

static const char *kind_name(const struct job_queue *q)
{
    return q->method ? method_kind(q->method) : NULL;
}

static void pack_queue(const struct job_queue *q, struct pack *p)
{
    static const enum job_state shown[] = {JOB_QUEUED,   JOB_DELAYED, JOB_WAITING,
                                           JOB_ASSIGNED, JOB_RUNNING, JOB_PARKED};

    pack_key_span(p, "method", q->name);
    pack_key_str(p, "kind", kind_name(q));
    pack_key_bool(p, "paused", q->paused);
    pack_key_bool(p, "draining", q->draining);
    pack_key_bool(p, "secret", q->secret);
    for (unsigned i = 0; i < sizeof shown / sizeof shown[0]; i++)
        pack_key_uint(p, job_state_names[shown[i]], counter_read(&q->by_state[shown[i]]));
    pack_key_uint(p, "submitted", counter_read(&q->submitted));
    pack_key_uint(p, "done", counter_read(&q->done));
    pack_key_uint(p, "failed", counter_read(&q->failed));
    view_ms(p, "oldest", counter_read(&q->open.oldest));
}

static void begin_list(struct jobs *jobs, struct operation *op)
{
    op->begun = true;
    op->queues = (struct queue_list_arguments){.next = jobs_table(jobs)->queues};
    out_show_all(jobs_scheduler(jobs));
    view_list_begin(&op->reply.result);
}

/* Queues live as long as the jobs, and new queues are appended, so `next` stays valid. */
static bool serve_list(struct jobs *jobs, struct operation *op)
{
    uint32_t begun = jobs_work(jobs);

    if (!op->begun)
        begin_list(jobs, op);
    struct queue_list_arguments *a = &op->queues;
    for (; a->next && jobs_work(jobs) - begun < TURN_WORK; a->next = a->next->next) {
        bool shown = operation_may_queue(op, a->next->name);
        jobs_worked(jobs, shown ? SHOW_WORK : 1);
        a->count += shown;
        if (!shown)
            continue;
        pack_map(&op->reply.result, PAIRS);
        pack_queue(a->next, &op->reply.result);
    }
    if (a->next)
        return false;
    view_list_end(&op->reply.result, a->count);
    operation_finish(op);
    return true;
}

static void answer(struct jobs *jobs, struct operation *op, const struct job_queue *q)
{
    out_show_all(jobs_scheduler(jobs));
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, PAIRS);
    pack_queue(q, &op->reply.result);
    operation_finish(op);
}

/* --- Whether it is paused, drained, or offered by workers is kept in the store --- */

static void saved(struct jobs *jobs, struct store_op *write);

/* The store has the time of the last offer to the hour only, since workers may come and go each
 * second. */
static bool offer_is_saved(const struct job_queue *q)
{
    const ao_time hour = AO_S(3600);
    uint64_t at = q->offer.at, said = q->saved_offer;
    return (at > 0) == (said > 0) && (at < said || at - said < hour);
}

static bool is_saved(const struct job_queue *q)
{
    return q->saved_paused == q->paused && q->saved_draining == q->draining &&
           q->saved_secret == q->secret && offer_is_saved(q);
}

/* False: no memory; it is written later. */
static bool save(struct jobs *jobs, struct job_queue *q)
{
    bool says = q->paused || q->draining || q->secret || q->offer.at > 0;
    enum store_kind kind = says ? STORE_ROW_PUT : STORE_ROW_REMOVE;
    struct store_op *write = q->saving ? NULL : codec_row_new(jobs, kind, &store_queues, 0, saved);

    if (!write && !q->saving)
        journal_try_later(jobs);
    if (!write)
        return q->saving;
    write->owner = q;
    *(struct store_queue *)write->row =
        (struct store_queue){.method = q->name, /* stays as long as the jobs */
                             .paused = q->paused,
                             .draining = q->draining,
                             .secret = q->secret,
                             .offered_at = q->offer.at};
    q->saving = true;
    store_push(jobs_store(jobs), write);
    return true;
}

void queues_remember(struct jobs *jobs, struct job_queue *q)
{
    if (jobs_store(jobs) && !is_saved(q))
        save(jobs, q);
}

void queues_set_secret(struct jobs *jobs, struct job_queue *q, bool secret)
{
    if (q->secret != secret)
        log_info(secret ? "parameters of a method are secret now"
                        : "parameters of a method are not secret any more",
                 LOG_STR("method", (const char *)q->name.at));
    q->secret = secret;
    queues_remember(jobs, q);
}

bool queues_handler_hides(const struct method *m)
{
    return !method_of_workers(m) && m->handler->flags & ERGON_SECRET_PARAMS;
}

/* A handler that only this process has decides alone: so it can take back what an earlier version
 * of its module said. */
void queues_mark_handlers(struct jobs *jobs)
{
    const struct registry *r = jobs_options(jobs)->registry;
    for (uint32_t i = 0; i < registry_count(r); i++) {
        const struct method *m = registry_at(r, i);
        if (!m || method_of_workers(m))
            continue;
        bool secret = queues_handler_hides(m);
        struct job_queue *q = secret ? table_queue(jobs_table(jobs), m->name)
                                     : table_queue_find(jobs_table(jobs), m->name);
        if (q && q->secret != secret && (secret || !(m->joined || m->spread)))
            queues_set_secret(jobs, q, secret);
    }
}

bool queues_save(struct jobs *jobs)
{
    bool any = false;
    for (struct job_queue *q = jobs_table(jobs)->queues; jobs_store(jobs) && q; q = q->next)
        if (!is_saved(q)) {
            save(jobs, q);
            any = true;
        }
    return any;
}

static void refuse(struct operation *op, const struct job_queue *q, enum store_error error)
{
    operation_refuse(op, sync_error(error),
                     "the queue is %s now, but until it can be written, a restart forgets it: %s",
                     q->paused     ? "paused"
                     : q->draining ? "draining"
                                   : "open",
                     store_error_text(error));
}

static void settle(struct jobs *jobs, struct job_queue *q, enum store_error error)
{
    struct operation *next;
    for (struct operation *op = q->operations; op; op = next) {
        next = op->next;
        if (error == STORE_OK)
            answer(jobs, op, q);
        else
            refuse(op, q, error);
    }
    q->operations = NULL;
}

/* What changed meanwhile is written before any operation is answered. */
static void saved(struct jobs *jobs, struct store_op *write)
{
    struct job_queue *q = write->owner;
    enum store_error error = write->error;

    assert(q->saving); /* one write of a queue at a time */
    journal_notice(jobs, write);
    q->saving = false;
    if (error == STORE_OK) {
        q->saved_paused = ((struct store_queue *)write->row)->paused;
        q->saved_draining = ((struct store_queue *)write->row)->draining;
        q->saved_secret = ((struct store_queue *)write->row)->secret;
        q->saved_offer = ((struct store_queue *)write->row)->offered_at;
        if (!is_saved(q) && save(jobs, q))
            return;
        error = is_saved(q) ? STORE_OK : STORE_MEMORY;
    }
    settle(jobs, q, error);
}

/* True: the operation is answered when the state is on disk. */
static bool waits_for_store(struct jobs *jobs, struct job_queue *q, struct operation *op)
{
    if (!jobs_store(jobs) || (is_saved(q) && !q->saving))
        return false;
    op->next = q->operations;
    q->operations = op;
    if (!save(jobs, q))
        settle(jobs, q, STORE_MEMORY);
    return true;
}

static void answer_when_saved(struct jobs *jobs, struct operation *op, struct job_queue *q)
{
    if (!waits_for_store(jobs, q, op))
        answer(jobs, op, q);
}

void queues_stop(struct jobs *jobs)
{
    struct operation *next;
    for (struct job_queue *q = jobs_table(jobs)->queues; q; q = q->next) {
        for (struct operation *op = q->operations; op; op = next) {
            next = op->next;
            operation_refuse_plain(op, ERGON_E_DRAINING);
        }
        q->operations = NULL;
    }
}

/* Adds an event to the feed, unless the queue is in that state already. */
static void feed_queue(struct jobs *jobs, const struct job_queue *q, enum feed_kind kind,
                       bool is_so)
{
    if (!is_so)
        feed_add_queue(&jobs_table(jobs)->feed, q, kind, table_wall(jobs_table(jobs)));
}

static void serve_pause(struct jobs *jobs, struct operation *op)
{
    struct job_queue *q = find(jobs, op);
    if (!q)
        return;
    feed_queue(jobs, q, FEED_QUEUE_PAUSED, q->paused);
    q->paused = true;
    out_recall_queue(jobs_scheduler(jobs), q); /* from here on none of its jobs begins */
    scheduler_admit(jobs_scheduler(jobs));
    answer_when_saved(jobs, op, q);
}

static void serve_drain(struct jobs *jobs, struct operation *op)
{
    struct job_queue *q = find(jobs, op);
    if (!q)
        return;
    feed_queue(jobs, q, FEED_QUEUE_DRAINING, q->draining);
    q->draining = true;
    answer_when_saved(jobs, op, q);
}

static void serve_resume(struct jobs *jobs, struct operation *op)
{
    struct job_queue *q = find(jobs, op);
    if (!q)
        return;
    feed_queue(jobs, q, FEED_QUEUE_RESUMED, !q->paused && !q->draining);
    q->paused = q->draining = false;
    scheduler_move(jobs_scheduler(jobs), q);
    /* At once, since some of the jobs that were held may precede all jobs of the queue. */
    if (!scheduler_go_on(jobs_scheduler(jobs)))
        jobs_activate(jobs);
    answer_when_saved(jobs, op, q);
}

/* --- queue.explain --- */

static enum job_reason reason_of_queue(const struct jobs *jobs, const struct job_queue *q)
{
    if (!queue_is_served(q))
        return JOB_WHY_NO_EXECUTOR;
    if (q->paused)
        return JOB_WHY_PAUSED;
    if (jobs_scheduler(jobs)->stopping)
        return JOB_WHY_STOPPING;
    const struct pool_jobs *pool = pool_table_find(&jobs_scheduler(jobs)->pools, queue_pool(q));
    if (pool && (pool->full || pool_rests(pool)))
        return JOB_WHY_EXECUTORS;
    return JOB_WHY_TURN;
}

static void say_queue(const struct jobs *jobs, const struct job_queue *q, enum job_reason reason,
                      char *text, size_t size)
{
    uint64_t queued = counter_read(&q->by_state[JOB_QUEUED]);
    uint64_t waiting = counter_read(&q->by_state[JOB_WAITING]);

    if (reason == JOB_WHY_TURN)
        snprintf(text, size,
                 "it is served: %" PRIu64 " queued, %" PRIu64
                 " held back by something of their own",
                 queued, waiting);
    else if (reason == JOB_WHY_NO_EXECUTOR)
        explain_no_executor(jobs, q, text, size);
    else if (reason == JOB_WHY_EXECUTORS && explain_rest(jobs, q, text, size))
        return;
    else
        snprintf(text, size, "%s%s", job_reason_meaning(reason),
                 q->draining ? "; it drains, and takes no new tasks" : "");
}

static void serve_explain(struct jobs *jobs, struct operation *op)
{
    struct job_queue *q = find(jobs, op);
    char text[EXPLAIN_TEXT_MAX];

    if (!q)
        return;
    out_show_all(jobs_scheduler(jobs));
    enum job_reason reason = reason_of_queue(jobs, q);
    say_queue(jobs, q, reason, text, sizeof text);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, PAIRS + 3);
    pack_queue(q, &op->reply.result);
    pack_key_str(&op->reply.result, "reason", job_reason_name(reason));
    pack_key_str(&op->reply.result, "text", text);
    explain_executors(jobs, q, &(struct viewer){.op = op}, &op->reply.result);
    operation_finish(op);
}

const struct operation_class operation_queue_list = {.method = method_queue_list,
                                                     .serve_part = serve_list};
const struct operation_class operation_queue_explain = {.method = method_queue_explain,
                                                        .serve = serve_explain};
const struct operation_class operation_queue_pause = {.method = method_queue_pause,
                                                      .serve = serve_pause};
const struct operation_class operation_queue_resume = {.method = method_queue_resume,
                                                       .serve = serve_resume};
const struct operation_class operation_queue_drain = {.method = method_queue_drain,
                                                      .serve = serve_drain};

/* --- queue.tenants --- */

enum { VISITS = 10000 /* tenants visited for one page at most, so that it comes soon */ };

/* A caller whose role covers a tenant sees all that the tenant holds. */
static bool may_see(const struct operation *op, const struct tenant *t)
{
    return t->jobs > 0 && operation_may_object(op, &(struct rights_object){.tenant = t->name});
}

static void pack_tenant(struct pack *p, const struct tenant *t)
{
    pack_map(p, 9);
    pack_key_span(p, "tenant", t->name);
    pack_key_uint(p, "weight", t->weight);
    pack_key_uint(p, "open", t->open);
    pack_key_uint(p, "open_bytes", t->open_bytes);
    pack_key_uint(p, "ended", t->kept.jobs[KEPT_WELL].count + t->kept.jobs[KEPT_BADLY].count);
    pack_key_uint(p, "ended_badly", t->kept.jobs[KEPT_BADLY].count);
    pack_key_uint(p, "ended_bytes", kept_bytes(t->kept.bytes));
    pack_key_uint(p, "limits", t->limits);
    pack_key_uint(p, "rates", t->rates);
}

/* Packs what each tenant holds, a page at a time.  The cursor is the number of a bucket.  When the
 * table grows, tenants move only to later buckets: so a tenant that exists all the time is on some
 * page, and may be on two. */
static void serve(struct jobs *jobs, struct operation *op)
{
    const struct hash_table *all = &jobs_table(jobs)->tenants;
    struct pack tenants;
    uint32_t found = 0, visits = 0;
    uint64_t at = op->list.cursor;
    char next[24];

    pack_init(&tenants);
    for (; at < all->size && visits < VISITS && tenants.buffer.size < LIST_BYTES_MAX;
         at++, visits++)
        for (struct hash_link *l = all->buckets[at]; l; l = l->next, visits++)
            if (may_see(op, (const struct tenant *)l)) {
                pack_tenant(&tenants, (const struct tenant *)l);
                found++;
            }
    jobs_worked(jobs, visits);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_str(&op->reply.result, "tenants");
    pack_array(&op->reply.result, found);
    pack_raw(&op->reply.result, pack_bytes(&tenants));
    op->reply.result.failed |= tenants.failed;
    snprintf(next, sizeof next, "%" PRIu64, at);
    pack_key_str(&op->reply.result, "next", at < all->size ? next : NULL);
    pack_fini(&tenants);
    operation_finish(op);
}

const struct operation_class operation_queue_tenants = {.method = method_queue_tenants,
                                                        .serve = serve};
