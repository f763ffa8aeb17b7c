#include "tests/damages/base.h"

#include <stdio.h>
#include <string.h>

#include "server/jobs/core/states.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"
#include "tests/support/store_client.h"

/* Ids as servers give them: nine bytes in the file. */
static const uint64_t first_id = UINT64_C(912345678901234567);
static const uint64_t first_fence = UINT64_C(212345678901234); /* microseconds since 2020 */
enum { COMMITS = 100, COMMITS_BUSY = 300, HOLDS = 5, PARAMS_MAX = 9000, NAME = 32 };

struct making {
    struct base *base;
    struct store_client client;
    struct store_task now[BASE_TASKS]; /* as the file has them */
    uint32_t events[BASE_TASKS];
    uint32_t made;
    uint64_t random;
};

uint64_t base_id(uint32_t index)
{
    return first_id + index;
}

uint32_t base_index(uint64_t id)
{
    return id >= first_id && id < first_id + BASE_TASKS ? (uint32_t)(id - first_id) : BASE_TASKS;
}

/* --- Sums --- */

static uint64_t more(uint64_t sum, const void *at, size_t len)
{
    const uint8_t *bytes = at;
    for (size_t n = 0; n < len; n++)
        sum = (sum ^ bytes[n]) * UINT64_C(1099511628211);
    return sum;
}

static uint64_t number(uint64_t sum, uint64_t value)
{
    return more(sum, &value, sizeof value);
}

static uint64_t span(uint64_t sum, struct span s)
{
    return more(number(sum, s.len), s.at, s.len);
}

static uint64_t options_sum(uint64_t sum, const struct store_task *t)
{
    const struct span texts[] = {t->key,   t->coalesce,  t->limit_key,   t->rate_key,
                                 t->after, t->after_any, t->traceparent, t->tracestate};
    const uint64_t numbers[] = {t->priority, t->backoff_jitter, t->deadline_at, t->timeout,
                                t->backoff,  t->keep,           t->retries,     t->backoff_max,
                                t->limit,    t->rate,           t->rate_per,    t->keep_size};
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++)
        sum = span(sum, texts[n]);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        sum = number(sum, numbers[n]);
    return sum;
}

uint64_t base_sum(const struct store_task *t)
{
    const struct span texts[] = {t->method,     t->tenant,     t->params, t->actor,
                                 t->error_code, t->error_text, t->result};
    const uint64_t numbers[] = {t->id,     t->created,    t->durable,  t->has_options,
                                t->state,  t->attempt,    t->failures, t->crashes,
                                t->due_at, t->started_at, t->ended_at, t->cancel_asked};
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++)
        sum = span(sum, texts[n]);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        sum = number(sum, numbers[n]);
    return t->has_options ? options_sum(sum, t) : sum;
}

/* --- Operations --- */

/* MessagePack: a list of one run of bytes, of which each differs from its neighbours. */
static struct span params_of(uint32_t task, uint32_t size)
{
    static uint8_t all[BASE_TASKS][PARAMS_MAX + 4];
    uint8_t *at = all[task];
    at[0] = 0x91;
    at[1] = 0xc5;
    at[2] = (uint8_t)(size >> 8);
    at[3] = (uint8_t)size;
    for (uint32_t n = 0; n < size; n++)
        at[4 + n] = (uint8_t)(task * 31 + n * 7 + n / 251);
    return span_of(at, size + 4);
}

static void commit(struct making *m, struct store_op *op)
{
    assert_int_equal(client_do(&m->client, op), STORE_OK);
}

static void remember(struct making *m, uint32_t task)
{
    struct base_task *t = &m->base->tasks[task];
    assert_true(t->count < BASE_VERSIONS);
    t->versions[t->count++] = base_sum(&m->now[task]);
    t->there = true;
}

static void add_options(struct making *m, struct store_task *t)
{
    static uint8_t after[8];
    for (unsigned byte = 0; byte < 8; byte++)
        after[byte] = (uint8_t)(first_id >> (56 - 8 * byte));
    t->has_options = true;
    t->priority = (uint8_t)chance(&m->random, 10);
    t->backoff_jitter = (uint8_t)chance(&m->random, 101);
    t->retries = chance(&m->random, 5);
    t->keep = AO_S(36000);
    t->keep_size = 1 << 20;
    t->backoff = AO_S(1);
    t->backoff_max = AO_S(60);
    if (chance(&m->random, 2)) {
        t->limit_key = span_text("a limit");
        t->limit = 3;
    }
    if (chance(&m->random, 3) == 0) {
        t->rate_key = span_text("a rate");
        t->rate = 5;
        t->rate_per = AO_S(60);
    }
    if (chance(&m->random, 3) == 0 && t->id > first_id)
        t->after = span_of(after, sizeof after);
}

