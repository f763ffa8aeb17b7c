/* Attempts: picked, given to the manager, and what comes back.
 *
 *   pick --> [starting: its start is being committed] --> [started] --> outs --> returned
 *
 * An attempt that does not count any more is a stray: its job is somewhere else, and only waits
 * for it to come home before it is freed. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"

enum {
    TAKE_BUDGET = 256, /* jobs looked at for one that may start */
    START_AHEAD = 64   /* starts that are committed before there is room */
};

static unsigned index_of(enum ergon_kind kind)
{
    return kind == ERGON_STEPPED ? 0 : 1;
}

static bool ready(void *arg, enum ergon_kind kind, uint32_t room)
{
    const struct jobs *jobs = arg;
    unsigned k = index_of(kind);
    uint32_t ahead = room > START_AHEAD ? room : START_AHEAD;
    if (jobs->stopping)
        return false;
    return jobs->started[k].count > 0 ||
           (jobs->picks[k].count > 0 && jobs->starting[k].count + jobs->started[k].count < ahead);
}

/* --- The start --- */

static void count_attempt(struct jobs *jobs, struct job *job)
{
    job->attempt++;
    job->started = jobs_wall(jobs);
    counter_add(&jobs->starts, 1);
    if (job->attempt > 1)
        counter_add(&jobs->retries, 1);
}

/* Its start is on disk before its handler begins. */
static void prepare(struct jobs *jobs, unsigned k, struct job *job)
{
    count_attempt(jobs, job);
    job_mark(job, JOB_STARTING);
    job_list_push(&jobs->starting[k], job);
    job_set_state(jobs, job, JOB_QUEUED, JOB_WHY_COMMIT);
    journal_change(jobs, job);
}

static void begin(struct jobs *jobs, struct job *job, struct attempt_spec *run)
{
    if (job->durable != DURABLE_FSYNC)
        count_attempt(jobs, job);
    job_unmark(job, JOB_STARTING);
    admission_start(jobs, job);
    job->until = jobs_time_after(jobs, job->timeout);
    *run =
        (struct attempt_spec){.method = job->queue->method,
                              .params = job_params(job),
                              .deadline = job->until < job->deadline ? job->until : job->deadline,
                              .id = job->id,
                              .attempt = job->attempt,
                              .owner = job};
    job_list_push(&jobs->outs, job);
    jobs->out++;
    job_set_state(jobs, job, JOB_ASSIGNED, JOB_WHY_ASSIGNED);
    if (job->durable == DURABLE_ASYNC)
        journal_change(jobs, job);
}

/* False: it was sent somewhere else. */
static bool may_start(struct jobs *jobs, struct job *job)
{
    if (job->deadline <= jobs_now(jobs)) {
        job_end(jobs, job, JOB_EXPIRED, "DEADLINE", "its deadline passed before it was done");
        return false;
    }
    if (job->queue->paused) {
        job_list_push(&job->queue->held, job);
        job_set_state(jobs, job, JOB_WAITING, JOB_WHY_PAUSED);
        admission_release(jobs, job); /* others of its keys go on */
        quarantine_leave(jobs, job);
        return false;
    }
    if (!quarantine_take(jobs, job))
        return false;
    if (admission_take(jobs, job))
        return true;
    quarantine_leave(jobs, job);
    return false;
}

static bool take(void *arg, enum ergon_kind kind, struct attempt_spec *run)
{
    struct jobs *jobs = arg;
    unsigned k = index_of(kind);
    struct job *job = job_list_pop(&jobs->started[k]);
    if (job) {
        begin(jobs, job, run);
        return true;
    }
    for (int budget = TAKE_BUDGET; budget > 0; budget--) {
        if (jobs->starting[k].count >= START_AHEAD)
            return false; /* the first that is committed wakes the manager */
        job = fair_queue_take(&jobs->picks[k], k, jobs_now(jobs));
        if (!job)
            return false;
        job_unmark(job, JOB_ENQUEUED);
        if (!may_start(jobs, job))
            continue;
        if (job->durable == DURABLE_FSYNC) {
            prepare(jobs, k, job);
            continue;
        }
        begin(jobs, job, run);
        return true;
    }
    job_source_wake(jobs->tasks);
    return false;
}

static void given(void *arg, void *owner, struct task *t)
{
    struct jobs *jobs = arg;
    struct job *job = owner;
    if (t) {
        job->attempt_task = t;
        return;
    }
    jobs->out--;
    job_list_remove(job);
    job->due = jobs_time_after(jobs, AO_MS(100)); /* no memory: later */
    job_set_state(jobs, job, JOB_DELAYED, JOB_WHY_DELAY);
    admission_release_permit(jobs, job);
    quarantine_leave(jobs, job);
    journal_change(jobs, job);
}

/* --- The return --- */

void attempt_disown(struct jobs *jobs, struct job *job, enum attempt_flag flag)
{
    assert(job->attempt_task);
    attempt_flag(jobs->tasks, job->attempt_task, flag);
    job->attempt_task = NULL;
    job->until = AO_NEVER;
    job->strays++;
    job_unmark(job, JOB_HAS_PERMIT | JOB_SUSPECT); /* the stray has them now */
    job_list_remove(job);
}

