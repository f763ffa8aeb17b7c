/* task.cancel, task.retry, task.forget, task.change, task.run_now: what is done to a task by its
 * id, or to all tasks that a filter selects. */
#include "server/jobs/verbs/steer.h"

#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/message.h"
#include "server/jobs/life/change.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/verbs/view.h"

/* --- task.cancel --- */

/* The cancel of an fsync job is on disk before it is answered.  If the end of the job is being
 * committed, the answer waits until it is on disk, since a crash before that runs the job again. */

static void answer_cancel(struct operation *op, const struct job *job, bool cancelled)
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

static void refuse_cancel(struct operation *op, enum store_error error)
{
    char id[ID_TEXT_SIZE];
    const char *what = op->job.ends     ? "has ended"
                       : op->job.leaves ? "is shared by one less"
                                        : "is cancelled";
    operation_refuse(op, sync_error(error), "%s %s, but that could not be written: %s",
                     id_text(op->job.id, id), what, store_error_text(error));
}

static void cancel_saved(struct jobs *jobs, struct operation *op, struct job *job,
                         enum store_error error)
{
    (void)jobs;
    if (error == STORE_OK && op->job.ends)
        return; /* cancel_ended() follows */
    waiters_leave(op);
    if (error == STORE_OK)
        answer_cancel(op, job, !op->job.leaves);
    else
        refuse_cancel(op, error);
}

static void cancel_ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    (void)jobs;
    if (!op->job.ends)
        return; /* cancel_saved() follows, or came before */
    assert(!op->job.leaves || durable_is_awaited(job->durable));
    waiters_leave(op);
    answer_cancel(op, job, false);
}

static void serve_cancel(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    if (!job)
        return;
    jobs_worked(jobs, EDGE_WORK * (size_t)dependencies_open(job));
    bool open = job_is_open(job), cancelled = job_cancel(jobs_scheduler(jobs), job);
    op->job.ends = !cancelled && job_is(job, JOB_ENDING);
    op->job.leaves = open && !cancelled;
    bool awaited = (cancelled || op->job.leaves) && durable_is_awaited(job->durable);
    if ((awaited || op->job.ends) && job_is(job, JOB_UNSAVED))
        refuse_cancel(op, jobs_journal(jobs)->error);
    else if (!(awaited || op->job.ends) || !waiters_join(op, job))
        answer_cancel(op, job, cancelled);
}

const struct operation_class operation_task_cancel = {.method = method_task_cancel,
                                                      .serve = serve_cancel,
                                                      .dropped = waiters_drop,
                                                      .job_ended = cancel_ended,
                                                      .cancel_saved = cancel_saved};

/* --- task.retry --- */

/* Queues a job again that failed, died, expired or was cancelled.  The retry of an fsync job is on
 * disk before it is answered. */

static void serve_retry(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    if (!job || !operation_admit_run(op, job) ||
        (durable_is_awaited(job->durable) && !sync_possible(jobs, op)))
        return;
    if (!job_retry(jobs_scheduler(jobs), job)) {
        operation_refuse(
            op, ERGON_E_BAD_PARAMS,
            "task %s is %s: only a failed, dead, expired or cancelled task can be retried",
            id_text(job->id, id), job_state_names[job->state]);
        return;
    }
    /* A message may have ended at once: a read of an actor that is stopped. */
    assert((job_is_open(job) || job->is_message) && job->failures == 0);
    pack_init(p);
    pack_map(p, 2);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_str(p, "state", job_state_names[job->state]);
    if (durable_is_awaited(job->durable))
        sync_answer_job(jobs, op, job);
    else
        operation_finish(op);
}

/* A retry that is repeated might queue it once more: STORE would invite to that. */
static void retry_unwritten(struct jobs *jobs, struct operation *op, enum store_error error)
{
    (void)jobs;
    sync_refuse_unwritten(op, ERGON_E_UNSURE, error);
}

const struct operation_class operation_task_retry = {
    .method = method_task_retry, .serve = serve_retry, .unwritten = retry_unwritten};

/* --- task.forget --- */

/* False: the operation was answered. */
static bool may_forget(struct jobs *jobs, struct operation *op, struct job *job)
{
    char id[ID_TEXT_SIZE];
    if (job_is(job, JOB_ENDING)) {
        operation_refuse(op, ERGON_E_BUSY,
                         "task %s ends as %s, and that is still being written; try again later",
                         id_text(job->id, id), job_state_names[job->ending]);
        return false;
    }
    if (job_state_open((enum job_state)job->state)) {
        operation_refuse(
            op, ERGON_E_BAD_PARAMS,
            "task %s is %s: only a task that has ended can be forgotten; task.cancel ends it",
            id_text(job->id, id), job_state_names[job->state]);
        return false;
    }
    dependencies_finish(jobs_scheduler(jobs), job);
    if (job->more && job->more->readers > 0) {
        operation_refuse(op, ERGON_E_BUSY,
                         "the parameters of an open task name the result of task %s; it can be "
                         "forgotten when that has ended",
                         id_text(job->id, id));
        return false;
    }
    if (!retention_may_forget(job)) {
        operation_refuse(op, ERGON_E_BUSY,
                         "an attempt of task %s that was given up has not returned, or its last "
                         "change is still being written; try again later",
                         id_text(job->id, id));
        return false;
    }
    return !durable_is_awaited(job->durable) || sync_possible(jobs, op);
}

