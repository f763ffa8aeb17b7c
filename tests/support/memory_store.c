#include "tests/support/memory_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "server/ledger/ledger_parts.h"

/* --- Rows --- */

static struct memory_row *find(const struct store *s, uint64_t id)
{
    for (uint32_t i = s->row_count; i > 0; i--)
        if (s->rows[i - 1].task.id == id && s->rows[i - 1].there)
            return &s->rows[i - 1];
    return NULL;
}

const struct memory_row *memory_store_row(const struct store *s, uint64_t id)
{
    return find(s, id);
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

static size_t copy_fixed(struct store_task *t, uint8_t *to)
{
    struct span *spans[] = {&t->method,    &t->tenant,   &t->key,    &t->coalesce,
                            &t->limit_key, &t->rate_key, &t->params, &t->after};
    size_t at = 0;
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
        at += copy_span(spans[i], to ? to + at : NULL);
    return at;
}

static size_t copy_changing(struct store_task *t, uint8_t *to)
{
    struct span *spans[] = {&t->error_code, &t->error_text, &t->result};
    size_t at = 0;
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
        at += copy_span(spans[i], to ? to + at : NULL);
    return at;
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

static bool put(struct store *s, const struct store_task *task)
{
    struct memory_row row = {.task = *task, .there = true};
    void *rows = s->rows;
    assert_null(find(s, task->id));
    row.fixed = malloc(copy_fixed(&row.task, NULL) + 1);
    row.changing = malloc(copy_changing(&row.task, NULL) + 1);
    bool room = make_room(&rows, s->row_count, &s->row_room, sizeof *s->rows);
    s->rows = rows;
    if (!row.fixed || !row.changing || !room) {
        drop_row(&row);
        return false;
    }
    copy_fixed(&row.task, row.fixed);
    copy_changing(&row.task, row.changing);
    uint32_t at = s->row_count++; /* rows stand by id */
    for (; at > 0 && s->rows[at - 1].task.id > task->id; at--)
        s->rows[at] = s->rows[at - 1];
    s->rows[at] = row;
    return true;
}

static bool change(struct store *s, const struct store_task *t)
{
    struct memory_row *row = find(s, t->id);
    assert_non_null(row);
    struct store_task *r = &row->task;
    struct store_task was = *r;
    void *block =
        malloc(copy_changing(&(struct store_task){.error_code = t->error_code,
                                                  .error_text = t->error_text,
                                                  .result = t->result.len ? t->result : was.result},
                             NULL) +
               1);
    if (!block)
        return false;
    *r = *t;
    r->method = was.method;
    r->tenant = was.tenant;
    r->key = was.key;
    r->coalesce = was.coalesce;
    r->limit_key = was.limit_key;
    r->rate_key = was.rate_key;
    r->params = was.params;
    r->after = t->settled ? (struct span){0} : was.after;
    r->created = was.created;
    r->deadline_at = was.deadline_at;
    r->timeout = was.timeout;
    r->backoff = was.backoff;
    r->backoff_max = was.backoff_max;
    r->keep = was.keep;
    r->rate_per = was.rate_per;
    r->keep_size = was.keep_size;
    r->retries = was.retries;
    r->limit = was.limit;
    r->rate = was.rate;
    r->priority = was.priority;
    r->durable = was.durable;
    r->jitter = was.jitter;
    if (t->result.len == 0)
        r->result = was.result;
    copy_changing(r, block);
    free(row->changing);
    row->changing = block;
    return true;
}

static void trim_events(struct store *s, const struct store_event *event)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < s->event_count; i++)
        if (s->events[i].event.id == event->id && s->events[i].event.seq < event->oldest)
            free(s->events[i].block);
        else
            s->events[left++] = s->events[i];
    s->event_count = left;
}

static bool take_event(struct store *s, const struct store_event *event)
{
    struct memory_event e = {.event = *event};
    void *events = s->events;
    uint8_t *block = e.block = malloc(event->text.len + event->data.len + 1);
    bool room = make_room(&events, s->event_count, &s->event_room, sizeof *s->events);
    s->events = events;
    if (!block || !room) {
        free(block);
        return false;
    }
    size_t text = copy_span(&e.event.text, block);
    copy_span(&e.event.data, block + text);
    s->events[s->event_count++] = e;
    trim_events(s, event);
    return true;
}

