#include "tests/support/memory_rows.h"

#include <stdlib.h>

#include "server/jobs/jobs_parts.h"
#include "server/store/chunk.h"
#include "server/store/rows.h"
#include "tests/support/cmocka_env.h"

static struct memory_row *find(const struct memory_rows *m, uint64_t id)
{
    for (uint32_t i = m->row_count; i > 0; i--)
        if (m->rows[i - 1].task.id == id && m->rows[i - 1].there)
            return &m->rows[i - 1];
    return NULL;
}

const struct memory_row *memory_rows_find(const struct memory_rows *m, uint64_t id)
{
    return find(m, id);
}

static size_t copy_span(struct span *span, uint8_t *to)
{
    size_t len = span->len;
    if (to && len > 0) {
        memcpy(to, span->at, len);
        span->at = to;
    }
    return len;
}

/* One after the other to `to`, if it is not NULL.  Returns the bytes of all. */
static size_t copy_spans(struct span **spans, unsigned count, uint8_t *to)
{
    size_t at = 0;
    for (unsigned i = 0; i < count; i++)
        at += copy_span(spans[i], to ? to + at : NULL);
    return at;
}

static size_t copy_fixed(struct store_task *t, uint8_t *to)
{
    struct span *spans[] = {&t->method,     &t->tenant, &t->key,     &t->coalesce,  &t->limit_key,
                            &t->rate_key,   &t->params, &t->after,   &t->after_any, &t->traceparent,
                            &t->tracestate, &t->actor,  &t->reminder};
    return copy_spans(spans, sizeof spans / sizeof spans[0], to);
}

static size_t copy_changing(struct store_task *t, uint8_t *to)
{
    struct span *spans[] = {&t->error_code, &t->error_text, &t->ran_by, &t->result, &t->checkpoint};
    return copy_spans(spans, sizeof spans / sizeof spans[0], to);
}

static void drop_row(struct memory_row *row)
{
    free(row->fixed);
    free(row->changing);
    row->fixed = row->changing = NULL;
    row->there = false;
}

/* `*array` of `count` members gets room for one more; false without memory. */
static bool make_room(void **array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return true;
    void *larger = realloc(*array, (2 * *room + 16) * size);
    if (!larger)
        return false;
    *array = larger;
    *room = 2 * *room + 16;
    return true;
}

static bool put(struct memory_rows *m, const struct store_task *task)
{
    struct memory_row row = {.task = *task, .there = true};
    void *rows = m->rows;
    row.task.has_life = row_has_life(task);
    assert_null(find(m, task->id));
    row.fixed = malloc(copy_fixed(&row.task, NULL) + 1);
    row.changing = malloc(copy_changing(&row.task, NULL) + 1);
    bool room = make_room(&rows, m->row_count, &m->row_room, sizeof *m->rows);
    m->rows = rows;
    if (!row.fixed || !row.changing || !room) {
        drop_row(&row);
        return false;
    }
    copy_fixed(&row.task, row.fixed);
    copy_changing(&row.task, row.changing);
    uint32_t at = m->row_count++; /* rows stand by id */
    for (; at > 0 && m->rows[at - 1].task.id > task->id; at--)
        m->rows[at] = m->rows[at - 1];
    m->rows[at] = row;
    return true;
}

/* The durability and the options are written again: what only a submission says stays. */
static bool submit_anew(struct memory_row *row, const struct store_task *t)
{
    struct store_task now = *t;
    now.method = row->task.method;
    now.tenant = row->task.tenant;
    now.params = row->task.params;
    now.actor = row->task.actor;
    now.reminder = row->task.reminder;
    now.every = row->task.every;
    now.batch = row->task.batch;
    now.created = row->task.created;
    void *block = malloc(copy_fixed(&now, NULL) + 1);
    if (!block)
        return false;
    copy_fixed(&now, block);
    now.result = row->task.result;
    now.checkpoint = row->task.checkpoint;
    row->task = now;
    free(row->fixed);
    row->fixed = block;
    return true;
}

