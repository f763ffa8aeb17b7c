#include "server/jobs/core/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/jobs/core/history.h"
#include "server/jobs/core/member.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/names.h"
#include "server/jobs/core/walk.h"
#include "server/runtime/activator.h"

/* --- Time --- */

enum { LEAP_MS = 1000, LOOKS = 5 };

#define NEAR (AO_MS(1) / 10)

/* Of both clocks, that of the activator first. */
struct clocks {
    ao_time now;
    uint64_t wall;
};

/* As near to each other as may be: a thread may be put aside between two looks, on a busy machine
 * for so long that a task would have started after it had ended. */
static struct clocks look(const struct job_table *table)
{
    struct clocks nearest = {0};
    ao_time apart = AO_NEVER;
    for (unsigned i = 0; i < LOOKS && apart >= NEAR; i++) {
        struct clocks c = {.now = activator_clock(table->activator)};
        c.wall = table_wall(table);
        ao_time took = activator_clock(table->activator) - c.now;
        if (took < apart) {
            apart = took;
            nearest = c;
        }
    }
    return nearest;
}

static struct clocks look_for_leaps(struct job_table *table)
{
    struct clocks c = look(table);
    if (table->clock_held)
        return (struct clocks){.now = c.now, .wall = c.now + table->wall_ahead};
    uint64_t ahead = c.wall - c.now;
    int64_t by = (int64_t)(ahead - table->wall_ahead);
    if (by < (int64_t)AO_MS(LEAP_MS) && by > -(int64_t)AO_MS(LEAP_MS))
        return c;
    table->wall_ahead = ahead;
    if (table->leapt)
        table->leapt(table, by);
    return c;
}

/* Once a round: to look at three clocks for each time that a task has costs more than most else of
 * it. */
static struct clocks clocks_of_round(struct job_table *table)
{
    struct clock_look *look = &table->look;
    uint64_t round = activator_rounds(table->activator) + 1;
    if (look->round != round || table->clock_held) {
        struct clocks c = look_for_leaps(table);
        *look = (struct clock_look){.round = round, .now = c.now, .wall = c.wall};
    }
    return (struct clocks){.now = look->now, .wall = look->wall};
}

void table_look_at_clock(struct job_table *table)
{
    (void)clocks_of_round(table);
}

uint64_t table_wall_of(struct job_table *table, ao_time when)
{
    struct clocks c = clocks_of_round(table);
    return when > c.now ? clock_after(c.wall, when - c.now) : c.wall - (c.now - when);
}

ao_time table_time_of(struct job_table *table, uint64_t unix_ns)
{
    uint64_t wall = 0;
    if (!table->clock_held) {
        (void)look_for_leaps(table);
        wall = table_wall(table);
    }
    /* It is read behind the wall clock: a time that comes back to its client is not earlier then.
     */
    ao_time now = activator_clock(table->activator);
    if (table->clock_held)
        wall = now + table->wall_ahead;
    if (unix_ns > wall)
        return clock_after(now, unix_ns - wall);
    return now > wall - unix_ns ? now - (wall - unix_ns) : 1;
}

ao_time table_time_after(struct job_table *table, ao_time duration)
{
    if (duration == 0 || duration == AO_NEVER)
        return duration == 0 ? table_now(table) : AO_NEVER;
    table_look_at_clock(table);
    return clock_after(activator_clock(table->activator), duration);
}

/* --- The memory of a job --- */

/* The steps behind the job that are a message's own, and a reminder's. */
static uint32_t own_steps(const struct job *job)
{
    return (uint32_t)(job_tail(job) - (const uint8_t *)(job + 1)) / JOB_BODY_STEP;
}

static struct slab *cells_of(struct job_table *table, uint32_t own, size_t in_place)
{
    return &table->cells[job_cells(in_place) + own];
}

/* A body of a usual size is behind the job, in one cell. */
static struct job *make(struct job_table *table, size_t body, const struct job_spec *spec)
{
    bool in_place = body <= JOB_BODY_IN_PLACE;
    bool is_message = spec->actor.len > 0, is_reminder = spec->reminder.len > 0;
    struct slab *cells = cells_of(table, (uint32_t)is_message + is_reminder, in_place ? body : 0);
    struct job *job = slab_take(cells);
    assert(is_message || !is_reminder);
    if (!job)
        return NULL;
    *job = (struct job){.is_message = is_message};
    if (is_message)
        *job_message(job) = (struct message){.is_reminder = is_reminder};
    if (is_reminder)
        *job_reminder(job) = (struct reminder){.every = spec->every};
    job->body = in_place ? job_tail(job) : malloc(body);
    if (job->body)
        return job;
    slab_give(cells, job);
    return NULL;
}