static void serve_forget(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->job.id);
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    if (!job || !may_forget(jobs, op, job))
        return;
    bool durable = durable_is_awaited(job->durable);
    pack_init(p);
    pack_map(p, 2);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_bool(p, "forgotten", true);
    retention_forget(jobs_table(jobs), job);
    if (durable)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

const struct operation_class operation_task_forget = {.method = method_task_forget,
                                                      .serve = serve_forget};

/* --- task.change, task.run_now --- */

/* They change the priority and the time of a job that waits.  The change of an fsync job is on disk
 * before it is answered. */

static void answer_change(struct jobs *jobs, struct operation *op, const struct job *job,
                          bool changed)
{
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];
    bool timed = job_waits(job) && job->due > table_now(jobs_table(jobs));
    pack_init(p);
    pack_map(p, 4);
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_str(p, "state", job_state_names[job->state]);
    pack_key_uint(p, "priority", job->priority);
    view_ms(p, "due", timed ? table_wall_of(jobs_table(jobs), job->due) : 0);
    if (changed && durable_is_awaited(job->durable))
        sync_answer_job(jobs, op, job);
    else
        operation_finish(op);
}

static bool may_change(struct jobs *jobs, struct operation *op, const struct job *job)
{
    return !durable_is_awaited(job->durable) || sync_possible(jobs, op);
}

/* Messages keep their places: those behind it would wait for its time, too. */
static bool has_place(const struct job *job)
{
    return job->is_message && job_message(job)->placed;
}

/* Takes back a job that was given to an executor and has not begun, so that it waits as before.
 * False: the job does not wait. */
static bool take_back(struct jobs *jobs, struct job *job)
{
    view_stage(jobs, job);
    out_requeue(jobs_scheduler(jobs), job);
    scheduler_admit(jobs_scheduler(jobs));
    return job_waits(job);
}

static void serve_change(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->change.id);
    char id[ID_TEXT_SIZE];
    if (!job || !operation_admit_run(op, job))
        return;
    if (!take_back(jobs, job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "task %s is %s: only a task that waits can be changed",
                         id_text(job->id, id), job_state_names[job->state]);
    } else if (op->change.change.timed && has_place(job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "task %s has its place in the mailbox of its actor: it can be cancelled, "
                         "but has no time any more",
                         id_text(job->id, id));
    } else if (may_change(jobs, op, job)) {
        job_change(jobs_scheduler(jobs), job, &op->change.change);
        answer_change(jobs, op, job, true);
    }
}

static void serve_run_now(struct jobs *jobs, struct operation *op)
{
    struct job *job = operation_find_job(jobs, op, op->change.id);
    char id[ID_TEXT_SIZE];
    if (!job || !operation_admit_run(op, job))
        return;
    if (!job_is_open(job)) {
        operation_refuse(op, ERGON_E_BAD_PARAMS, "task %s has ended; task.retry runs it again",
                         id_text(job->id, id));
    } else if (may_change(jobs, op, job)) {
        bool changed = job_run_now(jobs_scheduler(jobs), job);
        answer_change(jobs, op, job, changed);
    }
}

const struct operation_class operation_task_change = {.method = method_task_change,
                                                      .serve = serve_change};
const struct operation_class operation_task_run_now = {.method = method_task_run_now,
                                                       .serve = serve_run_now};

/* --- task.cancel, task.retry, task.forget with a filter --- */

/* A cancel visits the newest jobs first: so the jobs that are next in the queue do not start in
 * place of cancelled ones, and dependants are cancelled before the jobs whose end would fail them.
 * A retry and a forget visit the oldest first, so retried jobs are queued in the order of their
 * submission. */

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

static bool sweep_may_cancel(const struct operation *op, const struct job *job)
{
    (void)op;
    return job_is_open(job);
}

/* Cancels the run for all callers that share it, since the filter selects the task itself. */
static void sweep_cancel(struct jobs *jobs, struct job *job)
{
    if (job->more)
        job->more->waiters = 1;
    job_cancel(jobs_scheduler(jobs), job);
}

static bool sweep_may_retry(const struct operation *op, const struct job *job)
{
    return !job_state_open((enum job_state)job->state) && job->state != JOB_DONE &&
           operation_may_run(op, job);
}

static void sweep_retry(struct jobs *jobs, struct job *job)
{
    job_retry(jobs_scheduler(jobs), job);
}