static void put(struct making *m)
{
    uint32_t task = m->made++;
    struct store_task *t = &m->now[task];
    struct store_op *op = client_op(STORE_PUT);
    uint32_t size =
        chance(&m->random, 6) == 0 ? chance(&m->random, PARAMS_MAX) : chance(&m->random, 80);
    *t = (struct store_task){.id = first_id + task,
                             .method = span_text(task % 5 ? "work" : "cart.add"),
                             .tenant = task % 3 ? span_text("somebody") : span_of(NULL, 0),
                             .actor = task % 5 ? span_of(NULL, 0) : span_text("cart/42"),
                             .params = params_of(task, size),
                             .created = UINT64_C(1790000000000000000) + task,
                             .durable = 1 + (uint8_t)chance(&m->random, 2)};
    if (chance(&m->random, 2))
        add_options(m, t);
    op->task = *t;
    op->add.submitted = 1;
    commit(m, op);
    remember(m, task);
}

/* The life goes on: it runs, fails, or ends. */
static void change(struct making *m, uint32_t task)
{
    struct store_task *t = &m->now[task];
    struct store_op *op = client_op(STORE_CHANGE);
    if (t->state == JOB_QUEUED && t->attempt < 4) {
        t->state = JOB_RUNNING;
        t->started_at = t->created + ++t->attempt;
    } else if (t->attempt < 4 && chance(&m->random, 2)) {
        t->state = JOB_QUEUED;
        t->failures++;
        t->due_at = t->created + 1000;
        t->error_code = span_text("ODD");
        t->error_text = span_text("not today");
    } else {
        bool done = chance(&m->random, 2);
        t->state = done ? JOB_DONE : JOB_FAILED;
        t->ended_at = UINT64_C(1900000000000000000);
        t->due_at = 0;
        t->error_code = done ? span_of(NULL, 0) : span_text("ODD");
        t->error_text = done ? span_of(NULL, 0) : span_text("not any day");
        t->result = done ? t->params : span_of(NULL, 0);
        *(done ? &op->add.done : &op->add.failed) = 1;
    }
    op->task = *t;
    commit(m, op);
    remember(m, task);
}

static void add_event(struct making *m, uint32_t task)
{
    struct store_op *op = client_op(STORE_EVENT);
    op->event = (struct store_event){.id = first_id + task,
                                     .seq = 2 + m->events[task]++,
                                     .at = UINT64_C(1790000000000000000),
                                     .attempt = 1,
                                     .what = span_text("progress"),
                                     .text = span_text("half of it")};
    commit(m, op);
}

static void remove_task(struct making *m, uint32_t task)
{
    struct store_op *op = client_op(STORE_REMOVE);
    op->task.id = first_id + task;
    commit(m, op);
    m->base->tasks[task].there = false;
}

/* Of a semaphore that has a row, and of one that is there as long as it is held. */
static void add_hold(struct making *m, uint32_t n)
{
    struct store_op *op = client_row(STORE_ROW_PUT, &store_holds);
    *(struct store_hold *)op->row =
        (struct store_hold){.id = first_fence + n,
                            .tenant = n % 2 ? span_text("somebody") : span_of(NULL, 0),
                            .name = span_text(n % 2 ? "gpu" : "licence"),
                            .secret = span_of("0123456789abcdef", STORE_SECRET),
                            .principal = span_text("token:somebody"),
                            .permits = 1,
                            .of = 3,
                            .since_at = UINT64_C(1790000000000000000),
                            .ends_at = n % 3 ? 0 : UINT64_C(1990000000000000000),
                            .ttl = n % 3 ? 0 : AO_S(60),
                            .grace = AO_S(10)};
    commit(m, op);
}