/* A CHANGE is of the life alone, unless it says otherwise, and leaves the result if it has none. */
static bool change(struct memory_rows *m, const struct store_task *t)
{
    struct memory_row *row = find(m, t->id);
    assert_non_null(row);
    if (t->anew && !submit_anew(row, t))
        return false;
    struct store_task *r = &row->task, now = *r;
    now.has_life = true;
    now.state = t->state;
    now.cancel_asked = t->cancel_asked;
    now.attempt = t->attempt;
    now.boards = t->boards;
    now.failures = t->failures;
    now.crashes = t->crashes;
    now.losses = t->losses;
    now.lost = t->lost;
    now.ran_by = t->ran_by;
    now.due_at = t->due_at;
    now.started_at = t->started_at;
    now.ended_at = t->ended_at;
    now.error_code = t->error_code;
    now.error_text = t->error_text;
    if (t->result.len > 0)
        now.result = t->result;
    if (t->checkpoint.len > 0)
        now.checkpoint = t->checkpoint;
    if (t->settled)
        now.after = now.after_any = (struct span){0};
    void *block = malloc(copy_changing(&now, NULL) + 1);
    if (!block)
        return false;
    copy_changing(&now, block);
    *r = now;
    free(row->changing);
    row->changing = block;
    return true;
}

/* A file would keep what a bare task leaves, and not be read any more. */
static void remove_task(struct memory_rows *m, const struct store_task *t)
{
    struct memory_row *row = find(m, t->id);
    for (uint32_t i = 0; t->bare && i < m->event_count; i++)
        assert_int_not_equal(m->events[i].event.id, t->id);
    assert_false(t->bare && row && (row->task.has_options || row->task.has_life));
    if (row)
        drop_row(row);
}

void memory_rows_raise(struct memory_rows *m)
{
    for (uint32_t i = 0; i < m->row_count; i++) {
        struct store_task *t = &m->rows[i].task;
        if (m->rows[i].there && t->state == JOB_QUEUED && durable_is_awaited(t->durable))
            t->attempt += t->attempt < INT32_MAX;
    }
}

/* It comes in place of the one of its number. */
static void trim_events(struct memory_rows *m, const struct store_event *event)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < m->event_count; i++)
        if (m->events[i].event.id == event->id &&
            (m->events[i].event.seq == event->seq ||
             (m->events[i].event.seq > 1 && m->events[i].event.seq < event->oldest)))
            free(m->events[i].block);
        else
            m->events[left++] = m->events[i];
    m->event_count = left;
}

/* Those of a task come back in the order of their numbers. */
static uint32_t place_of(const struct memory_rows *m, const struct store_event *event)
{
    uint32_t at = m->event_count;
    for (uint32_t i = m->event_count; i > 0; i--)
        if (m->events[i - 1].event.id == event->id && m->events[i - 1].event.seq > event->seq)
            at = i - 1;
    return at;
}

static bool take_event(struct memory_rows *m, const struct store_event *event)
{
    struct memory_event e = {.event = *event};
    void *events = m->events;
    uint8_t *block = e.block = malloc(event->text.len + event->data.len + 1);
    bool room = make_room(&events, m->event_count, &m->event_room, sizeof *m->events);
    m->events = events;
    if (!block || !room) {
        free(block);
        return false;
    }
    size_t text = copy_span(&e.event.text, block);
    copy_span(&e.event.data, block + text);
    trim_events(m, event);
    uint32_t at = place_of(m, event);
    memmove(&m->events[at + 1], &m->events[at], (m->event_count++ - at) * sizeof e);
    m->events[at] = e;
    return true;
}

static void count(struct memory_rows *m, const struct store_counts *add)
{
    m->counts.submitted += add->submitted;
    m->counts.done += add->done;
    m->counts.failed += add->failed;
    m->counts.cancelled += add->cancelled;
    m->counts.expired += add->expired;
    m->counts.dead += add->dead;
}

static void audit(const struct memory_rows *m, struct store_audit *out)
{
    uint32_t rows = 0;
    *out = (struct store_audit){.from = out->from, .counters = m->counts};
    for (uint32_t i = 0; i < m->row_count; i++) {
        if (!m->rows[i].there || m->rows[i].task.id < out->from)
            continue;
        if (rows++ == m->count_rows) {
            out->next = m->rows[i].task.id;
            return;
        }
        out->open += job_state_open((enum job_state)m->rows[i].task.state);
    }
}

static void forget_queue(struct memory_rows *m, struct span method)
{
    for (uint32_t i = 0; i < m->queue_count; i++)
        if (span_equal(method, m->queues[i].method)) {
            free((void *)m->queues[i].method.at);
            m->queues[i] = m->queues[--m->queue_count];
            return;
        }
}

