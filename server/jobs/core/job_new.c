/* Jobs made of orders, and their end. */
#include <assert.h>
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"

/* --- What few tasks have --- */

static bool wants_more(const struct job_spec *spec)
{
    return spec->key.len || spec->coalesce.len || spec->limit_key.len || spec->rate_key.len ||
           spec->after_count > 0 || spec->backoff != SPEC_BACKOFF ||
           spec->backoff_max != SPEC_BACKOFF_MAX || spec->jitter != SPEC_JITTER ||
           spec->keep != SPEC_KEEP || spec->keep_size != SPEC_KEEP_SIZE;
}

void job_policy(const struct job *job, struct job_spec *out)
{
    const struct job_more *more = job->more;
    job_spec_init(out);
    out->retries = job->retries;
    if (!more)
        return;
    out->backoff = more->backoff;
    out->backoff_max = more->backoff_max;
    out->jitter = more->jitter;
    out->keep = more->keep;
    out->keep_size = more->keep_size;
}

static void set_policy(struct job_more *more, const struct job_spec *spec)
{
    more->backoff = spec->backoff;
    more->backoff_max = spec->backoff_max;
    more->jitter = spec->jitter;
    more->keep = spec->keep;
    more->keep_size = spec->keep_size;
    more->limit_max = spec->limit;
    more->rate = spec->rate;
    more->rate_per = spec->rate_per;
}

struct job_more *job_more(struct job *job)
{
    struct job_spec plain;
    if (job->more)
        return job->more;
    job->more = calloc(1, sizeof *job->more);
    job_spec_init(&plain);
    if (job->more)
        set_policy(job->more, &plain);
    return job->more;
}

static struct span append(uint8_t **at, struct span bytes)
{
    struct span copy = span_of(*at, bytes.len);
    if (bytes.len > 0)
        memcpy(*at, bytes.at, bytes.len);
    *at += bytes.len;
    return copy;
}

static bool fill_more(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                      uint8_t *names)
{
    struct job_more *more = job_more(job);
    if (!more)
        return false;
    set_policy(more, spec);
    more->waiters = 1;
    more->key = (struct key_link){
        .entry = job, .tenant = job->tenant->name, .name = append(&names, spec->key)};
    more->coalesce = (struct key_link){.entry = job,
                                       .tenant = job->tenant->name,
                                       .scope = job->queue->name,
                                       .name = append(&names, spec->coalesce)};
    if (spec->after_count > 0) {
        more->after_ids = calloc(spec->after_count, sizeof(uint64_t));
        if (!more->after_ids)
            return false;
        memcpy(more->after_ids, spec->after, spec->after_count * sizeof(uint64_t));
        more->after_count = spec->after_count;
    }
    return admission_join(jobs, job, spec);
}

/* --- Memory --- */

/* Bodies of a usual size stand behind the job, in one cell. */
static struct job *make(struct jobs *jobs, size_t body)
{
    bool in_place = body <= JOB_BODY_IN_PLACE;
    struct slab *cells = &jobs->entries[job_cells(in_place ? body : 0)];
    struct job *job = slab_take(cells);
    if (!job)
        return NULL;
    *job = (struct job){.body = in_place ? (uint8_t *)(job + 1) : malloc(body)};
    if (job->body)
        return job;
    slab_give(cells, job);
    return NULL;
}

static void let_go(struct job *job)
{
    bool in_place = job->body == (uint8_t *)(job + 1);
    ao_fini(&job->timer);
    if (!in_place)
        free(job->body);
    slab_give(&job->jobs->entries[job_cells(in_place ? job->body_len : 0)], job);
}

static void retired(struct ao *self)
{
    let_go(ao_of(self, struct job, timer));
}

const struct ao_class job_timer_class = {.name = "kept task", .step = job_due, .retired = retired};

void jobs_cells_init(struct jobs *jobs)
{
    for (uint32_t i = 0; i < JOB_CELLS; i++)
        slab_init(&jobs->entries[i], sizeof(struct job) + i * JOB_BODY_STEP, SLAB_KEPT);
}

void jobs_cells_fini(struct jobs *jobs)
{
    for (uint32_t i = 0; i < JOB_CELLS; i++) {
        assert(slab_taken(&jobs->entries[i]) == 0);
        slab_fini(&jobs->entries[i]);
    }
}

/* --- Made --- */

