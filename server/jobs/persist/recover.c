/* The store read back.
 *
 * First, before the start, every row becomes a job: those that have ended are kept for the rest
 * of their time.  Then, at the start, when the store takes operations again, what was open goes
 * on: an attempt that had begun is one crash more, and the next one has a higher number. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"
#include "server/jobs/cron/cron.h"

/* --- Rows become jobs --- */

struct reading {
    struct jobs *jobs;
    const char *failure; /* NULL: none */
};

static void take_counts(void *arg, const struct store_counts *counts)
{
    struct account *kept = &((struct reading *)arg)->jobs->kept;
    kept->submitted = (uint64_t)counts->submitted;
    kept->ended[JOB_DONE] = (uint64_t)counts->done;
    kept->ended[JOB_FAILED] = (uint64_t)counts->failed;
    kept->ended[JOB_CANCELLED] = (uint64_t)counts->cancelled;
    kept->ended[JOB_EXPIRED] = (uint64_t)counts->expired;
    kept->ended[JOB_DEAD] = (uint64_t)counts->dead;
}

static bool fail(struct reading *r, const char *failure)
{
    r->failure = failure;
    return false;
}

static bool no_memory(struct reading *r)
{
    return fail(r, "no memory for the tasks in the store");
}

static bool take_queue(void *arg, struct span method)
{
    struct reading *r = arg;
    struct job_queue *q = job_queue(r->jobs, method);
    if (!q)
        return no_memory(r);
    q->paused = q->saved = true;
    return true;
}

static bool take_cron(void *arg, const struct store_cron *row)
{
    struct reading *r = arg;
    return crons_recover(r->jobs, row) || no_memory(r);
}

static bool take_ids(const struct store_task *row, struct job_spec *spec)
{
    uint32_t count = (uint32_t)(row->after.len / sizeof(uint64_t));
    uint64_t *ids = count > 0 ? malloc(count * sizeof *ids) : NULL;
    if (count > 0 && !ids)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = 0;
        for (unsigned byte = 0; byte < 8; byte++)
            ids[i] = ids[i] << 8 | row->after.at[8 * i + byte];
    }
    spec->after = ids;
    spec->after_count = count;
    return true;
}

static bool take_options(const struct store_task *row, struct job_spec *spec)
{
    spec->key = row->key;
    spec->coalesce = row->coalesce;
    spec->limit_key = row->limit_key;
    spec->limit = row->limit;
    spec->rate_key = row->rate_key;
    spec->rate = row->rate;
    spec->rate_per = row->rate_per;
    spec->timeout = row->timeout ? row->timeout : AO_NEVER;
    spec->retries = row->retries;
    spec->backoff = row->backoff;
    spec->backoff_max = row->backoff_max;
    spec->jitter = row->jitter;
    spec->keep = row->keep;
    spec->keep_size = row->keep_size;
    spec->priority = row->priority < SPEC_PRIORITY_MAX ? row->priority : SPEC_PRIORITY_MAX;
    return take_ids(row, spec);
}

/* What has no options is as by default. */
static bool order_of(const struct store_task *row, struct job_spec *spec)
{
    job_spec_init(spec);
    spec->method = row->method;
    spec->tenant = row->tenant;
    spec->params = row->params;
    spec->durable = row->durable;
    return !row->has_options || take_options(row, spec);
}

static char *text_of(struct span span, char *to)
{
    if (span.len > 0)
        memcpy(to, span.at, span.len);
    to[span.len] = '\0';
    return to;
}

static bool take_end(struct job *job, const struct store_task *row)
{
    bool failed = row->error_code.len > 0;
    if (!failed && row->result.len == 0)
        return true;
    struct job_result *end = job->end = calloc(1, sizeof *end);
    if (!end)
        return false;
    if (failed) {
        end->code = malloc(row->error_code.len + row->error_text.len + 2);
        if (!end->code)
            return false;
        text_of(row->error_code, end->code);
        end->text = text_of(row->error_text, end->code + row->error_code.len + 1);
    }
    if (row->result.len > 0) {
        end->result = malloc(row->result.len);
        if (!end->result)
            return false;
        memcpy(end->result, row->result.at, row->result.len);
        end->result_len = row->result.len;
    }
    return true;
}