static void count(struct store *s, const struct store_counts *add)
{
    s->counts.submitted += add->submitted;
    s->counts.done += add->done;
    s->counts.failed += add->failed;
    s->counts.cancelled += add->cancelled;
    s->counts.expired += add->expired;
    s->counts.dead += add->dead;
}

static void audit(const struct store *s, struct store_audit *out)
{
    uint32_t rows = 0;
    *out = (struct store_audit){.from = out->from, .counters = s->counts};
    for (uint32_t i = 0; i < s->row_count; i++) {
        if (!s->rows[i].there || s->rows[i].task.id < out->from)
            continue;
        if (rows++ == s->count_rows) {
            out->next = s->rows[i].task.id;
            return;
        }
        out->open += ledger_state_open((enum ledger_state)s->rows[i].task.state);
    }
}

static void forget_pause(struct store *s, struct span queue)
{
    for (uint32_t i = 0; i < s->paused_count; i++)
        if (span_is(queue, s->paused[i])) {
            free(s->paused[i]);
            s->paused[i] = s->paused[--s->paused_count];
            return;
        }
}

/* False without memory. */
static bool keep_pause(struct store *s, struct span queue)
{
    char *name = strndup((const char *)queue.at, queue.len);
    if (name)
        s->paused[s->paused_count++] = name;
    return name != NULL;
}

static void forget_cron(struct store *s, struct span name)
{
    for (uint32_t i = 0; i < s->cron_count; i++)
        if (span_equal(s->crons[i].cron.name, name)) {
            free(s->crons[i].block);
            s->crons[i] = s->crons[--s->cron_count];
            return;
        }
}

/* False without memory. */
static bool keep_cron(struct store *s, const struct store_cron *cron)
{
    struct memory_cron kept = {.cron = *cron};
    struct store_cron *c = &kept.cron;
    struct span *spans[] = {&c->name,   &c->method, &c->schedule, &c->zone,
                            &c->tenant, &c->params, &c->options};
    size_t size = 1;
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
        size += spans[i]->len;
    uint8_t *at = kept.block = malloc(size);
    for (unsigned i = 0; at && i < sizeof spans / sizeof spans[0]; i++)
        at += copy_span(spans[i], at);
    if (at)
        s->crons[s->cron_count++] = kept;
    return at != NULL;
}

static bool applied(struct store *s, struct store_op *op)
{
    switch (op->verb) {
    case STORE_PUT:
        return put(s, &op->task);
    case STORE_CHANGE:
        return change(s, &op->task);
    case STORE_REMOVE:
        if (find(s, op->task.id))
            drop_row(find(s, op->task.id));
        return true;
    case STORE_EVENT:
        return take_event(s, &op->event);
    case STORE_PAUSE:
        forget_pause(s, op->queue);
        return keep_pause(s, op->queue);
    case STORE_RESUME:
        forget_pause(s, op->queue);
        return true;
    case STORE_COUNT:
        audit(s, &op->audit);
        return true;
    case STORE_CRON_PUT:
        forget_cron(s, op->cron.name);
        return keep_cron(s, &op->cron);
    case STORE_CRON_REMOVE:
        forget_cron(s, op->cron.name);
        return true;
    }
    return true;
}

static void apply(struct store *s, struct store_op *op)
{
    op->error = s->error;
    if (op->error != STORE_OK)
        return;
    if (!applied(s, op)) {
        op->error = STORE_MEMORY;
        return;
    }
    count(s, &op->add);
    s->operations++;
}

/* --- The writer --- */

static struct store_op *pop(struct store_op **first)
{
    struct store_op *op = *first;
    *first = op->item.next ? ao_of(op->item.next, struct store_op, item) : NULL;
    return op;
}

