/* Rows of the store, as a file may hold them that was damaged, or written by others.
 *
 * An input begins with a byte that says which: columns of one table, of any kind and content, as
 * SQLite hands them out; or a whole store of sound rows, some of whose fields are as the input
 * says, in which jobs are recovered, looked at, run, and found again by the next start.
 *
 * What is refused is refused with a text.  What is accepted is written as it was read. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/persist/codec.h"
#include "server/jobs/operations/operation.h"
#include "server/store/sqlite/row_sqlite.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_rest.h"
#include "tests/support/jobs_world_lives.h"
#include "tests/support/memory_store.h"

enum {
    COLUMNS_MAX = 24,
    TASKS_MAX = 5,
    OTHERS_MAX = 4,
    EVENTS_MAX = 8,
    FIRST_ID = 1000,
    LAST_FENCE = 1 << 20
};

/* --- The input, from its front --- */

/* Small, or near a border, or any. */
static uint64_t number(void)
{
    static const uint64_t borders[] = {
        INT32_MAX,  (uint64_t)INT32_MAX + 1, UINT32_MAX, INT64_MAX,
        UINT64_MAX, AO_S(1600000000),        AO_S(3600), AO_S(86400 * 366)};
    uint8_t kind = fuzz_byte();
    uint64_t n = 0;

    if (kind < 0xe0)
        return kind;
    if (kind < 0xe8)
        return borders[kind - 0xe0];
    if (kind < 0xf0)
        return AO_S(1600000000) + AO_MS(1) * fuzz_byte() - AO_MS(100);
    for (int i = kind & 7; i >= 0; i--)
        n = n << 8 | fuzz_byte();
    return n;
}

static struct span bytes(void)
{
    size_t len = fuzz_byte();

    if (len == 0xff)
        len = 0xff + 4 * (size_t)fuzz_byte();
    return fuzz_bytes(len);
}

/* --- Columns --- */

static struct row_names names;
static sqlite3 *db;

static sqlite3_stmt *select_of(uint32_t count)
{
    static sqlite3_stmt *ready[COLUMNS_MAX + 1];
    char sql[200] = "SELECT ?";

    if (db == NULL)
        CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    for (uint32_t i = 1; i < count; i++)
        strcat(sql, ", ?");
    if (ready[count] == NULL)
        CHECK(sqlite3_prepare_v2(db, sql, -1, &ready[count], NULL) == SQLITE_OK);
    sqlite3_reset(ready[count]);
    sqlite3_clear_bindings(ready[count]);
    return ready[count];
}

/* A value of any of SQLite's kinds. */
static void bind_any(sqlite3_stmt *st, int column)
{
    uint8_t kind = fuzz_byte();
    struct span s;
    double real;

    switch (kind % 6) {
    case 1:
        sqlite3_bind_int64(st, column, (sqlite3_int64)number());
        return;
    case 2:
        s = bytes();
        sqlite3_bind_text64(st, column, (const char *)s.at, s.len, SQLITE_STATIC, SQLITE_UTF8);
        return;
    case 3:
        s = bytes();
        sqlite3_bind_blob64(st, column, s.at, s.len, SQLITE_STATIC);
        return;
    case 4:
        s = bytes();
        memcpy(&real, s.len < sizeof real ? (const void *)"\0\0\0\0\0\0\0\0" : s.at, sizeof real);
        sqlite3_bind_double(st, column, real);
        return;
    case 5: /* a name that there is */
        sqlite3_bind_text(st, column, job_state_names[kind % JOB_STATE_COUNT], -1, SQLITE_STATIC);
        return;
    default:
        return; /* NULL */
    }
}

union row {
    struct store_task task;
    struct store_queue queue;
    struct store_rate rate;
    struct store_cron cron;
    struct store_semaphore semaphore;
    struct store_hold hold;
    struct store_event event;
    struct row_counters counters;
};

static bool same_column(const struct store_column *c, const void *a, const void *b)
{
    switch (c->kind) {
    case COLUMN_U64:
        return *(const uint64_t *)a == *(const uint64_t *)b;
    case COLUMN_U32:
        return *(const uint32_t *)a == *(const uint32_t *)b;
    case COLUMN_U8:
    case COLUMN_NAME:
        return *(const uint8_t *)a == *(const uint8_t *)b;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return span_equal(*(const struct span *)a, *(const struct span *)b);
    }
    return false;
}

