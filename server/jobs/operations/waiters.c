#include "server/jobs/operations/waiters.h"

#include <assert.h>
#include <stdlib.h>

#include "base/prefetch.h"
#include "server/jobs/accessors.h"
#include "server/jobs/operations/channel.h"
#include "server/jobs/operations/operation.h"

enum {
    DUE_WORK = 30,   /* for each, beside what its class and its answer count; see jobs_worked() */
    GROWTH_WORK = 10 /* for each waiter that is notified of a history */
};

/* --- Joining and leaving --- */

/* True if the operation was the last to join the job.  A batch that is taken in parts may join a
 * job again after another operation has: then it is in the job's list twice. */
static bool joined_last(const struct operation *op, const struct job *job)
{
    return job->waits && job->waits->op == op;
}

bool waiters_join(struct operation *op, struct job *job)
{
    struct waiting *waiting = &op->waiting;
    assert(op->channel && !waiting->due.next); /* one that is due was answered, or waits on */
    if (joined_last(op, job))
        return true;
    struct waiter *w = waiting->at ? malloc(sizeof *w) : &op->first_waiter;
    if (!w)
        return false;
    *w =
        (struct waiter){.op = op, .job = job, .next_of_job = job->waits, .next_of_op = waiting->at};
    if (job->waits)
        job->waits->prev_of_job = w;
    job->waits = waiting->at = w;
    if (op->cls->history_grew)
        job->is_followed = 1;
    waiting->open++;
    waiting->held = true;
    return true;
}

/* A pass ends with the last waiter of its job, so the job is not forgotten during the pass. */
static void leave_pass(struct waiters_pass *pass, const struct waiter *w)
{
    if (pass->next == w)
        pass->next = w->next_of_job;
    if (pass->job != w->job || w->job->waits)
        return;
    assert(!pass->next);
    *pass = (struct waiters_pass){0};
}

static void unlink_waiter(const struct waiter *w)
{
    assert(w->prev_of_job ? w->prev_of_job->next_of_job == w : w->job->waits == w);
    assert(!w->next_of_job || w->next_of_job->prev_of_job == w);
    if (w->prev_of_job)
        w->prev_of_job->next_of_job = w->next_of_job;
    else
        w->job->waits = w->next_of_job;
    if (w->next_of_job)
        w->next_of_job->prev_of_job = w->prev_of_job;
    leave_pass(jobs_pass(channel_jobs(w->op->channel)), w);
}

static void stop_timer(struct ao *timer)
{
    if (!timer->cls)
        return;
    ao_deactivate(timer);
    ao_fini(timer);
    timer->cls = NULL;
}

static void unlink_due(struct waiters_due *due)
{
    if (!due->next)
        return;
    due->prev->next = due->next;
    due->next->prev = due->prev;
    *due = (struct waiters_due){0};
}

/* Returns how many jobs it has left. */
static size_t leave_all(struct operation *op)
{
    struct waiter *next;
    size_t count = 0;
    unlink_due(&op->waiting.due);
    for (struct waiter *w = op->waiting.at; w; w = next) {
        next = w->next_of_op;
        count++;
        unlink_waiter(w);
        if (w != &op->first_waiter)
            free(w);
    }
    op->waiting = (struct waiting){0};
    if (op->cls->due)
        stop_timer(&op->poll.timer);
    return count;
}

void waiters_leave(struct operation *op)
{
    leave_all(op);
}

