/* task.cancel, task.retry, task.forget with a filter.
 *
 * A cancel visits the newest jobs first: so the jobs that are next in the queue do not start in
 * place of cancelled ones, and dependants are cancelled before the jobs whose end would fail them.
 * A retry and a forget visit the oldest first, so retried jobs are queued in the order of their
 * submission. */
#include "server/jobs/service/sweep.h"

#include "base/log.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

enum {
    VISITS = 2000,      /* jobs visited in a step, at most */
    CHANGES = 128,      /* jobs changed in a step, at most */
    AFTER_CHANGE = 16,  /* open dependencies of a job that take as long to drop as a change */
    WRITES_AHEAD = 4096 /* writes under way above which sweeps pause, since each takes memory */
};

struct sweep_kind {
    bool down;
    const char *did;   /* the key of its count in the answer */
    const char *event; /* in the log */
    bool (*may)(const struct operation *op, const struct job *job);
    void (*change)(struct jobs *jobs, struct job *job);
};

/* --- The kinds --- */

static bool may_cancel(const struct operation *op, const struct job *job)
{
    (void)op;
    return job_is_open(job);
}

/* Cancels the run for all callers that share it, since the filter selects the task itself. */
static void cancel(struct jobs *jobs, struct job *job)
{
    if (job->more)
        job->more->waiters = 1;
    job_cancel(&jobs->sched, job);
}

static bool may_retry(const struct operation *op, const struct job *job)
{
    return !job_state_open((enum job_state)job->state) && job->state != JOB_DONE &&
           operation_may_run(op, job);
}

static void retry(struct jobs *jobs, struct job *job)
{
    job_retry(&jobs->sched, job);
}

static bool may_forget(const struct operation *op, const struct job *job)
{
    (void)op;
    return !job_state_open((enum job_state)job->state);
}

static void forget(struct jobs *jobs, struct job *job)
{
    retention_forget(&jobs->table, job);
}

static const struct sweep_kind cancels = {true, "cancelled", "tasks were cancelled by a filter",
                                          may_cancel, cancel},
                               retries = {false, "retried", "tasks were tried again by a filter",
                                          may_retry, retry},
                               forgets = {false, "forgotten", "tasks were forgotten by a filter",
                                          may_forget, forget};

/* --- A step --- */

/* Releases the dependants that are left; false: the job must not be forgotten yet. */
static bool is_free(struct jobs *jobs, struct job *job)
{
    dependencies_finish(&jobs->sched, job);
    return retention_may_forget(job);
}

/* Returns how many changes it counts as. */
static int visit(struct jobs *jobs, struct operation *op, struct job *job)
{
    struct sweep_arguments *sweep = &op->sweep;
    if (!filter_fits(jobs, op, &sweep->filter, job, sweep->now))
        return 0;
    operation_meet(op, job);
    sweep->matched++;
    if (!sweep->kind->may(op, job) || (sweep->kind == &forgets && !is_free(jobs, job)))
        return 0;
    sweep->done++;
    if (sweep->dry_run)
        return 0;
    int changes = 1 + (int)(dependencies_open(job) / AFTER_CHANGE);
    sweep->durable |= job->durable == DURABLE_FSYNC;
    sweep->kind->change(jobs, job);
    return changes;
}

/* True: it has visited all jobs. */
static bool visit_jobs(struct jobs *jobs, struct operation *op)
{
    struct sweep_arguments *sweep = &op->sweep;
    int changes = CHANGES;
    for (int visits = VISITS; visits > 0 && changes > 0; visits--) {
        struct job *job = walk_next(&sweep->walk);
        if (!job || job->id > sweep->upto)
            return true;
        changes -= visit(jobs, op, job);
    }
    return false;
}

/* Counts the limits and rates of tenants that the filter selects and the caller may know of.  A
 * tenant that a growing table moves to a later bucket may be counted twice.  True: it has visited
 * all buckets. */