/* It was told to stop, and stopped: that is no late answer. */
static bool obeyed(const struct attempt_end *r)
{
    return !r->started || r->outcome->error == ERGON_E_DEADLINE ||
           r->outcome->error == ERGON_E_CANCELLED;
}

static void stray_returned(struct jobs *jobs, struct job *job, const struct attempt_end *r)
{
    char text[96];
    job->strays--;
    if (!obeyed(r)) {
        counter_add(&jobs->fenced, 1);
        snprintf(text, sizeof text, "attempt %u returned late, and its answer was thrown away",
                 r->attempt);
        job_note(jobs, job, JOB_EVENT_FENCED, text);
    }
    admission_release_orphan(jobs, job);
    quarantine_returned(jobs, job);
}

static bool is_current(const struct job *job, uint32_t attempt)
{
    return job->attempt_task && job->attempt == attempt;
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct jobs *jobs = arg;
    struct job *job = r->owner;
    jobs->out--;
    if (!is_current(job, r->attempt)) {
        stray_returned(jobs, job, r);
        return;
    }
    job->attempt_task = NULL;
    job->until = AO_NEVER;
    job_list_remove(job);
    admission_release_permit(jobs, job);
    quarantine_leave(jobs, job);
    outcome_returned(jobs, job, r);
}

/* --- What handlers say meanwhile --- */

/* NULL for none, or without memory. */
static char *text_of(struct span text)
{
    char *copy = text.len > 0 ? malloc(text.len + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return copy;
}

static void keep_progress(struct jobs *jobs, struct job *job, const struct attempt_note *note)
{
    size_t was = job_bytes(job);
    struct job_more *more = job_more(job);
    if (!more)
        return;
    more->progress_done = note->done;
    more->progress_total = note->total;
    free(more->progress_text);
    more->progress_text = text_of(note->text);
    jobs_weigh(jobs, job, was);
}

static void note_progress(struct jobs *jobs, struct job *job, const struct attempt_note *note)
{
    struct pack data;
    pack_init(&data);
    pack_map(&data, 2);
    pack_key_uint(&data, "done", note->done);
    pack_key_uint(&data, "total", note->total);
    keep_progress(jobs, job, note);
    job_note_event(jobs, job,
                   (struct history_event){
                       .what = JOB_EVENT_PROGRESS, .text = note->text, .data = pack_bytes(&data)});
    pack_fini(&data);
}

static void noted(void *arg, const struct attempt_note *note)
{
    struct jobs *jobs = arg;
    struct job *job = note->owner;
    if (!is_current(job, note->attempt))
        return;
    if (note->partial)
        job_note_event(jobs, job,
                       (struct history_event){.what = JOB_EVENT_PARTIAL, .data = note->data});
    else
        note_progress(jobs, job, note);
}

/* --- The manager's wishes --- */

static void full(void *arg, enum ergon_kind kind, bool is_full)
{
    struct jobs *jobs = arg;
    jobs->full[index_of(kind)] = is_full;
}

/* Its start is on disk, but it does not begin in this run of the server. */
void attempt_unstart(struct jobs *jobs, struct job *job)
{
    job_unmark(job, JOB_STARTING);
    job_enqueue(jobs, job, true);
    journal_change(jobs, job);
}

static void stop(void *arg, bool cancel)
{
    struct jobs *jobs = arg;
    jobs->stopping = true;
    for (unsigned k = 0; k < JOB_KINDS; k++)
        while (jobs->started[k].first)
            attempt_unstart(jobs, job_list_pop(&jobs->started[k]));
    for (struct job *job = cancel ? jobs->outs.first : NULL; job; job = job->next)
        if (job->attempt_task)
            attempt_flag(jobs->tasks, job->attempt_task, ATTEMPT_CANCEL);
    waiters_server_stops(jobs, cancel);
}

/* Nothing is begun any more, and nothing returns: what a start in good order finds is no crash. */
void attempts_end(struct jobs *jobs)
{
    struct job *job, *next;
    jobs->stopping = true;
    for (unsigned k = 0; k < JOB_KINDS; k++)
        while ((job = job_list_pop(&jobs->starting[k])) || (job = job_list_pop(&jobs->started[k])))
            attempt_unstart(jobs, job);
    for (job = jobs->outs.first; job; job = next) {
        next = job->next;
        if (job_is(job, JOB_CANCEL)) {
            job_end(jobs, job, JOB_CANCELLED, NULL, NULL);
            continue;
        }
        job_note(jobs, job, JOB_EVENT_INTERRUPTED, NULL);
        job->due = 0;
        job_set_state(jobs, job, JOB_QUEUED, JOB_WHY_STOPPING);
        journal_change(jobs, job);
    }
}

static const char *name(uint64_t id, char *buf)
{
    return id_text(id, buf);
}

void attempts_connect(struct jobs *jobs)
{
    const struct job_source source = {.arg = jobs,
                                      .ready = ready,
                                      .take = take,
                                      .given = given,
                                      .returned = returned,
                                      .noted = noted,
                                      .full = full,
                                      .stop = stop,
                                      .name = name};
    tasks_set_job_source(jobs->tasks, &source);
}
