/* Asks that wait for the end of tasks, or for a commit.
 *
 * An operation that waits stands in the list of each job that it waits for, once, until it is
 * answered; so none of these jobs is forgotten before. */
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"

enum { RESULTS_MAX = 8 << 20 /* bytes of an answer, beyond which results are left out */ };

/* An operation joins all that it waits for in one go, so it came last. */
static bool waits_for(const struct operation *op, const struct job *job)
{
    return job->waits && job->waits->op == op;
}

bool wait_join(struct jobs *jobs, struct operation *op, struct job *job)
{
    (void)jobs;
    if (waits_for(op, job))
        return true;
    struct operation_wait *w = op->waits ? malloc(sizeof *w) : &op->wait;
    if (!w)
        return false;
    *w = (struct operation_wait){
        .op = op, .entry = job, .next_of_entry = job->waits, .next_of_ask = op->waits};
    if (job->waits)
        job->waits->prev_of_entry = w;
    job->waits = op->waits = w;
    op->open++;
    op->held = true;
    return true;
}

static void unlink_wait(struct operation_wait *w)
{
    if (w->prev_of_entry)
        w->prev_of_entry->next_of_entry = w->next_of_entry;
    else
        w->entry->waits = w->next_of_entry;
    if (w->next_of_entry)
        w->next_of_entry->prev_of_entry = w->prev_of_entry;
}

/* In its own step the timer is retired instead. */
static void stop_timer(struct operation *op)
{
    if (!op->timer.cls || ao_current() == &op->timer)
        return;
    ao_deactivate(&op->timer);
    ao_fini(&op->timer);
    op->timer.cls = NULL;
}

void wait_leave(struct jobs *jobs, struct operation *op)
{
    struct operation_wait *next;

    (void)jobs;
    for (struct operation_wait *w = op->waits; w; w = next) {
        next = w->next_of_ask;
        unlink_wait(w);
        if (w != &op->wait)
            free(w);
    }
    op->waits = NULL;
    op->open = 0;
    op->held = false;
    stop_timer(op);
}

bool wait_hold(struct jobs *jobs, struct operation *op)
{
    if (op->timeout == 0 || jobs->stopping)
        return false;
    op->jobs = jobs;
    if (op->timeout != AO_NEVER) {
        ao_init(&op->timer, &operation_timer_class, jobs->activator);
        ao_sleep_until(&op->timer, jobs_time_after(jobs, op->timeout));
    }
    return true;
}

/* --- task.call --- */

static enum ergon_error error_of(const struct job *job)
{
    switch ((enum job_state)job->state) {
    case JOB_CANCELLED:
        return ERGON_E_CANCELLED;
    case JOB_EXPIRED:
        return ERGON_E_DEADLINE;
    case JOB_QUEUED:
    case JOB_DELAYED:
    case JOB_WAITING:
    case JOB_ASSIGNED:
    case JOB_RUNNING:
    case JOB_PARKED:
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_DEAD:
    case JOB_STATE_COUNT:
        return ERGON_E_FAILED;
    }
    return ERGON_E_FAILED;
}

static void answer_error(struct operation *op, const struct job *job)
{
    const struct job_result *end = job->end;

    op->error = error_of(job);
    if (end && end->code && op->error == ERGON_E_FAILED)
        snprintf(op->code, sizeof op->code, "%s", end->code);
    snprintf(op->text, sizeof op->text, "%s",
             end && end->text ? end->text : error_meaning(op->error));
}

void wait_answer(struct jobs *jobs, struct operation *op, const struct job *job)
{
    const struct job_result *end = job->end;

    if (job->state != JOB_DONE) {
        answer_error(op, job);
    } else if (end && end->cut) {
        op->error = ERGON_E_TOO_LARGE;
        snprintf(op->text, sizeof op->text, "the result is larger than keep_size and was not kept");
    } else if (end && end->result) {
        pack_init(&op->result);
        pack_raw(&op->result, span_of(end->result, end->result_len));
    }
    wait_leave(jobs, op);
    operation_finish(jobs, op);
}

/* --- task.wait --- */

static void answer_wait(struct jobs *jobs, struct operation *op)
{
    struct pack *p = &op->result;
    char text[ID_TEXT_SIZE];
    uint32_t ended = 0;

    for (uint32_t i = 0; i < op->id_count; i++) {
        const struct job *job = jobs_find(jobs, op->ids[i]);
        ended += job && !job_state_open((enum job_state)job->state);
    }
    pack_init(p);
    pack_map(p, 2);
    pack_str(p, "ended");
    pack_array(p, ended);
    for (uint32_t i = 0; i < op->id_count; i++) {
        struct job *job = jobs_find(jobs, op->ids[i]);
        if (job && !job_state_open((enum job_state)job->state))
            view_job(jobs, job, op->with_result && p->buffer.size < RESULTS_MAX ? VIEW_RESULT : 0,
                     p);
    }
    pack_str(p, "open");
    pack_array(p, op->id_count - ended);
    for (uint32_t i = 0; i < op->id_count; i++) {
        const struct job *job = jobs_find(jobs, op->ids[i]);
        if (!job || job_state_open((enum job_state)job->state))
            pack_str(p, id_text(op->ids[i], text));
    }
}

static void finish_wait(struct jobs *jobs, struct operation *op)
{
    answer_wait(jobs, op);
    wait_leave(jobs, op);
    operation_finish(jobs, op);
}

static bool all_known(struct jobs *jobs, struct operation *op)
{
    char text[ID_TEXT_SIZE];

    for (uint32_t i = 0; i < op->id_count; i++) {
        const struct job *job = jobs_find(jobs, op->ids[i]);
        if (!job || !operation_may_know(op, job)) {
            operation_refuse(jobs, op, ERGON_E_NOT_FOUND,
                             "no task %s: it never was, or was forgotten",
                             id_text(op->ids[i], text));
            return false;
        }
    }
    return true;
}