static bool sweep_may_forget(const struct operation *op, const struct job *job)
{
    (void)op;
    return !job_state_open((enum job_state)job->state);
}

static void sweep_forget(struct jobs *jobs, struct job *job)
{
    retention_forget(jobs_table(jobs), job);
}

static const struct sweep_kind cancels = {true, "cancelled", "tasks were cancelled by a filter",
                                          sweep_may_cancel, sweep_cancel},
                               retries = {false, "retried", "tasks were tried again by a filter",
                                          sweep_may_retry, sweep_retry},
                               forgets = {false, "forgotten", "tasks were forgotten by a filter",
                                          sweep_may_forget, sweep_forget};

/* --- A step of a sweep --- */

/* Releases the dependants that are left; false: the job must not be forgotten yet. */
static bool is_free(struct jobs *jobs, struct job *job)
{
    dependencies_finish(jobs_scheduler(jobs), job);
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
    assert(sweep->done <= sweep->matched);
    int changes = 1 + (int)(dependencies_open(job) / AFTER_CHANGE);
    sweep->durable |= durable_is_awaited(job->durable);
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
    const struct hash_table *all = &jobs_table(jobs)->tenants;
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
static bool sweep_step(struct jobs *jobs, struct operation *op)
{
    struct sweep_arguments *sweep = &op->sweep;
    sweep->visited = sweep->visited || visit_jobs(jobs, op);
    return sweep->visited && (sweep->kind != &forgets || count_names(jobs, op));
}

static void sweep_end(struct jobs *jobs, struct operation *op)
{
    const struct sweep_arguments *sweep = &op->sweep;
    char tenant[64];
    struct pack *p = &op->reply.result;
    snprintf(tenant, sizeof tenant, "%.*s", (int)op->tenant.len, (const char *)op->tenant.at);
    if (!sweep->dry_run)
        log_info(sweep->kind->event, LOG_UINT("tasks", sweep->done), LOG_STR("tenant", tenant));
    walk_end(&jobs_table(jobs)->walks, &op->sweep.walk);
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

static bool store_is_busy(const struct jobs *jobs)
{
    return jobs_journal(jobs)->under_way > WRITES_AHEAD;
}

static struct operation *next_sweep(struct jobs *jobs)
{
    struct operation_item *item = turns_take(jobs_sweeps(jobs));
    assert(!item || ao_of(item, struct operation, item)->sweep.kind);
    return item ? ao_of(item, struct operation, item) : NULL;
}

bool sweep_go_on(struct jobs *jobs)
{
    if (store_is_busy(jobs))
        return true; /* the jobs' next step, when writes have come back, calls this again */
    struct operation *op = next_sweep(jobs);
    if (!op)
        return true;
    if (sweep_step(jobs, op))
        sweep_end(jobs, op);
    else
        turns_put_back(jobs_sweeps(jobs), &op->item);
    turns_charge(jobs_sweeps(jobs), VISITS);
    return turns_empty(jobs_sweeps(jobs));
}

void sweep_stop(struct jobs *jobs)
{
    struct operation *op;
    while ((op = next_sweep(jobs))) {
        turns_charge(jobs_sweeps(jobs), VISITS);
        walk_end(&jobs_table(jobs)->walks, &op->sweep.walk);
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
    turns_fini(jobs_sweeps(jobs));
}

/* --- The operations with a filter --- */

static void sweep_begin(struct jobs *jobs, struct operation *op, const struct sweep_kind *kind)
{
    struct sweep_arguments *sweep = &op->sweep;
    if (!sweep->dry_run && !sync_possible(jobs, op))
        return;
    sweep->kind = kind;
    sweep->now = table_wall(jobs_table(jobs));
    sweep->upto = jobs_table(jobs)->last ? jobs_table(jobs)->last->id : 0;
    walk_begin(&jobs_table(jobs)->walks, &sweep->walk,
               kind->down ? jobs_table(jobs)->last : jobs_table(jobs)->first, kind->down);
    turns_push(jobs_sweeps(jobs), op->turn_queue, &op->item);
    jobs_activate(jobs);
}

static void serve_cancel_matching(struct jobs *jobs, struct operation *op)
{
    sweep_begin(jobs, op, &cancels);
}

static void serve_retry_matching(struct jobs *jobs, struct operation *op)
{
    sweep_begin(jobs, op, &retries);
}

static void serve_forget_matching(struct jobs *jobs, struct operation *op)
{
    sweep_begin(jobs, op, &forgets);
}

const struct operation_class operation_task_cancel_matching = {.method = method_task_cancel,
                                                               .serve = serve_cancel_matching};
const struct operation_class operation_task_retry_matching = {
    .method = method_task_retry, .serve = serve_retry_matching, .unwritten = retry_unwritten};
const struct operation_class operation_task_forget_matching = {.method = method_task_forget,
                                                               .serve = serve_forget_matching};