/* False without memory. */
static bool keep_queue(struct memory_rows *m, const struct store_queue *queue)
{
    assert_true(m->queue_count < sizeof m->queues / sizeof m->queues[0]);
    char *name = strndup((const char *)queue->method.at, queue->method.len);
    if (!name)
        return false;
    m->queues[m->queue_count] = *queue;
    m->queues[m->queue_count++].method = span_text(name);
    return true;
}

static void forget_rate(struct memory_rows *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->rate_count; i++)
        if (m->rates[i].id == id) {
            free((void *)m->rates[i].starts.at);
            memmove(&m->rates[i], &m->rates[i + 1], (--m->rate_count - i) * sizeof *m->rates);
            return;
        }
}

/* In the order of their numbers, in which the file is read back.  False without memory. */
static bool keep_rate(struct memory_rows *m, const struct store_rate *rate)
{
    uint32_t at = m->rate_count;
    assert_true(m->rate_count < sizeof m->rates / sizeof m->rates[0]);
    struct store_rate kept = *rate;
    struct span *spans[] = {&kept.starts, &kept.key, &kept.tenant};
    void *block = malloc(copy_spans(spans, 3, NULL) + 1);
    if (!block)
        return false;
    copy_spans(spans, 3, block);
    kept.starts.at = block;
    for (; at > 0 && m->rates[at - 1].id > kept.id; at--)
        m->rates[at] = m->rates[at - 1];
    m->rates[at] = kept;
    m->rate_count++;
    return true;
}

static void forget_semaphore(struct memory_rows *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->semaphore_count; i++)
        if (m->semaphores[i].id == id) {
            free((void *)m->semaphores[i].name.at);
            m->semaphores[i] = m->semaphores[--m->semaphore_count];
            return;
        }
}

/* False without memory. */
static bool keep_semaphore(struct memory_rows *m, const struct store_semaphore *semaphore)
{
    assert_true(m->semaphore_count < sizeof m->semaphores / sizeof m->semaphores[0]);
    struct store_semaphore *kept = &m->semaphores[m->semaphore_count];
    *kept = *semaphore;
    struct span *spans[] = {&kept->name, &kept->tenant};
    void *block = malloc(copy_spans(spans, 2, NULL) + 1);
    if (!block)
        return false;
    copy_spans(spans, 2, block);
    kept->name.at = block;
    m->semaphore_count++;
    return true;
}

static void forget_hold(struct memory_rows *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->hold_count; i++)
        if (m->holds[i].id == id) {
            free((void *)m->holds[i].name.at);
            m->hold_count--; /* the others stay in order */
            memmove(&m->holds[i], &m->holds[i + 1], (m->hold_count - i) * sizeof m->holds[0]);
            return;
        }
}

/* False without memory. */
static bool keep_hold(struct memory_rows *m, const struct store_hold *hold)
{
    assert_true(m->hold_count < sizeof m->holds / sizeof m->holds[0]);
    struct store_hold *kept = &m->holds[m->hold_count];
    *kept = *hold;
    struct span *spans[] = {&kept->name, &kept->tenant, &kept->secret, &kept->principal};
    void *block = malloc(copy_spans(spans, 4, NULL) + 1);
    if (!block)
        return false;
    copy_spans(spans, 4, block);
    kept->name.at = block;
    m->hold_count++;
    m->last_fence = hold->id > m->last_fence ? hold->id : m->last_fence;
    return true;
}

static void forget_cron(struct memory_rows *m, const struct store_cron *cron)
{
    for (uint32_t i = 0; i < m->cron_count; i++)
        if (span_equal(m->crons[i].cron.name, cron->name) &&
            span_equal(m->crons[i].cron.tenant, cron->tenant)) {
            free(m->crons[i].block);
            m->crons[i] = m->crons[--m->cron_count];
            return;
        }
}

/* False without memory. */
static bool keep_cron(struct memory_rows *m, const struct store_cron *cron)
{
    struct memory_cron kept = {.cron = *cron};
    struct store_cron *c = &kept.cron;
    struct span *spans[] = {&c->name,   &c->method, &c->schedule, &c->zone,
                            &c->tenant, &c->params, &c->options,  &c->made_by};
    const unsigned count = sizeof spans / sizeof spans[0];
    kept.block = malloc(copy_spans(spans, count, NULL) + 1);
    if (!kept.block)
        return false;
    copy_spans(spans, count, kept.block);
    m->crons[m->cron_count++] = kept;
    return true;
}