static void fill(struct jobs *jobs, struct job *job, const struct job_spec *spec)
{
    job->created = jobs_wall(jobs);
    if (spec->at > 0)
        job->due = jobs_time_of(jobs, spec->at);
    else if (spec->delay > 0)
        job->due = jobs_time_after(jobs, spec->delay);
    job->deadline = jobs_time_after(jobs, spec->deadline);
    job->timeout = spec->timeout;
    job->until = AO_NEVER;
    job->retries = spec->retries;
    job->priority = spec->priority;
    job->durable = spec->durable;
}

struct job *job_new(struct jobs *jobs, const struct job_spec *spec, uint64_t id)
{
    size_t names = spec->key.len + spec->coalesce.len;
    struct job *job = make(jobs, spec->params.len + names);
    if (!job)
        return NULL;
    ao_init(&job->timer, &job_timer_class, jobs->activator);
    job->id = id;
    job->jobs = jobs;
    job->state = job->counted = JOB_NEW;
    job->params_len = (uint32_t)spec->params.len;
    job->body_len = (uint32_t)(spec->params.len + names);
    if (spec->params.len > 0)
        memcpy(job->body, spec->params.at, spec->params.len);
    job->queue = job_queue(jobs, spec->method);
    if (!job->queue || !(job->tenant = jobs_tenant(jobs, spec->tenant)))
        goto fail;
    job->tenant->entries++;
    if (wants_more(spec) && !fill_more(jobs, job, spec, job->body + spec->params.len))
        goto fail;
    fill(jobs, job, spec);
    return job;
fail:
    job_free(jobs, job);
    return NULL;
}

void job_enter(struct jobs *jobs, struct job *job)
{
    assert(!jobs->last || jobs->last->id < job->id);
    job->all_prev = jobs->last;
    *(jobs->last ? &jobs->last->all_next : &jobs->first) = job;
    jobs->last = job;
    id_add(&jobs->ids, job);
    jobs->count++;
    counter_set(&jobs->shown_tasks, jobs->count);
    jobs_weigh(jobs, job, 0);
}

void job_enter_keys(struct jobs *jobs, struct job *job, bool open)
{
    struct job_more *more = job->more;
    if (more && more->key.name.len > 0)
        key_add(&jobs->keys, &more->key);
    if (more && more->coalesce.name.len > 0 && open)
        key_add(&jobs->shared, &more->coalesce);
}

/* --- Gone --- */

static void leave_all(struct jobs *jobs, struct job *job)
{
    if (jobs_find(jobs, job->id) != job)
        return;
    *(job->all_prev ? &job->all_prev->all_next : &jobs->first) = job->all_next;
    *(job->all_next ? &job->all_next->all_prev : &jobs->last) = job->all_prev;
    id_remove(&jobs->ids, job);
    jobs->count--;
    jobs->bytes -= job_bytes(job);
    counter_set(&jobs->shown_tasks, jobs->count);
    counter_set(&jobs->shown_bytes, jobs->bytes);
}

static void leave_state(struct jobs *jobs, struct job *job)
{
    if (job->state == JOB_NEW)
        return;
    job->queue->by_state[job->state]--;
    counter_add(&jobs->by_state[job->state], (uint64_t)-1);
}

static void free_more(struct jobs *jobs, struct job *job)
{
    struct job_more *more = job->more;
    if (!more)
        return;
    key_remove(&jobs->keys, &more->key);
    key_remove(&jobs->shared, &more->coalesce);
    dependencies_forget(job);
    admission_leave(jobs, job);
    free(more->after_ids);
    free(more->progress_text);
    free(more);
}

void job_result_free(struct job *job)
{
    if (job->end) {
        free(job->end->result);
        free(job->end->code);
        free(job->end);
    }
    job->end = NULL;
}

void job_free(struct jobs *jobs, struct job *job)
{
    audit_freed(jobs, job);
    leave_all(jobs, job);
    leave_state(jobs, job);
    journal_forget(jobs, job);
    if (job->list == &jobs->ended)
        jobs->ended_bytes -= job_bytes(job);
    job_list_remove(job);
    free_more(jobs, job);
    job_result_free(job);
    history_free(job);
    if (job->tenant)
        tenant_unref(jobs, job->tenant);
    if (ao_current() == &job->timer) {
        ao_retire(&job->timer); /* in its own step: freed when that is over */
        return;
    }
    ao_deactivate(&job->timer);
    let_go(job);
}