static void let_go(struct job_table *table, struct job *job)
{
    bool in_place = job->body == job_tail(job);
    ao_fini(&job->timer);
    if (!in_place)
        free(job->body);
    slab_give(cells_of(table, own_steps(job), in_place ? job->body_len : 0), job);
}

void job_timer_retired(struct ao *timer)
{
    struct job *job = ao_of(timer, struct job, timer);
    let_go(job->queue->table, job);
}

/* --- A job of a spec --- */

static bool takes_message(const struct job_spec *spec)
{
    return spec->message && spec->message->at && spec->reminder.len == 0 && spec->batch == 0;
}

/* All spans of the spec stay where they are. */
static bool take_message(struct job *job, const struct job_spec *spec)
{
    struct job_more *more = job_more(job);
    if (!more)
        return false;
    more->message = *spec->message;
    *spec->message = (struct block){0};
    job->body = (uint8_t *)(uintptr_t)spec->params.at;
    return true;
}

static void give_up_message(struct job *job)
{
    if (!job->more || !job->more->message.at)
        return;
    block_free(&job->more->message);
    job->body = job_tail(job);
}

static void copy_params(struct job *job, const struct job_spec *spec, size_t names)
{
    uint8_t *at = job->body;
    job->body_len = (uint32_t)(spec->params.len + names);
    span_put(spec->params, &at);
    span_put(spec->reminder, &at); /* it has no other names */
}

static bool wants_more(const struct job_spec *spec)
{
    return spec->key.len || spec->coalesce.len || spec->limit_key.len || spec->rate_key.len ||
           spec->after_count > 0 || spec->after_any_count > 0 ||
           job_policy_is_said(&spec->policy) || trace_context_is(&spec->traceparent);
}

static struct span put_name(uint8_t **at, struct span bytes)
{
    if (!*at)
        return bytes;
    struct span copy = span_of(*at, bytes.len);
    if (bytes.len > 0)
        memcpy(*at, bytes.at, bytes.len);
    *at += bytes.len;
    return copy;
}

static bool keep_after(struct job_more *more, const struct job_spec *spec)
{
    size_t all = (size_t)spec->after_count + spec->after_any_count;
    if (all == 0)
        return true;
    more->after_ids = calloc(all, sizeof(uint64_t));
    if (!more->after_ids)
        return false;
    for (uint32_t i = 0; i < spec->after_count; i++)
        more->after_ids[i] = spec->after[i];
    for (uint32_t i = 0; i < spec->after_any_count; i++)
        more->after_ids[spec->after_count + i] = spec->after_any[i];
    more->after_count = spec->after_count;
    more->after_any_count = spec->after_any_count;
    return true;
}

/* One malloc'ed block; NULL without memory. */
static struct job_trace *trace_new(const struct trace_link *link)
{
    struct job_trace *trace = malloc(sizeof *trace + link->state.len);
    if (!trace)
        return NULL;
    if (link->state.len > 0)
        memcpy(trace->state, link->state.at, link->state.len);
    trace->link = (struct trace_link){link->context, span_of(trace->state, link->state.len)};
    trace->queued = 0;
    trace->ended = false;
    traceparent_text(&link->context, trace->text);
    return trace;
}

static bool keep_trace(struct job_more *more, const struct job_spec *spec)
{
    if (!trace_context_is(&spec->traceparent))
        return true;
    more->trace = trace_new(&(struct trace_link){spec->traceparent, spec->tracestate});
    return more->trace != NULL;
}

/* `names`: where these are copied to; NULL: they stay. */
static bool fill_more(struct job *job, const struct job_spec *spec, uint8_t *names)
{
    struct job_more *more = job_more(job);
    if (!more)
        return false;
    job_more_set(more, spec);
    more->waiters = 1;
    more->key = (struct key_link){
        .job = job, .tenant = job->tenant->name, .name = put_name(&names, spec->key)};
    more->coalesce = (struct key_link){.job = job,
                                       .tenant = job->tenant->name,
                                       .scope = job->queue->name,
                                       .name = put_name(&names, spec->coalesce)};
    return keep_trace(more, spec) && keep_after(more, spec);
}