static void change_cron(struct memory_rows *m, const struct store_cron *cron)
{
    for (uint32_t i = 0; i < m->cron_count; i++) {
        struct store_cron *c = &m->crons[i].cron;
        if (!span_equal(c->name, cron->name) || !span_equal(c->tenant, cron->tenant))
            continue;
        c->next_at = cron->next_at;
        c->last_at = cron->last_at;
        c->last_task = cron->last_task;
        c->paused = cron->paused;
        c->durable = cron->durable;
    }
}

/* --- Actors --- */

static struct memory_actor *find_actor(const struct memory_rows *m, const struct store_actor *row)
{
    for (uint32_t i = 0; i < m->actor_count; i++)
        if (span_equal(m->actors[i].actor.tenant, row->tenant) &&
            span_equal(m->actors[i].actor.type, row->type) &&
            span_equal(m->actors[i].actor.key, row->key))
            return &m->actors[i];
    return NULL;
}

const struct store_actor *memory_rows_actor(const struct memory_rows *m, struct span tenant,
                                            struct span type, struct span key)
{
    const struct memory_actor *a =
        find_actor(m, &(struct store_actor){.tenant = tenant, .type = type, .key = key});
    return a ? &a->actor : NULL;
}

/* Returns the copies; NULL without memory. */
static void *copy_actor(struct store_actor *a)
{
    struct span *spans[] = {&a->tenant, &a->type, &a->key, &a->stopped, &a->state};
    const unsigned count = sizeof spans / sizeof spans[0];
    void *block = malloc(copy_spans(spans, count, NULL) + 1);
    if (block)
        copy_spans(spans, count, block);
    return block;
}

static bool change_actor(struct memory_rows *m, const struct store_actor *row, bool put)
{
    struct memory_actor *was = find_actor(m, row), new = {.actor = *row};
    void *actors = m->actors;
    if (was) {
        free(was->block);
        *was = m->actors[--m->actor_count];
    }
    if (!put)
        return true;
    bool room = make_room(&actors, m->actor_count, &m->actor_room, sizeof *m->actors);
    m->actors = actors;
    new.block = room ? copy_actor(&new.actor) : NULL;
    if (new.block)
        m->actors[m->actor_count++] = new;
    return new.block != NULL;
}

static bool get_row(const struct memory_rows *m, struct store_op *op)
{
    struct store_actor *row = (struct store_actor *)op->row;
    assert_ptr_equal(op->table, &store_actors);
    const struct memory_actor *found = find_actor(m, row);
    op->found = found != NULL;
    op->bytes = NULL;
    if (!found)
        return true;
    *row = found->actor;
    op->bytes = copy_actor(row);
    return op->bytes != NULL;
}

static int compare_actors(const struct store_actor *a, const struct store_actor *b)
{
    int order = span_compare(a->type, b->type);
    if (order == 0)
        order = span_compare(a->key, b->key);
    return order ? order : span_compare(a->tenant, b->tenant);
}

static int by_place(const void *a, const void *b)
{
    return compare_actors(&((const struct memory_actor *)a)->actor,
                          &((const struct memory_actor *)b)->actor);
}

static bool get_page(struct memory_rows *m, struct store_op *op)
{
    const struct store_actor *from = (const struct store_actor *)op->row;
    uint32_t count = 0;
    if (op->chunk)
        store_chunk_clear(op->chunk);
    else if (!(op->chunk = store_chunk_new()))
        return false;
    if (m->actor_count > 0)
        qsort(m->actors, m->actor_count, sizeof *m->actors, by_place);
    for (uint32_t i = 0; i < m->actor_count && count < op->limit; i++) {
        struct store_actor row = m->actors[i].actor;
        if (compare_actors(&row, from) < 0)
            continue;
        row.state = (struct span){0};
        if (!store_chunk_row(op->chunk, &store_actors, &row))
            return false;
        count++;
    }
    return true;
}

static void forget_actor_type(struct memory_rows *m, struct span type)
{
    for (uint32_t i = 0; i < m->actor_type_count; i++)
        if (span_equal(m->actor_types[i].type.type, type)) {
            free(m->actor_types[i].block);
            m->actor_types[i] = m->actor_types[--m->actor_type_count];
            return;
        }
}

static bool keep_actor_type(struct memory_rows *m, const struct store_actor_type *type)
{
    struct memory_actor_type kept = {.type = *type};
    struct span *spans[] = {&kept.type.type, &kept.type.policy};
    assert_true(m->actor_type_count < sizeof m->actor_types / sizeof m->actor_types[0]);
    kept.block = malloc(copy_spans(spans, 2, NULL) + 1);
    if (!kept.block)
        return false;
    copy_spans(spans, 2, kept.block);
    m->actor_types[m->actor_type_count++] = kept;
    return true;
}