/* Two statements of as many columns: spans of the first are valid while the second is bound. */
static void check_columns(void)
{
    static const struct store_table *const maps[] = {
        &row_submissions,  &row_options, &row_lives,    &store_queues,
        &store_rates,      &store_crons, &row_events,   &row_counters,
        &store_semaphores, &store_holds, &store_actors, &store_actor_types};
    const struct store_table *m = maps[fuzz_byte() % (sizeof maps / sizeof *maps)];
    union row one = {0}, two = {0};
    sqlite3_stmt *st = select_of(m->count), *again;

    for (uint32_t i = 0; i < m->count; i++)
        bind_any(st, (int)i + 1);
    CHECK(sqlite3_step(st) == SQLITE_ROW);
    const struct store_column *fault = row_read(st, 0, m, &one, &names);
    if (fault) {
        CHECK(fault >= m->columns && fault < m->columns + m->count);
        return;
    }
    CHECK(sqlite3_prepare_v2(db, sqlite3_sql(st), -1, &again, NULL) == SQLITE_OK);
    CHECK(row_bind(again, m, &one, &names) == SQLITE_OK);
    CHECK(sqlite3_step(again) == SQLITE_ROW);
    CHECK(row_read(again, 0, m, &two, &names) == NULL);
    for (uint32_t i = 0; i < m->count; i++)
        CHECK(same_column(&m->columns[i], (const char *)&one + m->columns[i].at,
                          (const char *)&two + m->columns[i].at));
    sqlite3_finalize(again);
}

/* --- A store --- */

/* Of each table: which fields of the next row are the input's. */
static void spoil(const struct store_table *m, void *row, uint32_t keep)
{
    uint32_t which = (uint32_t)fuzz_byte() << 16 | (uint32_t)fuzz_byte() << 8 | fuzz_byte();

    for (uint32_t i = keep; i < m->count; i++) {
        void *field = (char *)row + m->columns[i].at;
        if (!(which >> i & 1))
            continue;
        switch (m->columns[i].kind) {
        case COLUMN_U64:
            *(uint64_t *)field = number();
            break;
        case COLUMN_U32:
            *(uint32_t *)field = (uint32_t)number();
            break;
        case COLUMN_U8:
            *(uint8_t *)field = (uint8_t)number();
            break;
        case COLUMN_NAME: /* the store knows no others */
            *(uint8_t *)field = (uint8_t)(fuzz_byte() % names.lists[m->columns[i].names].count);
            break;
        case COLUMN_TEXT:
        case COLUMN_BLOB:
            *(struct span *)field = bytes();
            break;
        }
    }
}

static struct jobs_world w;

static void put(struct store_op op)
{
    CHECK(memory_rows_apply(&w.store->rows, &op));
}

static void add_task(uint64_t id)
{
    struct store_op op = {.kind = STORE_PUT, .add.submitted = 1};

    op.task = (struct store_task){.id = id,
                                  .method = span_text("work"),
                                  .tenant = span_text("ada"),
                                  .params = span_text("\x90"),
                                  .created = AO_S(1500000000),
                                  .durable = DURABLE_FSYNC,
                                  .priority = SPEC_PRIORITY,
                                  .policy = JOB_POLICY_UNSAID};
    op.task.keep = JOB_KEEP;
    uint8_t kind = fuzz_byte();
    spoil(&row_submissions, &op.task, 1);
    op.task.has_options = kind & 1;
    if (op.task.has_options)
        spoil(&row_options, &op.task, 1);
    if (kind & 2)
        spoil(&row_lives, &op.task, 1);
    put(op);
}

static void add_event(void)
{
    struct store_op op = {.kind = STORE_EVENT};

    op.event =
        (struct store_event){.id = FIRST_ID + fuzz_byte() % (TASKS_MAX + 1),
                             .seq = fuzz_byte(),
                             .at = AO_S(1500000000),
                             .what = span_text(job_event_name(fuzz_byte() % JOB_EVENT_COUNT))};
    spoil(&row_events, &op.event, 1);
    put(op);
}