static void take_life(struct jobs *jobs, struct job *job, const struct store_task *row)
{
    job->created = row->created;
    job->deadline = row->deadline_at ? jobs_time_of(jobs, row->deadline_at) : AO_NEVER;
    job->due = row->due_at ? jobs_time_of(jobs, row->due_at) : 0;
    job->attempt = row->attempt;
    job->failures = row->failures;
    job->crashes = (uint8_t)(row->crashes < UINT8_MAX ? row->crashes : UINT8_MAX);
    if (row->cancel_asked)
        job_mark(job, JOB_CANCEL);
    job->started = row->started_at;
    job->ended = row->ended_at;
}

static void enter(struct jobs *jobs, struct job *job, enum job_state state)
{
    bool open = job_state_open(state);
    job->counted = open ? JOB_QUEUED : (uint8_t)state;
    job->ending = (uint8_t)state; /* until it goes on */
    job_enter(jobs, job);
    job_enter_keys(jobs, job, open && !job_is(job, JOB_CANCEL));
    if (open)
        return;
    job_mark(job, JOB_NOT_REPLAYED);
    job_set_state(jobs, job, state, JOB_WHY_ENDED);
}

static bool take_task(void *arg, const struct store_task *row)
{
    struct reading *r = arg;
    struct jobs *jobs = r->jobs;
    struct job_spec spec;
    if (row->state >= JOB_STATE_COUNT)
        return fail(r, "a task in the store has a state that is none");
    if (!order_of(row, &spec))
        return no_memory(r);
    struct job *job = job_new(jobs, &spec, row->id);
    free((void *)spec.after);
    if (!job)
        return no_memory(r);
    take_life(jobs, job, row);
    if (!take_end(job, row)) {
        job_free(jobs, job);
        return no_memory(r);
    }
    enter(jobs, job, (enum job_state)row->state);
    return true;
}

static bool take_event(void *arg, const struct store_event *row)
{
    replay_event(((struct reading *)arg)->jobs, row);
    return true;
}

/* --- What was open goes on --- */

static void relink(struct jobs *jobs, struct job *job)
{
    char text[OPERATION_TEXT_MAX];
    for (uint32_t i = 0; job->more && i < job->more->after_count; i++)
        if (jobs_find(jobs, job->more->after_ids[i])) /* else it was done, and is forgotten */
            dependencies_link(jobs, job, &job->more->after_ids[i], 1, text, sizeof text);
}

/* One that is to be cancelled does not run again, but it is not to blame either. */
static bool may_go_on(const struct jobs *jobs, const struct job *job)
{
    return jobs->options.crashes_max == 0 || job->crashes < jobs->options.crashes_max ||
           job_is(job, JOB_CANCEL);
}

static void crashed(struct jobs *jobs, struct job *job)
{
    char text[96];
    replay_crash(jobs, job);
    if (job->crashes < UINT8_MAX)
        job->crashes++;
    snprintf(text, sizeof text, "the server ended while attempt %u ran", job->attempt);
    job_note(jobs, job, JOB_EVENT_INTERRUPTED, text);
    if (may_go_on(jobs, job)) {
        job_schedule(jobs, job, false);
        journal_change(jobs, job);
        return;
    }
    snprintf(text, sizeof text,
             "it ran in %u crashes of the server, and is not run again by itself", job->crashes);
    job_end(jobs, job, JOB_DEAD, "QUARANTINED", text);
}

static void go_on(struct jobs *jobs, struct job *job)
{
    bool ran = job->ending == JOB_RUNNING;
    job->ending = 0;
    if (ran)
        crashed(jobs, job);
    else
        job_schedule(jobs, job, false);
}

void recover_go_on(struct jobs *jobs)
{
    for (struct job *job = jobs->first; job; job = job->all_next)
        if (job->state == JOB_NEW)
            relink(jobs, job);
    for (struct job *job = jobs->first; job; job = job->all_next)
        if (job->state == JOB_NEW)
            go_on(jobs, job);
}

int jobs_recover(struct jobs *jobs, char *error, size_t size)
{
    struct reading r = {.jobs = jobs};
    const struct store_reader reader = {.arg = &r,
                                        .counts = take_counts,
                                        .queue = take_queue,
                                        .cron = take_cron,
                                        .task = take_task,
                                        .event = take_event};
    if (!jobs->store)
        return 0;
    jobs->recovering = true;
    int result = store_load(jobs->store, &reader, error, size);
    jobs->recovering = false;
    if (!r.failure)
        return result;
    snprintf(error, size, "%s", r.failure);
    return -1;
}