/* --- Batches --- */

static void forget_batch(struct memory_rows *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->batch_count; i++)
        if (m->batches[i].batch.id == id) {
            free(m->batches[i].block);
            memmove(&m->batches[i], &m->batches[i + 1],
                    (--m->batch_count - i) * sizeof *m->batches);
            return;
        }
}

/* In the order of their numbers, in which they are read back.  False without memory. */
static bool keep_batch(struct memory_rows *m, const struct store_batch_row *row)
{
    struct memory_batch kept = {.batch = *row};
    struct store_batch_row *b = &kept.batch;
    struct span *spans[] = {&b->tenant, &b->on_success, &b->on_failure, &b->on_end};
    void *batches = m->batches;
    bool room = make_room(&batches, m->batch_count, &m->batch_room, sizeof *m->batches);
    m->batches = batches;
    kept.block = room ? malloc(copy_spans(spans, 4, NULL) + 1) : NULL;
    if (!kept.block)
        return false;
    copy_spans(spans, 4, kept.block);
    uint32_t at = m->batch_count++;
    for (; at > 0 && m->batches[at - 1].batch.id > row->id; at--)
        m->batches[at] = m->batches[at - 1];
    m->batches[at] = kept;
    return true;
}

void memory_rows_set_back(struct memory_rows *m, uint64_t by)
{
    for (uint32_t i = 0; i < m->row_count; i++) {
        struct store_task *t = &m->rows[i].task;
        t->due_at -= t->due_at < by ? t->due_at : by;
        if (t->ended_at == 0)
            t->deadline_at -= t->deadline_at < by ? t->deadline_at : by;
    }
}

static void take_inbox_row(struct memory_rows *m, uint64_t id)
{
    assert_true(id < 64);
    m->inbox &= ~(UINT64_C(1) << id);
}

/* False without memory. */
static bool change_row(struct memory_rows *m, const struct store_table *table, const void *row,
                       bool put)
{
    if (table == &store_cron_states) {
        change_cron(m, row);
        return true;
    }
    if (table == &store_node_boards) {
        const struct store_node_board *board = row;
        assert_true(put && board->node.len == 1 && board->node.at[0] - 'a' < MEMORY_NODES);
        m->node_boards[board->node.at[0] - 'a'] = board->board;
        return true;
    }
    if (table == &store_actors)
        return change_actor(m, row, put);
    if (table == &store_actor_types) {
        forget_actor_type(m, ((const struct store_actor_type *)row)->type);
        return !put || keep_actor_type(m, row);
    }
    if (table == &store_batches) {
        forget_batch(m, ((const struct store_batch_row *)row)->id);
        return !put || keep_batch(m, row);
    }
    if (table == &store_inbox) {
        assert_false(put);
        take_inbox_row(m, ((const struct store_inbox_row *)row)->id);
        return true;
    }
    if (table == &store_queues)
        forget_queue(m, ((const struct store_queue *)row)->method);
    else if (table == &store_crons)
        forget_cron(m, row);
    else if (table == &store_rates)
        forget_rate(m, ((const struct store_rate *)row)->id);
    else if (table == &store_semaphores)
        forget_semaphore(m, ((const struct store_semaphore *)row)->id);
    else
        forget_hold(m, ((const struct store_hold *)row)->id);
    if (!put)
        return true;
    return table == &store_queues       ? keep_queue(m, row)
           : table == &store_crons      ? keep_cron(m, row)
           : table == &store_rates      ? keep_rate(m, row)
           : table == &store_semaphores ? keep_semaphore(m, row)
                                        : keep_hold(m, row);
}

static bool change_rows(struct memory_rows *m, struct store_op *op)
{
    switch (op->kind) {
    case STORE_PUT:
        if (!put(m, &op->task))
            return false;
        if (op->task.taken > 0)
            take_inbox_row(m, op->task.taken);
        return true;
    case STORE_CHANGE:
        return change(m, &op->task);
    case STORE_REMOVE:
        remove_task(m, &op->task);
        return true;
    case STORE_EVENT:
        return take_event(m, &op->event);
    case STORE_SYNC:
    case STORE_LOAD: /* of a cluster */
    case STORE_MARKS:
    case STORE_HAND_OVER:
        return true;
    case STORE_GROUP:
        for (struct store_op *one = op->group.first; one; one = one->next)
            if (!memory_rows_apply(m, one) && !memory_rows_apply(m, one)) /* all or none of it */
                return false;
        return true;
    case STORE_ROW_GET:
        return get_row(m, op);
    case STORE_ROW_PAGE:
        return get_page(m, op);
    case STORE_COUNT:
        audit(m, &op->audit);
        return true;
    case STORE_SET_BACK:
        memory_rows_set_back(m, op->back);
        return true;
    case STORE_ROW_PUT:
    case STORE_ROW_REMOVE:
        return change_row(m, op->table, op->row, op->kind == STORE_ROW_PUT);
    }
    return true;
}