/* More than fit on a page, of sizes from a few bytes to three pages. */
static void add_actors(struct making *m)
{
    char key[NAME];
    struct store_op *op = client_row(STORE_ROW_PUT, &store_actor_types);
    *(struct store_actor_type *)op->row =
        (struct store_actor_type){.type = span_text("cart"), .policy = span_text("\x80")};
    commit(m, op);
    for (uint32_t n = 0; n < BASE_ACTORS; n++) {
        snprintf(key, sizeof key, "%u", 1000 + n);
        op = client_row(STORE_ROW_PUT, &store_actors);
        *(struct store_actor *)op->row = (struct store_actor){
            .type = span_text("cart"),
            .key = span_text(key),
            .tenant = n % 2 ? span_text("somebody") : span_of(NULL, 0),
            .version = 1 + n,
            .stopped = n % 7 ? span_of(NULL, 0) : span_text("it failed too often"),
            .changed_at = UINT64_C(1790000000000000000),
            .state = params_of(n, n % 10 ? n : PARAMS_MAX - n)};
        commit(m, op);
    }
}

static void add_others(struct making *m)
{
    struct store_op *op = client_row(STORE_ROW_PUT, &store_crons);
    *(struct store_cron *)op->row = (struct store_cron){.name = span_text("nightly"),
                                                        .schedule = span_text("0 3 * * *"),
                                                        .zone = span_text("UTC"),
                                                        .method = span_text("work"),
                                                        .params = params_of(0, 3),
                                                        .next_at = UINT64_C(1990000000000000000)};
    commit(m, op);
    op = client_row(STORE_ROW_PUT, &store_rates);
    *(struct store_rate *)op->row =
        (struct store_rate){.id = 7,
                            .key = span_text("a rate"),
                            .max = 5,
                            .per = AO_S(60),
                            .promised = 2,
                            .noted_at = UINT64_C(1790000000000000000),
                            .starts = span_of("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 16)};
    commit(m, op);
    op = client_row(STORE_ROW_PUT, &store_batches);
    *(struct store_batch_row *)op->row =
        (struct store_batch_row){.id = 1,
                                 .tenant = span_text("somebody"),
                                 .on_end = params_of(0, 3),
                                 .created = UINT64_C(1790000000000000000),
                                 .durable = DURABLE_FSYNC,
                                 .done = 7};
    commit(m, op);
    op = client_row(STORE_ROW_PUT, &store_semaphores);
    *(struct store_semaphore *)op->row = (struct store_semaphore){
        .id = first_fence, .name = span_text("gpu"), .tenant = span_text("somebody"), .permits = 3};
    commit(m, op);
    for (uint32_t n = 1; n <= HOLDS; n++)
        add_hold(m, n);
    op = client_row(STORE_ROW_REMOVE, &store_holds);
    ((struct store_hold *)op->row)->id = first_fence + HOLDS;
    commit(m, op);
    op = client_row(STORE_ROW_PUT, &store_queues);
    *(struct store_queue *)op->row = (struct store_queue){.method = span_text("work"), .paused = 1};
    commit(m, op);
}

static void step(struct making *m)
{
    uint32_t task = m->made ? chance(&m->random, m->made) : 0;
    bool open = m->made && m->base->tasks[task].there && m->now[task].ended_at == 0;
    if (m->made < BASE_TASKS && (!open || chance(&m->random, 3) == 0))
        put(m);
    else if (open && m->base->tasks[task].count < BASE_VERSIONS && chance(&m->random, 3) > 0)
        change(m, task);
    else if (open)
        add_event(m, task);
    else if (m->base->tasks[task].there && chance(&m->random, 4) == 0)
        remove_task(m, task);
}

/* --- All --- */

void base_make(struct base *b, const char *path, enum base_end end, uint64_t seed)
{
    char error[300] = "";
    struct making *m = test_calloc(1, sizeof *m);
    const struct store_options options = {
        .path = path, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    const struct store_files none = {0};
    *b = (struct base){0};
    m->base = b;
    m->random = seed;
    store_files_write(&none, path);
    client_open(&m->client, &options, error, sizeof error);
    assert_string_equal(error, "");
    add_others(m);
    add_actors(m);
    for (int n = 0; n < (end == BASE_BUSY ? COMMITS_BUSY : COMMITS); n++)
        step(m);
    if (end != BASE_CLOSED)
        store_files_read(&b->files, path);
    client_close(&m->client);
    if (end == BASE_CLOSED)
        store_files_read(&b->files, path);
    test_free(m);
}

void base_free(struct base *b)
{
    store_files_free(&b->files);
}
