#include "server/jobs/service/waiters.h"

#include <stdlib.h>

#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/operation.h"

/* --- Joining and leaving --- */

/* An operation joins all that it waits for in one go, so it came last. */
static bool stands_at(const struct operation *op, const struct job *job)
{
    return job->waits && job->waits->op == op;
}

bool waiters_join(struct operation *op, struct job *job)
{
    struct waiting *waiting = &op->waiting;
    if (stands_at(op, job))
        return true;
    struct waiter *w = waiting->at ? malloc(sizeof *w) : &op->first_waiter;
    if (!w)
        return false;
    *w =
        (struct waiter){.op = op, .job = job, .next_of_job = job->waits, .next_of_op = waiting->at};
    if (job->waits)
        job->waits->prev_of_job = w;
    job->waits = waiting->at = w;
    waiting->open++;
    waiting->held = true;
    return true;
}

static void unlink_waiter(const struct waiter *w)
{
    if (w->prev_of_job)
        w->prev_of_job->next_of_job = w->next_of_job;
    else
        w->job->waits = w->next_of_job;
    if (w->next_of_job)
        w->next_of_job->prev_of_job = w->prev_of_job;
}

/* In its own step the timer is retired instead. */
static void stop_timer(struct ao *timer)
{
    if (!timer->cls || ao_current() == timer)
        return;
    ao_deactivate(timer);
    ao_fini(timer);
    timer->cls = NULL;
}

void waiters_leave(struct operation *op)
{
    struct waiter *next;
    for (struct waiter *w = op->waiting.at; w; w = next) {
        next = w->next_of_op;
        unlink_waiter(w);
        if (w != &op->first_waiter)
            free(w);
    }
    op->waiting = (struct waiting){0};
    if (op->cls->overdue)
        stop_timer(&op->poll.timer);
}

void waiters_drop(struct jobs *jobs, struct operation *op)
{
    (void)jobs;
    waiters_leave(op);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

/* --- The time of a long poll --- */

static void answer_as_it_stands(struct jobs *jobs, struct operation *op)
{
    op->cls->overdue(jobs, op);
    waiters_leave(op);
}

/* It goes back when the timer has been let go. */
static enum ao_verdict time_is_over(struct ao *self)
{
    struct operation *op = ao_of(self, struct operation, poll.timer);
    answer_as_it_stands(op->poll.jobs, op);
    ao_retire(self);
    return AO_DONE;
}

static void timer_retired(struct ao *self)
{
    ao_fini(self);
    self->cls = NULL;
    operation_finish(ao_of(self, struct operation, poll.timer));
}

static const struct ao_class timer_class = {
    .name = "long poll", .step = time_is_over, .retired = timer_retired};

bool waiters_poll(struct jobs *jobs, struct operation *op, ao_time timeout)
{
    if (timeout == 0 || jobs->sched.stopping)
        return false;
    op->poll.jobs = jobs;
    if (timeout != AO_NEVER) {
        ao_init(&op->poll.timer, &timer_class, jobs->activator);
        ao_sleep_until(&op->poll.timer, table_time_after(&jobs->table, timeout));
    }
    return true;
}

/* --- What has happened --- */

/* Each that stands at the job; having heard, it may leave. */
#define EACH_WAITER(w, job)                                                                        \
    struct waiter *w = (job)->waits, *next;                                                        \
    w && (next = w->next_of_job, true);                                                            \
    w = next

void waiters_job_ended(struct jobs *jobs, struct job *job)
{
    for (EACH_WAITER(w, job))
        if (w->op->cls->job_ended)
            w->op->cls->job_ended(jobs, w->op, job);
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
    for (EACH_WAITER(w, job))
        if (w->op->cls->history_grew)
            w->op->cls->history_grew(jobs, w->op, job);
}

static void dismiss(struct operation *op)
{
    waiters_leave(op);
    operation_refuse_plain(op, ERGON_E_DRAINING);
}

void waiters_server_stops(struct jobs *jobs, bool cancel)
{
    for (const struct job *job = jobs->table.first; job; job = job->all_next)
        for (EACH_WAITER(w, job)) {
            struct operation *op = w->op;
            if (op->cls->overdue) {
                answer_as_it_stands(jobs, op);
                operation_finish(op);
            } else if (cancel && op->cls->refused_at_stop) {
                dismiss(op);
            }
        }
}

void waiters_dismiss(struct jobs *jobs)
{
    for (const struct job *job = jobs->table.first; job; job = job->all_next)
        while (job->waits)
            dismiss(job->waits->op);
}