static uint32_t count_open(const struct operation *op)
{
    uint32_t open = 0;
    for (const struct operation_wait *w = op->waits; w; w = w->next_of_ask)
        open += job_state_open((enum job_state)w->entry->state);
    return open;
}

void wait_serve(struct jobs *jobs, struct operation *op)
{
    bool memory = true;

    if (!all_known(jobs, op))
        return;
    for (uint32_t i = 0; i < op->id_count && memory; i++) /* ended ones too: they are to stay */
        memory = wait_join(jobs, op, jobs_find(jobs, op->ids[i]));
    if (!memory) {
        wait_leave(jobs, op);
        operation_refuse(jobs, op, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    uint32_t all = op->open; /* an id may be given twice */
    op->open = count_open(op);
    if (op->open == 0 || (op->any && op->open < all) || !wait_hold(jobs, op))
        finish_wait(jobs, op);
}

/* --- what happens meanwhile --- */

/* One that had ended may have been tried again since. */
static bool is_over(struct operation *op)
{
    if (--op->open == 0)
        op->open = count_open(op);
    return op->open == 0 || op->any;
}

void wait_ended(struct jobs *jobs, struct job *job)
{
    struct operation_wait *next;

    for (struct operation_wait *w = job->waits; w; w = next) {
        struct operation *op = w->op;
        next = w->next_of_entry;
        if (op->verb == OPERATION_CALL)
            wait_answer(jobs, op, job);
        else if (op->verb == OPERATION_WAIT && is_over(op))
            finish_wait(jobs, op);
    }
}

static void note_failure(const struct operation_wait *w, enum store_error error)
{
    struct submission_outcome *outcomes = w->op->outcomes;
    for (uint32_t at = w->outcome; at > 0; at = outcomes[at - 1].before) {
        outcomes[at - 1].error = ERGON_E_STORE;
        outcomes[at - 1].text = strdup(store_error_text(error)); /* NULL: the error's meaning */
    }
}

void wait_committed(struct jobs *jobs, struct job *job, enum store_error error)
{
    struct operation_wait *next;

    for (struct operation_wait *w = job->waits; w; w = next) {
        struct operation *op = w->op;
        next = w->next_of_entry;
        if (op->verb != OPERATION_SUBMIT && op->verb != OPERATION_SUBMIT_MANY)
            continue;
        if (error != STORE_OK)
            note_failure(w, error);
        if (--op->open > 0)
            continue;
        wait_leave(jobs, op);
        submit_answer(jobs, op);
    }
}

static bool is_called(const struct job *job)
{
    for (const struct operation_wait *w = job->waits; w; w = w->next_of_entry)
        if (w->op->verb == OPERATION_CALL)
            return true;
    return false;
}

/* Of calls that share a task by its key the last one takes it along; a task that was submitted
 * stays.  Who shares a run by `coalesce` is counted. */
static bool takes_along(const struct operation *op, const struct job *job)
{
    if (!op->outcomes[0].duplicate && job->more && job->more->coalesce.name.len > 0)
        return true;
    return job_is(job, JOB_FOREGROUND) && !is_called(job);
}

void wait_dropped(struct jobs *jobs, struct operation *op)
{
    struct job *called = op->verb == OPERATION_CALL && op->waits ? op->waits->entry : NULL;

    wait_leave(jobs, op);
    if (called && takes_along(op, called))
        job_cancel(jobs, called);
    operation_refuse(jobs, op, ERGON_E_CANCELLED, "%s", error_meaning(ERGON_E_CANCELLED));
}

/* The first that need not wait for what a server that stops may still do. */
static struct operation *to_be_sent_off(const struct job *job, bool cancel)
{
    for (const struct operation_wait *w = job->waits; w; w = w->next_of_entry) {
        enum operation_kind verb = w->op->verb;
        if (verb == OPERATION_WAIT || verb == OPERATION_WATCH || (cancel && verb == OPERATION_CALL))
            return w->op;
    }
    return NULL;
}

static void send_off(struct jobs *jobs, struct operation *op)
{
    if (op->verb == OPERATION_CALL) {
        wait_leave(jobs, op);
        operation_refuse(jobs, op, ERGON_E_DRAINING, "%s", error_meaning(ERGON_E_DRAINING));
        return;
    }
    wait_overdue(op);
    operation_finish(jobs, op);
}

void wait_stop(struct jobs *jobs, bool cancel)
{
    struct operation *op;

    for (const struct job *job = jobs->first; job; job = job->all_next)
        while ((op = to_be_sent_off(job, cancel)))
            send_off(jobs, op);
}

/* The time of a long poll is over: answered as things stand, when the timer has been let go. */
static enum ao_verdict time_is_over(struct ao *self)
{
    struct operation *op = ao_of(self, struct operation, timer);

    wait_overdue(op);
    ao_retire(self);
    return AO_DONE;
}

static void let_go(struct ao *self)
{
    struct operation *op = ao_of(self, struct operation, timer);

    ao_fini(self);
    self->cls = NULL;
    operation_finish(op->jobs, op);
}

const struct ao_class operation_timer_class = {
    .name = "long poll", .step = time_is_over, .retired = let_go};

void wait_overdue(struct operation *op)
{
    struct jobs *jobs = op->jobs;

    if (op->verb == OPERATION_WATCH)
        watch_answer(jobs, op);
    else
        answer_wait(jobs, op);
    wait_leave(jobs, op);
}