void waiters_drop(struct jobs *jobs, struct operation *op)
{
    jobs_worked(jobs, leave_all(op));
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

/* --- Calling `due` --- */

void waiters_init(struct jobs *jobs)
{
    jobs_due(jobs)->prev = jobs_due(jobs)->next = jobs_due(jobs);
}

static void put_off(struct jobs *jobs, struct operation *op)
{
    struct waiters_due *due = &op->waiting.due;
    if (due->next)
        return;
    *due = (struct waiters_due){.prev = jobs_due(jobs)->prev, .next = jobs_due(jobs)};
    due->prev->next = due->next->prev = due;
    jobs_activate(jobs);
}

static void call_due(struct jobs *jobs, struct operation *op)
{
    assert(op->waiting.held && op->cls->due);
    jobs_worked(jobs, DUE_WORK);
    op->cls->due(jobs, op);
}

/* An operation that was put off keeps its place in the list. */
void waiters_due(struct jobs *jobs, struct operation *op)
{
    if (op->waiting.due.next || !jobs_have_time(jobs))
        put_off(jobs, op);
    else
        call_due(jobs, op);
}

/* Prefetches the next waiter, since of thousands that wait none is in the caches. */
static struct waiter *next_waiter(const struct waiter *w)
{
    struct waiter *next = w->next_of_job;
    __builtin_prefetch(next);
    return next;
}

static void notify_growth(struct jobs *jobs, struct waiter *w)
{
    jobs_worked(jobs, GROWTH_WORK);
    if (w->op->cls->history_grew)
        w->op->cls->history_grew(jobs, w->op, w->job);
}

/* True: the pass is complete, or there was none. */
static bool pass_go_on(struct jobs *jobs)
{
    struct waiters_pass *pass = jobs_pass(jobs);
    while (pass->next || pass->again) {
        if (!jobs_have_time(jobs)) {
            jobs_activate(jobs);
            return false;
        }
        if (!pass->next) {
            pass->next = pass->job->waits;
            pass->again = false;
            continue;
        }
        struct waiter *w = pass->next;
        assert(w->job == pass->job);
        pass->next = next_waiter(w);
        notify_growth(jobs, w);
    }
    pass->job = NULL;
    return true;
}

bool waiters_go_on(struct jobs *jobs)
{
    bool passed = pass_go_on(jobs);
    while (jobs_due(jobs)->next != jobs_due(jobs) && jobs_have_time(jobs)) {
        struct operation *op = ao_of(jobs_due(jobs)->next, struct operation, waiting.due);
        unlink_due(&op->waiting.due);
        call_due(jobs, op);
    }
    return passed && jobs_due(jobs)->next == jobs_due(jobs);
}

/* --- The time of a long poll --- */

/* The operation is answered in a later step, which frees this timer. */
static enum ao_verdict time_is_over(struct ao *self)
{
    struct operation *op = ao_of(self, struct operation, poll.timer);
    assert(op->waiting.held);
    op->waiting.over = true;
    put_off(op->poll.jobs, op);
    return AO_DONE;
}

static const struct ao_class timer_class = {.name = "long poll", .step = time_is_over};

bool waiters_poll(struct jobs *jobs, struct operation *op, ao_time timeout)
{
    assert(op->cls->due && op->waiting.held && !op->poll.timer.cls);
    if (timeout == 0 || jobs_scheduler(jobs)->stopping)
        return false;
    op->poll.jobs = jobs;
    if (timeout != AO_NEVER) {
        ao_init(&op->poll.timer, &timer_class, jobs_activator(jobs));
        ao_sleep_until(&op->poll.timer, table_time_after(jobs_table(jobs), timeout));
    }
    return true;
}

/* --- Events of jobs --- */

/* Visits each waiter of the job; the visited one may leave. */
#define EACH_WAITER(w, job)                                                                        \
    struct waiter *w = (job)->waits, *next;                                                        \
    w && (next = next_waiter(w), true);                                                            \
    w = next

void waiters_near(const struct job *job)
{
    if (job->waits)
        prefetch(job->waits->op, OPERATION_BUSY);
}

void waiters_job_ended(struct jobs *jobs, struct job *job)
{
    assert(!job_state_open((enum job_state)job->state));
    for (EACH_WAITER(w, job)) {
        jobs_worked(jobs, 1);
        if (w->op->cls->job_ended)
            w->op->cls->job_ended(jobs, w->op, job);
    }
}

void waiters_job_saved(struct jobs *jobs, struct job *job, enum store_error error)
{
    for (EACH_WAITER(w, job))
        if (w->op->cls->job_saved)
            w->op->cls->job_saved(jobs, w, error);
}

void waiters_cancel_saved(struct jobs *jobs, struct job *job, enum store_error error)
{
    for (EACH_WAITER(w, job))
        if (w->op->cls->cancel_saved)
            w->op->cls->cancel_saved(jobs, w->op, job, error);
}

void waiters_history_grew(struct jobs *jobs, struct job *job)
{
    struct waiters_pass *pass = jobs_pass(jobs);
    if (pass->job == job) {
        pass->again = true;
    } else if (pass->job) {
        for (EACH_WAITER(w, job))
            notify_growth(jobs, w);
    } else if (job->waits) {
        *pass = (struct waiters_pass){.job = job, .next = job->waits};
        pass_go_on(jobs);
    }
}

void waiters_job_goes(struct jobs *jobs, struct job *job)
{
    for (EACH_WAITER(w, job))
        if (w->op->cls->due) {
            w->op->waiting.over = true;
            w->op->cls->due(jobs, w->op);
        }
}

/* An attempt has begun, or the next server may find its row. */
static bool may_be_done(const struct jobs *jobs, const struct job *job)
{
    bool kept = job->durable != DURABLE_NONE || job_is(job, JOB_HARDENING);
    return job->attempt > 0 || (kept && jobs_store(jobs));
}

/* DRAINING says that nothing was done: clients and fronts ask again then. */
static void dismiss(const struct jobs *jobs, struct operation *op)
{
    assert(op->waiting.held && op->waiting.at);
    bool unsure = op->cls->is_call && may_be_done(jobs, op->waiting.at->job);
    waiters_leave(op);
    if (unsure)
        operation_refuse(op, ERGON_E_UNSURE,
                         "the server is shutting down: this may have been done, or may go on "
                         "when it is back");
    else
        operation_refuse_plain(op, ERGON_E_DRAINING);
}

void waiters_server_stops(struct jobs *jobs, bool cancel)
{
    assert(jobs_scheduler(jobs)->stopping); /* no long poll begins from here on */
    for (const struct job *job = jobs_table(jobs)->first; job; job = job->all_next)
        for (EACH_WAITER(w, job)) {
            struct operation *op = w->op;
            if (op->cls->due) {
                op->waiting.over = true;
                waiters_due(jobs, op);
            } else if (cancel && op->cls->refused_at_stop) {
                dismiss(jobs, op);
            }
        }
}

void waiters_dismiss(struct jobs *jobs)
{
    for (const struct job *job = jobs_table(jobs)->first; job; job = job->all_next)
        while (job->waits)
            dismiss(jobs, job->waits->op);
}