static void add_other(uint64_t id)
{
    struct store_op op = {.kind = STORE_ROW_PUT, .table = &store_queues};
    char name[] = {'n', (char)('a' + (char)id), '\0'};

    *(struct store_queue *)op.row = (struct store_queue){.method = span_text("work"), .paused = 1};
    spoil(&store_queues, op.row, 0);
    if (((struct store_queue *)op.row)->method.len > 0)
        put(op);
    op = (struct store_op){.kind = STORE_ROW_PUT, .table = &store_rates};
    *(struct store_rate *)op.row = (struct store_rate){
        .id = id, .key = span_text(name), .max = 1, .per = AO_S(1), .noted_at = AO_S(1600000000)};
    spoil(&store_rates, op.row, 1);
    put(op);
    op = (struct store_op){.kind = STORE_ROW_PUT, .table = &store_crons};
    *(struct store_cron *)op.row = (struct store_cron){.name = span_text(name),
                                                       .method = span_text("work"),
                                                       .schedule = span_text("* * * * *"),
                                                       .tenant = span_text("ada"),
                                                       .params = span_text("\x90"),
                                                       .options = span_text("\x80"),
                                                       .next_at = AO_S(1600000000)};
    spoil(&store_crons, op.row, 1);
    put(op);
}

/* A fence that is too high is not what was given out last: that is another column. */
static void add_shared(uint64_t id)
{
    struct store_op op = {.kind = STORE_ROW_PUT, .table = &store_semaphores};
    char name[] = {'s', (char)('a' + (char)(id % 3)), '\0'};

    *(struct store_semaphore *)op.row =
        (struct store_semaphore){.id = id, .name = span_text(name), .permits = 2};
    spoil(&store_semaphores, op.row, fuzz_byte() & 1);
    put(op);
    op = (struct store_op){.kind = STORE_ROW_PUT, .table = &store_holds};
    *(struct store_hold *)op.row =
        (struct store_hold){.id = LAST_FENCE - id,
                            .name = span_text(name),
                            .secret = span_of("0123456789abcdef", STORE_SECRET),
                            .permits = 1,
                            .of = 2,
                            .since_at = AO_S(1600000000),
                            .grace = AO_MS(20)};
    spoil(&store_holds, op.row, fuzz_byte() & 1);
    put(op);
    w.store->rows.last_fence = LAST_FENCE;
}

static void fill(void)
{
    uint8_t tasks = fuzz_byte() % (TASKS_MAX + 1), others = fuzz_byte() % (OTHERS_MAX + 1),
            events = fuzz_byte() % (EVENTS_MAX + 1);

    for (uint64_t id = FIRST_ID; id < FIRST_ID + (uint64_t)tasks; id++)
        add_task(id);
    for (uint8_t i = 1; i <= others; i++)
        add_other(i);
    for (uint8_t i = 0; i < events; i++)
        add_event();
    for (uint8_t i = fuzz_byte() % (OTHERS_MAX + 1); i > 0; i--)
        add_shared(i);
}

/* Does codec.h say so of all that is read?  Events of tasks that are not there are not. */
static bool is_sound(const struct memory_rows *m)
{
    bool sound = true;

    for (uint32_t i = 0; i < m->row_count; i++)
        sound &= row_check_task(&m->rows[i].task) == NULL;
    for (uint32_t i = 0; i < m->event_count; i++)
        sound &= !memory_rows_find(m, m->events[i].event.id) ||
                 row_check_event(&m->events[i].event) == NULL;
    for (uint32_t i = 0; i < m->rate_count; i++)
        sound &= row_check_rate(&m->rates[i]) == NULL;
    for (uint32_t i = 0; i < m->cron_count; i++)
        sound &= row_check_cron(&m->crons[i].cron) == NULL;
    for (uint32_t i = 0; i < m->semaphore_count; i++)
        sound &= row_check_semaphore(&m->semaphores[i]) == NULL;
    for (uint32_t i = 0; i < m->hold_count; i++)
        sound &= row_check_hold(&m->holds[i]) == NULL && m->holds[i].id <= m->last_fence;
    return sound;
}

/* --- What was accepted --- */

static void nobody(struct jobs *jobs, struct store_op *write)
{
    (void)jobs;
    (void)write;
}