static void fill(struct job_table *table, struct job *job, const struct job_spec *spec)
{
    job->created = table_wall(table);
    if (table->created < job->created)
        table->created = job->created;
    if (spec->at > job->created)
        job->due = table_time_of(table, spec->at);
    else if (spec->delay > 0)
        job->due = table_time_after(table, spec->delay);
    job->deadline = table_time_after(table, spec->deadline);
    job->deadline_at = job->deadline == AO_NEVER ? 0 : clock_after(job->created, spec->deadline);
    job->timeout = spec->timeout;
    job->until = AO_NEVER;
    job->retries = spec->retries;
    job->priority = spec->priority;
    job->durable = spec->durable;
}

struct job *job_new(struct job_table *table, const struct job_spec *spec, uint64_t id)
{
    bool stays = takes_message(spec);
    size_t names = spec->key.len + spec->coalesce.len + spec->reminder.len +
                   (spec->batch > 0 ? sizeof spec->batch : 0);
    assert(spec->reminder.len == 0 || names == spec->reminder.len);
    struct job *job = make(table, stays ? 0 : spec->params.len + names, spec);
    if (!job)
        return NULL;
    ao_init(&job->timer, table->timer_class, table->activator);
    job->id = id;
    job->state = job->row = job->counted = JOB_NEW;
    job->saved = JOB_SAVED_NOTHING;
    job->params_len = (uint32_t)spec->params.len;
    if (!stays)
        copy_params(job, spec, names);
    else if (!take_message(job, spec))
        goto fail;
    if (spec->batch > 0)
        job_set_batch(job, spec->batch);
    job->queue = table_queue(table, spec->method);
    if (!job->queue || !(job->tenant = table_tenant(table, spec->tenant)))
        goto fail;
    job->tenant->jobs++;
    if (wants_more(spec) && !fill_more(job, spec, stays ? NULL : job->body + spec->params.len))
        goto fail;
    fill(table, job, spec);
    return job;
fail:
    job_free(table, job);
    return NULL;
}

void job_free(struct job_table *table, struct job *job)
{
    assert(!job->effects && !job->waits);
    table_leave(table, job);
    if (job->more) {
        assert(!job->more->claim.line && !job->more->after);
        free(job->more->after_ids);
        free(job->more->progress_text);
        free(job->more->trace);
        blob_unref(job->more->filled);
        blob_unref(job->more->checkpoint);
        give_up_message(job);
        free(job->more);
    }
    job_result_free(job);
    history_free(job);
    worker_label_unref(&table->labels, job->ran_by);
    if (job->tenant)
        table_tenant_unref(table, job->tenant);
    if (ao_current() == &job->timer) {
        ao_retire(&job->timer); /* its memory goes when its step is over */
        return;
    }
    ao_deactivate(&job->timer);
    let_go(table, job);
}

/* --- The table --- */

struct job *table_find(const struct job_table *table, uint64_t id)
{
    struct hash_link *link = hash_first(&table->ids, id);
    return link ? ao_of(link, struct job, by_id) : NULL;
}

void table_enter(struct job_table *table, struct job *job)
{
    assert(!table->last || table->last->id < job->id);
    assert(job->state == JOB_NEW && !job->list);
    job->all_prev = table->last;
    *(table->last ? &table->last->all_next : &table->first) = job;
    table->last = job;
    hash_add(&table->ids, &job->by_id);
    table->count++;
    counter_set(&table->shown_tasks, table->count);
    job->tenant->open++;
    table->open++;
    tenant_show_open(table, job->tenant);
    table_weigh(table, job, 0);
}

void table_enter_keys(struct job_table *table, struct job *job, bool open)
{
    struct job_more *more = job->more;
    if (more && more->key.name.len > 0)
        key_add(&table->keys, &more->key);
    if (more && more->coalesce.name.len > 0 && open)
        key_add(&table->shared, &more->coalesce);
}

static void show_durable(struct job_table *table, const struct job *job, uint64_t one)
{
    if (job->state != JOB_NEW && job->durable != DURABLE_NONE)
        counter_add(&table->shown_durable, one);
}

/* No counter of a state counts it any more. */
static void leave_state(struct job_table *table, struct job *job)
{
    if (job->state == JOB_NEW)
        return;
    job_census_freed(table->census, job);
    if (job_state_open((enum job_state)job->state))
        open_jobs_remove(&job->queue->open, job);
    counter_add(&job->queue->by_state[job->state], (uint64_t)-1);
    counter_add(&table->by_state[job->state], (uint64_t)-1);
    show_durable(table, job, (uint64_t)-1);
    job->state = JOB_NEW;
}