bool memory_rows_apply(struct memory_rows *m, struct store_op *op)
{
    if (!change_rows(m, op))
        return false;
    count(m, &op->add);
    return true;
}

uint64_t memory_rows_last_id(const struct memory_rows *m)
{
    return m->row_count ? m->rows[m->row_count - 1].task.id : 0;
}

static bool read_table(const struct memory_rows *m, const struct store_reader *reader,
                       const struct store_table *table)
{
    bool good = true;
    for (uint32_t i = 0; table == &store_queues && good && i < m->queue_count; i++)
        good = reader->row(reader->arg, table, &m->queues[i]);
    for (uint32_t i = 0; table == &store_rates && good && i < m->rate_count; i++)
        good = reader->row(reader->arg, table, &m->rates[i]);
    for (uint32_t i = 0; table == &store_semaphores && good && i < m->semaphore_count; i++)
        good = reader->row(reader->arg, table, &m->semaphores[i]);
    for (uint32_t i = 0; table == &store_holds && good && i < m->hold_count; i++)
        good = reader->row(reader->arg, table, &m->holds[i]);
    for (uint32_t i = 0; table == &store_crons && good && i < m->cron_count; i++)
        good = reader->row(reader->arg, table, &m->crons[i].cron);
    for (uint32_t i = 0; table == &store_actor_types && good && i < m->actor_type_count; i++)
        good = reader->row(reader->arg, table, &m->actor_types[i].type);
    for (uint32_t i = 0; table == &store_batches && good && i < m->batch_count; i++)
        good = reader->row(reader->arg, table, &m->batches[i].batch);
    for (unsigned i = 0; table == &store_node_boards && good && i < 4 + m->more_nodes; i++) {
        const uint8_t name = (uint8_t)('a' + i);
        good = reader->row(
            reader->arg, table,
            &(struct store_node_board){.node = span_of(&name, 1), .board = m->node_boards[i]});
    }
    return good;
}

bool memory_rows_read(const struct memory_rows *m, const struct store_reader *reader)
{
    reader->counts(reader->arg, &m->counts);
    for (uint32_t i = 0; i < reader->table_count; i++)
        if (!read_table(m, reader, reader->tables[i]))
            return false;
    for (uint32_t i = 0; i < m->row_count; i++)
        if (m->rows[i].there && !reader->task(reader->arg, &m->rows[i].task))
            return false;
    for (uint32_t i = 0; i < m->row_count; i++)
        for (uint32_t k = 0; m->rows[i].there && k < m->event_count; k++)
            if (m->events[k].event.id == m->rows[i].task.id &&
                !reader->event(reader->arg, &m->events[k].event))
                return false;
    return true;
}

void memory_rows_fini(struct memory_rows *m)
{
    for (uint32_t i = 0; i < m->row_count; i++)
        drop_row(&m->rows[i]);
    for (uint32_t i = 0; i < m->event_count; i++)
        free(m->events[i].block);
    for (uint32_t i = 0; i < m->queue_count; i++)
        free((void *)m->queues[i].method.at);
    for (uint32_t i = 0; i < m->rate_count; i++)
        free((void *)m->rates[i].starts.at);
    while (m->semaphore_count > 0)
        forget_semaphore(m, m->semaphores[0].id);
    while (m->hold_count > 0)
        forget_hold(m, m->holds[0].id);
    for (uint32_t i = 0; i < m->cron_count; i++)
        free(m->crons[i].block);
    for (uint32_t i = 0; i < m->actor_count; i++)
        free(m->actors[i].block);
    while (m->actor_type_count > 0)
        forget_actor_type(m, m->actor_types[0].type.type);
    while (m->batch_count > 0)
        forget_batch(m, m->batches[0].batch.id);
    free(m->batches);
    free(m->actors);
    free(m->rows);
    free(m->events);
}