static void push(struct store_op **first, struct store_op **last, struct store_op *op)
{
    op->item.next = NULL;
    if (*first)
        (*last)->item.next = &op->item;
    else
        *first = op;
    *last = op;
}

static void commit(struct store *s)
{
    s->commits++;
    while (s->first) {
        struct store_op *op = pop(&s->first);
        apply(s, op);
        push(&s->done_first, &s->done_last, op);
    }
}

static enum ao_verdict commit_step(struct ao *self)
{
    struct store *s = ao_of(self, struct store, disk);
    commit(s);
    ao_activate(s->receiver);
    return AO_DONE;
}

static const struct ao_class disk_class = {.name = "disk", .step = commit_step};

void store_push(struct store *s, struct store_op *op)
{
    if (s->stopped) {
        op->error = STORE_CLOSED;
        push(&s->done_first, &s->done_last, op);
        return;
    }
    push(&s->first, &s->last, op);
    if (s->receiver && ao_state(&s->disk) == AO_STATE_INACTIVE)
        ao_sleep_for(&s->disk, s->latency);
}

struct store_op *store_take(struct store *s)
{
    return s->done_first ? pop(&s->done_first) : NULL;
}

void store_release(struct store *s)
{
    (void)s;
}

/* --- Its life --- */

struct store *memory_store_new(void)
{
    struct store *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->count_rows = STORE_COUNT_ROWS;
    return s;
}

int store_start(struct store *s, struct activator *client, struct ao *receiver)
{
    s->receiver = receiver;
    s->stopped = false;
    ao_init(&s->disk, &disk_class, client);
    if (s->first)
        ao_sleep_for(&s->disk, s->latency);
    return 0;
}

void store_stop(struct store *s)
{
    if (!s->receiver)
        return;
    commit(s);
    ao_deactivate(&s->disk);
    ao_fini(&s->disk);
    s->receiver = NULL;
    s->stopped = true;
}

static void end_disk(struct store *s)
{
    if (s->receiver) {
        ao_deactivate(&s->disk);
        ao_fini(&s->disk);
    }
    s->receiver = NULL;
}

void memory_store_crash(struct store *s, struct ledger *client)
{
    while (s->first)
        rows_op_free(client, pop(&s->first));
    while (s->done_first)
        rows_op_free(client, pop(&s->done_first));
    end_disk(s);
}

void memory_store_free(struct store *s)
{
    if (!s)
        return;
    end_disk(s);
    for (uint32_t i = 0; i < s->row_count; i++)
        drop_row(&s->rows[i]);
    for (uint32_t i = 0; i < s->event_count; i++)
        free(s->events[i].block);
    for (uint32_t i = 0; i < s->paused_count; i++)
        free(s->paused[i]);
    for (uint32_t i = 0; i < s->cron_count; i++)
        free(s->crons[i].block);
    free(s->rows);
    free(s->events);
    free(s);
}

uint64_t store_last_id(struct store *s)
{
    return s->row_count ? s->rows[s->row_count - 1].task.id : 0;
}

int store_load(struct store *s, const struct store_reader *reader, char *error, size_t size)
{
    (void)error;
    (void)size;
    reader->counts(reader->arg, &s->counts);
    for (uint32_t i = 0; i < s->paused_count; i++)
        reader->queue(reader->arg, span_text(s->paused[i]));
    for (uint32_t i = 0; i < s->cron_count; i++)
        if (!reader->cron(reader->arg, &s->crons[i].cron))
            return -1;
    for (uint32_t i = 0; i < s->row_count; i++)
        if (s->rows[i].there && !reader->task(reader->arg, &s->rows[i].task))
            return -1;
    for (uint32_t i = 0; i < s->row_count; i++)
        for (uint32_t k = 0; s->rows[i].there && k < s->event_count; k++)
            if (s->events[k].event.id == s->rows[i].task.id)
                reader->event(reader->arg, &s->events[k].event);
    return 0;
}

void store_info(const struct store *s, struct store_info *out)
{
    *out =
        (struct store_info){.commits = s->commits, .operations = s->operations, .error = s->error};
}