void table_leave(struct job_table *table, struct job *job)
{
    if (table_find(table, job->id) != job)
        return;
    size_t bytes = job_bytes(job);
    if (kept_has(&job->tenant->kept, job)) {
        kept_remove(&table->kept, &job->tenant->kept, job, bytes);
    } else {
        tenant_count_open(table, job, false, bytes);
        job_list_remove(job);
    }
    leave_state(table, job);
    if (job->more) {
        key_remove(&table->keys, &job->more->key);
        key_remove(&table->shared, &job->more->coalesce);
    }
    walk_leave(table->walks, job);
    *(job->all_prev ? &job->all_prev->all_next : &table->first) = job->all_next;
    *(job->all_next ? &job->all_next->all_prev : &table->last) = job->all_prev;
    hash_remove(&table->ids, &job->by_id);
    table->count--;
    table->bytes -= bytes;
    assert(table->open <= table->count && table->open_bytes <= table->bytes);
    counter_set(&table->shown_tasks, table->count);
    counter_set(&table->shown_bytes, table->bytes);
}

void table_weigh(struct job_table *table, const struct job *job, size_t was)
{
    table_weigh_part(table, job, was, job_bytes(job));
}

static void weigh_read(struct job_table *table, const struct job *job, size_t was, size_t is)
{
    if (!job->more || job->more->readers == 0)
        return;
    job->tenant->read_bytes += is - was;
    table->read_bytes += is - was;
}

void table_weigh_part(struct job_table *table, const struct job *job, size_t was, size_t is)
{
    table->bytes += is - was;
    if (kept_has(&job->tenant->kept, job)) {
        kept_weigh(&table->kept, &job->tenant->kept, job, was, is);
        weigh_read(table, job, was, is);
    } else {
        job->tenant->open_bytes += is - was;
        table->open_bytes += is - was;
    }
    assert(table->bytes == table->open_bytes + kept_bytes(table->kept.bytes));
    counter_set(&table->shown_bytes, table->bytes);
}

void table_weigh_other(struct job_table *table, struct tenant *tenant, size_t was, size_t is)
{
    table->bytes += is - was;
    table->open_bytes += is - was;
    tenant->open_bytes += is - was;
    assert(tenant->open_bytes <= table->open_bytes && table->open_bytes <= table->bytes);
    counter_set(&table->shown_bytes, table->bytes);
}

static void account_move(struct job_sums *account, const struct job *job, uint64_t one)
{
    account->submitted += one;
    if (job->state != JOB_NEW && !job_state_open((enum job_state)job->state))
        account->ended[job->state] += one;
}

void table_set_durable(struct job_table *table, struct job *job, enum job_durable durable)
{
    job_census_changing(table->census, job);
    account_move(table_account(table, job), job, (uint64_t)-1);
    show_durable(table, job, (uint64_t)-1);
    job->durable = (uint8_t)durable;
    show_durable(table, job, 1);
    account_move(table_account(table, job), job, 1);
    job_census_changed(table->census, job);
}

void table_init(struct job_table *table, const struct job_table_options *options)
{
    *table = (struct job_table){.activator = options->activator,
                                .timer_class = options->timer_class,
                                .registry = options->registry,
                                .wall = options->wall,
                                .wall_arg = options->wall_arg,
                                .leapt = options->leapt,
                                .history_max = options->history_max};
    struct clocks c = look(table);
    table->wall_ahead = c.wall - c.now;
    for (unsigned i = 0; i < 2; i++)
        table->seed[i] = table->labels.seed[i] = activator_random(options->activator);
    for (uint32_t i = 0; i < JOB_CELLS; i++)
        slab_init(&table->cells[i], sizeof(struct job) + i * JOB_BODY_STEP, SLAB_KEPT);
    hash_table_init(&table->ids);
    kept_init(&table->kept, options->kept_least);
    key_table_init(&table->keys, table->seed);
    key_table_init(&table->shared, table->seed);
    names_init(table);
}

void table_fini(struct job_table *table)
{
    assert(table->count == 0 && !table->effects);
    hash_table_fini(&table->ids);
    key_table_fini(&table->keys);
    key_table_fini(&table->shared);
    names_fini(table);
    feed_fini(&table->feed);
    worker_labels_fini(&table->labels);
    for (uint32_t i = 0; i < JOB_CELLS; i++) {
        assert(slab_taken(&table->cells[i]) == 0);
        slab_fini(&table->cells[i]);
    }
}