static bool count_names(struct jobs *jobs, struct operation *op)
{
    const struct hash_table *all = &jobs->table.tenants;
    struct sweep_arguments *sweep = &op->sweep;
    for (int visits = VISITS; sweep->bucket < all->size && visits > 0; sweep->bucket++, visits--)
        for (struct hash_link *l = all->buckets[sweep->bucket]; l; l = l->next, visits--) {
            const struct tenant *t = (const struct tenant *)l;
            bool is_meant = filter_fits_name(sweep->filter.tenant, t->name) &&
                            operation_may_object(op, &(struct rights_object){.tenant = t->name});
            sweep->limits += is_meant ? t->limits : 0;
            sweep->rates += is_meant ? t->rates : 0;
        }
    return sweep->bucket >= all->size;
}

/* True: there is nothing left to do. */
static bool step(struct jobs *jobs, struct operation *op)
{
    struct sweep_arguments *sweep = &op->sweep;
    sweep->visited = sweep->visited || visit_jobs(jobs, op);
    return sweep->visited && (sweep->kind != &forgets || count_names(jobs, op));
}

static void end(struct jobs *jobs, struct operation *op)
{
    const struct sweep_arguments *sweep = &op->sweep;
    char who[64];
    struct pack *p = &op->reply.result;
    snprintf(who, sizeof who, "%.*s", (int)op->tenant.len, (const char *)op->tenant.at);
    if (!sweep->dry_run)
        log_info(sweep->kind->event, LOG_UINT("tasks", sweep->done), LOG_STR("tenant", who));
    walk_end(&jobs->table.walks, &op->sweep.walk);
    pack_init(p);
    pack_map(p, sweep->kind == &forgets ? 5 : 3);
    pack_key_uint(p, "matched", sweep->matched);
    pack_key_uint(p, sweep->kind->did, sweep->done);
    pack_key_bool(p, "dry_run", sweep->dry_run);
    if (sweep->kind == &forgets) {
        pack_key_uint(p, "limits", sweep->limits);
        pack_key_uint(p, "rates", sweep->rates);
    }
    if (sweep->durable)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

static bool is_full(const struct jobs *jobs)
{
    return jobs->journal.under_way > WRITES_AHEAD;
}

static struct operation *next_of(struct jobs *jobs)
{
    struct operation_item *item = turns_take(&jobs->sweeps);
    return item ? ao_of(item, struct operation, item) : NULL;
}

bool sweep_go_on(struct jobs *jobs)
{
    if (is_full(jobs))
        return true; /* the jobs' next step, when writes have come back, calls this again */
    struct operation *op = next_of(jobs);
    if (!op)
        return true;
    if (step(jobs, op))
        end(jobs, op);
    else
        turns_put_back(&jobs->sweeps, &op->item);
    turns_charge(&jobs->sweeps, VISITS);
    return turns_empty(&jobs->sweeps);
}

void sweep_stop(struct jobs *jobs)
{
    struct operation *op;
    while ((op = next_of(jobs))) {
        turns_charge(&jobs->sweeps, VISITS);
        walk_end(&jobs->table.walks, &op->sweep.walk);
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
    turns_fini(&jobs->sweeps);
}

/* --- The operations --- */

static void begin(struct jobs *jobs, struct operation *op, const struct sweep_kind *kind)
{
    struct sweep_arguments *sweep = &op->sweep;
    if (!sweep->dry_run && !sync_possible(jobs, op))
        return;
    sweep->kind = kind;
    sweep->now = table_wall(&jobs->table);
    sweep->upto = jobs->table.last ? jobs->table.last->id : 0;
    walk_begin(&jobs->table.walks, &sweep->walk, kind->down ? jobs->table.last : jobs->table.first,
               kind->down);
    turns_push(&jobs->sweeps, op->line, &op->item);
    ao_activate(&jobs->ao);
}

static void serve_cancel(struct jobs *jobs, struct operation *op)
{
    begin(jobs, op, &cancels);
}

static void serve_retry(struct jobs *jobs, struct operation *op)
{
    begin(jobs, op, &retries);
}

static void serve_forget(struct jobs *jobs, struct operation *op)
{
    begin(jobs, op, &forgets);
}

const struct operation_class operation_task_cancel_matching = {.method = method_task_cancel,
                                                               .serve = serve_cancel};
const struct operation_class operation_task_retry_matching = {.method = method_task_retry,
                                                              .serve = serve_retry};
const struct operation_class operation_task_forget_matching = {.method = method_task_forget,
                                                               .serve = serve_forget};
