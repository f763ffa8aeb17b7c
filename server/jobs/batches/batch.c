#include "server/jobs/batches/batch.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/batches/batches.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/operations/operation.h"

#define X(name, text) [BATCH_##name] = text,
const char *const batch_state_names[BATCH_STATE_COUNT] = {BATCH_STATES(X)};
#undef X
#define X(name, text) [BATCH_ON_##name] = text,
const char *const batch_call_names[BATCH_CALL_COUNT] = {BATCH_CALLS(X)};
#undef X

static struct batch *find(const struct batches *all, uint64_t id)
{
    return (struct batch *)hash_first(&all->ids, id);
}

struct batch *batch_find(const struct jobs *jobs, uint64_t id)
{
    struct batch *b = find(jobs_batches(jobs), id);
    return b && !b->arrives ? b : NULL;
}

/* --- Made --- */

/* They come by id, but for those of a new owner of a cluster, whose numbers are higher. */
static void link(struct batches *all, struct batch *b)
{
    assert(!all->last || all->last->by_id.hash < b->by_id.hash);
    b->prev = all->last;
    *(all->last ? &all->last->next : &all->first) = b;
    all->last = b;
    hash_add(&all->ids, &b->by_id);
    counter_set(&all->shown, all->ids.count);
}

static size_t bytes_of(const struct batch_spec *spec)
{
    size_t bytes = sizeof(struct batch);
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++)
        bytes += spec->calls[n].len;
    return bytes;
}

size_t batch_bytes(const struct batch_spec *spec)
{
    return bytes_of(spec);
}

struct batch *batch_new(struct jobs *jobs, const struct batch_spec *spec)
{
    struct tenant *tenant = table_tenant(jobs_table(jobs), spec->tenant);
    size_t bytes = bytes_of(spec);
    struct batch *b = tenant ? malloc(bytes) : NULL;
    if (!b)
        return NULL;
    *b = (struct batch){.jobs = jobs,
                        .tenant = tenant,
                        .parent = spec->parent,
                        .bytes = bytes,
                        .created = spec->created,
                        .keep = spec->keep,
                        .durable = spec->durable};
    uint8_t *at = (uint8_t *)(b + 1);
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++)
        b->calls[n] = span_put(spec->calls[n], &at);
    b->by_id.hash = spec->id;
    ao_init(&b->timer, jobs_batches(jobs)->timer_class, jobs_activator(jobs));
    link(jobs_batches(jobs), b);
    tenant->jobs++;
    tenant->batches++;
    table_weigh_other(jobs_table(jobs), tenant, 0, bytes);
    if (b->parent)
        b->parent->children++;
    if (b->parent && !batch_is_frozen(b->parent)) {
        b->parent->open++;
        b->parent->child_open++;
    }
    return b;
}

/* --- What it has submitted --- */

void batch_set_sent(struct batch *b, enum batch_call which, uint64_t task)
{
    struct batch_sent *sent = &b->sent[which];
    assert(task > 0 && batch_sent(b, which) == 0);
    *sent = (struct batch_sent){.by_task.hash = task, .batch = b};
    hash_add(&jobs_batches(b->jobs)->sent, &sent->by_task);
}

const struct batch *batch_that_sent(const struct jobs *jobs, uint64_t task)
{
    const struct hash_link *link = hash_first(&jobs_batches(jobs)->sent, task);
    return link ? ((const struct batch_sent *)link)->batch : NULL;
}

/* --- Freed --- */

static void leave_due(struct batches *all, struct batch *b)
{
    struct batch *prev = NULL;
    for (struct batch **at = &all->due; b->due; at = &(*at)->next_due) {
        if (*at == b) {
            *at = b->next_due;
            all->due_last = all->due_last == b ? prev : all->due_last;
            b->due = false;
            return;
        }
        prev = *at;
    }
}

static void unlink_batch(struct batches *all, struct batch *b)
{
    if (all->cancel_at == b)
        all->cancel_at = b->next;
    *(b->prev ? &b->prev->next : &all->first) = b->next;
    *(b->next ? &b->next->prev : &all->last) = b->prev;
    hash_remove(&all->ids, &b->by_id);
    for (enum batch_call which = 0; which < BATCH_CALL_COUNT; which++)
        if (batch_sent(b, which) > 0)
            hash_remove(&all->sent, &b->sent[which].by_task);
    counter_set(&all->shown, all->ids.count);
}