static void check_same_options(const struct store_task *was, const struct store_task *is)
{
    CHECK(is->has_options);
    CHECK(span_equal(was->key, is->key) && span_equal(was->coalesce, is->coalesce));
    CHECK(span_equal(was->limit_key, is->limit_key) && was->limit == is->limit);
    CHECK(span_equal(was->rate_key, is->rate_key) && was->rate == is->rate);
    CHECK(was->rate_per == is->rate_per);
    CHECK(was->timeout == is->timeout || (was->timeout == AO_NEVER && is->timeout == 0));
    CHECK(was->backoff == is->backoff && was->backoff_max == is->backoff_max);
    CHECK(was->backoff_jitter == is->backoff_jitter && was->keep == is->keep &&
          was->keep_size == is->keep_size);
    CHECK(was->retries == is->retries && was->priority == is->priority);
    struct trace_context before = {0}, after = {0};
    CHECK(traceparent_parse(was->traceparent, &before) ==
          traceparent_parse(is->traceparent, &after));
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK(span_equal(was->tracestate, is->tracestate));
}

/* The row that would be written now of a job that was just read, with all that a row can say. */
static void check_written(struct job *job, const struct store_task *was)
{
    uint8_t row = job->row, counted = job->counted;
    uint32_t row_attempt = job->row_attempt;

    job_mark(job, JOB_REWRITE);
    struct store_op *write = codec_write(w.jobs, job, nobody);
    CHECK(write);
    const struct store_task *is = &write->task;
    CHECK(was->id == is->id && span_equal(was->method, is->method));
    CHECK(span_equal(was->tenant, is->tenant) && span_equal(was->params, is->params));
    CHECK(was->created == is->created && was->durable == is->durable);
    if (was->has_options)
        check_same_options(was, is);
    if (!job_state_open((enum job_state)was->state)) {
        CHECK(was->state == is->state && was->attempt == is->attempt);
        CHECK(was->failures == is->failures && was->started_at == is->started_at);
        CHECK(was->ended_at == 0 || was->ended_at == is->ended_at); /* 0: it is now */
        CHECK(span_equal(was->result, is->result));
    }
    codec_write_free(w.jobs, write);
    job->row = row;
    job->counted = counted;
    job->row_attempt = row_attempt;
}

static void check_all_written(void)
{
    const struct memory_rows *m = &w.store->rows;

    for (uint32_t i = 0; i < m->row_count; i++) {
        struct job *job = table_find(&w.jobs->table, m->rows[i].task.id);
        if (job)
            check_written(job, &m->rows[i].task);
    }
}

static void ask(const struct operation_class *cls, uint64_t id)
{
    uint32_t before = w.answered;

    world_give(&w, id ? world_about(&w, cls, id) : world_operation(&w, cls));
    if (cls == &operation_server_audit)
        jobs_world_pass(&w, AO_MS(10));
    CHECK(w.answered == before + 1);
}

/* As people and programs do. */
static void look(void)
{
    for (uint64_t id = FIRST_ID; id < FIRST_ID + TASKS_MAX; id++)
        if (table_find(&w.jobs->table, id)) {
            ask(&operation_task_get, id);
            ask(&operation_task_explain, id);
            ask(&operation_task_watch, id);
        }
    ask(&operation_queue_list, 0);
    ask(&operation_cron_list, 0);
    ask(&operation_sem_list, 0);
    ask(&operation_server_audit, 0);
}

static void check_store(void)
{
    char error[200] = "";

    jobs_world_init(&w);
    w.quiet = true;
    w.options.settings.limits.max = 64;
    w.options.settings.limits.bytes = w.options.settings.limits.kept_bytes = 1 << 20;
    jobs_world_keep_store(&w);
    w.store->clean = true; /* else the numbers of attempts are raised before they are read */
    w.lasts = AO_MS(20);
    fill();
    bool sound = is_sound(&w.store->rows), good = jobs_world_recover(&w, error, sizeof error);
    if (good != sound)
        fprintf(stderr, "recovered: %d, sound: %d: %s\n", good, sound, error);
    CHECK(good == sound);
    if (sound) {
        check_all_written();
        jobs_world_start(&w);
        look();
        jobs_world_pass(&w, AO_MS(200));
        jobs_world_die(&w);
        if (!jobs_world_live(&w, error, sizeof error)) {
            fprintf(stderr, "what was accepted, and went on, is refused: %s\n", error);
            abort();
        }
    } else {
        CHECK(error[0] != '\0');
    }
    jobs_world_fini(&w);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    fuzz_begin(data, size);
    names = row_names_of(job_state_names, JOB_STATE_COUNT);
    if (fuzz_byte() % 2 == 0)
        check_columns();
    else
        check_store();
}
