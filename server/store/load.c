#include <stdio.h>

#include "server/store/store_parts.h"

static int fail(struct store *s, char *error, size_t size)
{
    bool damaged = sqlite3_errcode(s->db) == SQLITE_CORRUPT;
    return store_fail(error, size, sqlite3_db_filename(s->db, "main"), "it cannot be read: %s%s",
                      sqlite3_errmsg(s->db),
                      damaged ? "; put a copy in its place, or save what sqlite3's .recover can"
                              : "");
}

/* Every row of a query is given to `row`, which returns false to end the reading. */
static int each(struct store *s, const char *sql, bool (*row)(void *arg, sqlite3_stmt *st),
                void *arg, char *error, size_t size)
{
    sqlite3_stmt *st;
    if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
        return fail(s, error, size);
    int rc = SQLITE_DONE;
    bool on = true;
    while (on && (rc = sqlite3_step(st)) == SQLITE_ROW)
        on = row(arg, st);
    int end = !on ? -1 : rc == SQLITE_DONE ? 0 : fail(s, error, size);
    sqlite3_finalize(st);
    return end;
}

struct reading {
    struct store *store;
    const struct store_reader *reader;
    char *error;
    size_t size;
};

static bool stopped(struct reading *r)
{
    snprintf(r->error, r->size, "the reading of the store was stopped");
    return false;
}

static bool queue_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    struct store_queue queue = {0};
    row_read(st, 0, &row_queues, &queue, &r->store->names);
    return r->reader->queue(r->reader->arg, &queue) || stopped(r);
}

static bool cron_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    struct store_cron cron = {0};
    row_read(st, 0, &row_crons, &cron, &r->store->names);
    return r->reader->cron(r->reader->arg, &cron) || stopped(r);
}

static bool is_there(sqlite3_stmt *st, uint32_t id)
{
    return sqlite3_column_type(st, (int)id) != SQLITE_NULL;
}

static bool read_task(sqlite3_stmt *st, struct store_task *task, const struct row_names *names)
{
    uint32_t options = row_submissions.count, life = options + row_options.count;
    task->has_options = is_there(st, options);
    return row_read(st, 0, &row_submissions, task, names) &&
           (!task->has_options || row_read(st, options, &row_options, task, names)) &&
           (!is_there(st, life) || row_read(st, life, &row_lives, task, names));
}

static bool task_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    struct store_task task = {0};
    if (read_task(st, &task, &r->store->names))
        return r->reader->task(r->reader->arg, &task) || stopped(r);
    snprintf(r->error, r->size,
             "the store cannot be read: task %lld has a state in `lives`, or a durability in "
             "`submissions`, "
             "that is none",
             (long long)task.id);
    return false;
}

static bool event_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    struct store_event event = {0};
    row_read(st, 0, &row_events, &event, &r->store->names);
    return r->reader->event(r->reader->arg, &event) || stopped(r);
}

static int table(struct reading *r, const struct row_map *m,
                 bool (*row)(void *arg, sqlite3_stmt *st))
{
    char sql[ROW_SQL_MAX];
    row_select_sql(m, sql);
    return each(r->store, sql, row, r, r->error, r->size);
}

static int tasks(struct reading *r)
{
    char sql[ROW_SQL_MAX];
    row_select_tasks_sql(sql);
    return each(r->store, sql, task_row, r, r->error, r->size);
}

int store_load(struct store *s, const struct store_reader *reader, char *error, size_t size)
{
    struct reading r = {.store = s, .reader = reader, .error = error, .size = size};
    struct store_counts counts;
    uint64_t last;
    if (store_read_counts(s, &counts, &last) != SQLITE_OK)
        return fail(s, error, size);
    reader->counts(reader->arg, &counts);
    if (table(&r, &row_queues, queue_row) || table(&r, &row_crons, cron_row) || tasks(&r) ||
        table(&r, &row_events, event_row))
        return -1;
    return 0;
}

uint64_t store_last_id(struct store *s)
{
    struct store_counts counts;
    uint64_t last = 0;
    store_read_counts(s, &counts, &last);
    return last;
}