void batch_timer_retired(struct ao *timer)
{
    ao_fini(timer);
    free(ao_of(timer, struct batch, timer));
}

/* Of one that was never seen, the parent counts nothing. */
static void leave_parent(struct batch *b)
{
    struct batch *parent = b->parent;
    if (!parent)
        return;
    parent->children--;
    if (b->state == BATCH_ENDED || batch_is_frozen(parent))
        return;
    parent->open--;
    parent->child_open--;
    batch_look(parent);
}

static void take_out(struct batch *b)
{
    struct batches *all = jobs_batches(b->jobs);
    assert(!b->riding && !b->waiting && !b->watchers && b->children == 0);
    leave_due(all, b);
    leave_parent(b);
    if (b->unsaved)
        LIST_REMOVE(b, by_unsaved);
    unlink_batch(all, b);
    table_weigh_other(jobs_table(b->jobs), b->tenant, b->bytes, 0);
    b->tenant->batches--;
    table_tenant_unref(jobs_table(b->jobs), b->tenant);
    free(b->leaving);
    free(b->trouble);
}

void batch_free(struct batch *b)
{
    assert(!b->under_way);
    take_out(b);
    ao_retire(&b->timer);
}

void batches_free_all(struct jobs *jobs)
{
    struct batch *b;
    while ((b = jobs_batches(jobs)->last)) {
        take_out(b);
        ao_deactivate(&b->timer);
        ao_fini(&b->timer);
        free(b);
    }
}

/* --- Its life --- */

void batch_set_state(struct batch *b, enum batch_state state)
{
    static const uint8_t from[BATCH_STATE_COUNT] = {
        [BATCH_CLOSED] = 1 << BATCH_OPEN,
        [BATCH_CANCELLING] = 1 << BATCH_OPEN | 1 << BATCH_CLOSED,
        [BATCH_ENDING] = 1 << BATCH_CLOSED | 1 << BATCH_CANCELLING,
        [BATCH_ENDED] = 1 << BATCH_ENDING | 1 << BATCH_OPEN /* as the store has it */};
    assert(from[state] & 1 << b->state);
    b->state = (uint8_t)state;
}

void batch_look(struct batch *b)
{
    struct batches *all = jobs_batches(b->jobs);
    if (b->due || b->state == BATCH_ENDED)
        return;
    b->due = true;
    b->next_due = NULL;
    *(all->due ? &all->due_last->next_due : &all->due) = b;
    all->due_last = b;
    jobs_activate(b->jobs);
}

void batch_close(struct batch *b)
{
    if (b->state == BATCH_OPEN)
        batch_set_state(b, BATCH_CLOSED);
    batch_look(b);
}

void batch_cancel(struct batch *b)
{
    struct batches *all = jobs_batches(b->jobs);
    if (b->state > BATCH_CLOSED)
        return;
    batch_set_state(b, BATCH_CANCELLING);
    b->cancelled = true;
    all->again = true;
    batch_look(b);
}

enum job_state batch_outcome(const struct batch *b)
{
    if (b->cancelled)
        return JOB_CANCELLED;
    return batch_failures(b) > 0 ? JOB_FAILED : JOB_DONE;
}

static void tell_parent(const struct batch *b)
{
    struct batch *parent = b->parent;
    if (!parent || batch_is_frozen(parent))
        return;
    assert(parent->open > 0 && parent->child_open > 0);
    parent->open--;
    parent->child_open--;
    parent->child_ended++;
    parent->ended[batch_outcome(b) - JOB_DONE]++;
    batch_look(parent);
}

void batch_recovered_ended(struct batch *b)
{
    batch_set_state(b, BATCH_ENDED);
    tell_parent(b);
}

void batch_over(struct batch *b)
{
    char id[ID_TEXT_SIZE];
    struct job_table *table = jobs_table(b->jobs);
    batch_set_state(b, BATCH_ENDED);
    free(b->trouble);
    b->trouble = NULL;
    feed_add_batch(&table->feed, b->tenant, span_of(id_batch_text(b->by_id.hash, id), ID_TEXT_LEN),
                   span_text(job_state_names[batch_outcome(b)]), b->ended_at);
    tell_parent(b);
    for (struct batch_watcher *w = b->watchers, *next; w; w = next) {
        next = w->next;
        waiters_due(b->jobs, ao_of(w, struct operation, batch.watcher));
    }
    ao_deactivate(&b->timer);
    ao_sleep_until(&b->timer, table_time_after(table, b->keep));
}
