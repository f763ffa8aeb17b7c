/* Reads all rows of the store back at the start. */
#include <stdio.h>

#include <assert.h>

#include "server/store/sqlite/sqlite_parts.h"

static const char *path_of(const struct sqlite_store *s)
{
    return sqlite3_db_filename(s->db, "main");
}

static int fail(struct sqlite_store *s, char *error, size_t size)
{
    int rc = sqlite3_errcode(s->db);
    if (store_error_of(s->db, rc) == STORE_CORRUPT)
        return store_damaged(error, size, path_of(s), "%s", sqlite3_errmsg(s->db));
    return store_fail(error, size, path_of(s), "it cannot be read: %s", sqlite3_errmsg(s->db));
}

/* Every row of a query is given to `row`, which returns false to end the reading. */
static int each(struct sqlite_store *s, const char *sql, bool (*row)(void *arg, sqlite3_stmt *st),
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

/* A table of which some tasks have a row; it is read beside them, in the same order. */
struct beside {
    const struct store_table *table;
    sqlite3_stmt *st;
    uint64_t id; /* of the row that it is at; 0: there are no more */
};

struct reading {
    struct sqlite_store *store;
    const struct store_reader *reader;
    char *error;
    size_t size;
    const struct store_table *table; /* whose rows are read */
    uint64_t last;                   /* id: of the task, or of the event's, that was read last */
    uint32_t seq;                    /* of that event */
    struct beside options, lives;
};

static bool stopped(struct reading *r)
{
    snprintf(r->error, r->size, "the reading of the store was stopped");
    return false;
}

/* --- What cannot be: then the row is no row of ours any more --- */

static bool bad_column(struct reading *r, const char *table, uint64_t id,
                       const struct store_column *column)
{
    store_damaged(r->error, r->size, path_of(r->store),
                  "row %lld of `%s` has an impossible value in the column %s", (long long)id, table,
                  column->name);
    return false;
}

static bool out_of_order(struct reading *r, const char *table, uint64_t id)
{
    store_damaged(r->error, r->size, path_of(r->store),
                  "row %lld of `%s` has a number that no row can have", (long long)id, table);
    return false;
}

/* The reader has found a fault that the columns do not show, or wants no more. */
static bool refused(struct reading *r, const char *what, uint64_t id)
{
    const char *fault = r->reader->fault ? *r->reader->fault : NULL;
    if (!fault)
        return stopped(r);
    store_damaged(r->error, r->size, path_of(r->store), "%s %lld: %s", what, (long long)id, fault);
    return false;
}

/* --- Rows --- */

static bool bad_name(struct reading *r, const char *table, struct span name,
                     const struct store_column *column)
{
    store_damaged(r->error, r->size, path_of(r->store),
                  "row \"%.*s\" of `%s` has an impossible value in the column %s", (int)name.len,
                  (const char *)name.at, table, column->name);
    return false;
}

/* A part of the key that is text is never empty; NULL: it is not. */
static const struct store_column *empty_key(const struct store_table *t, const uint8_t *row)
{
    for (uint32_t n = 0; n < t->count; n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key == KEY_PART && c->kind == COLUMN_TEXT &&
            ((const struct span *)(row + c->at))->len == 0)
            return c;
    }
    return NULL;
}

/* 0: the rows of the table have no numbers. */
static uint64_t number_of(const struct store_table *t, const uint8_t *row)
{
    const struct store_column *c = &t->columns[0];
    return c->kind == COLUMN_U64 ? *(const uint64_t *)(row + c->at) : 0;
}

static bool table_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    const struct store_table *t = r->table;
    assert(t->one && r->reader->row);
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    const struct store_column *bad = row_read(st, 0, t, row, &r->store->names);
    if (!bad)
        bad = empty_key(t, row);
    if (bad)
        return bad_name(r, t->table, *(const struct span *)(row + t->named), bad);
    return r->reader->row(r->reader->arg, t, row) || refused(r, t->one, number_of(t, row));
}

static bool read_part(struct reading *r, sqlite3_stmt *st, const struct store_table *m,
                      struct store_task *task)
{
    const struct store_column *bad = row_read(st, 0, m, task, &r->store->names);
    return !bad || bad_column(r, m->table, task->id, bad);
}

static bool beside_next(struct reading *r, struct beside *b)
{
    uint64_t was = b->id;
    int rc = sqlite3_step(b->st);
    b->id = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(b->st, 0) : 0;
    if (rc == SQLITE_DONE || (rc == SQLITE_ROW && b->id > was && b->id <= INT64_MAX))
        return true;
    return rc == SQLITE_ROW ? out_of_order(r, b->table->table, b->id)
                            : fail(r->store, r->error, r->size) == 0;
}

static bool beside_open(struct reading *r, struct beside *b, const struct store_table *m)
{
    char sql[ROW_SQL_MAX];
    row_select_sql(m, false, sql);
    b->table = m;
    if (sqlite3_prepare_v2(r->store->db, sql, -1, &b->st, NULL) != SQLITE_OK)
        return fail(r->store, r->error, r->size) == 0;
    return beside_next(r, b);
}

/* It belongs to a task, or the task that had it has lost its own row. */
static bool stray(struct reading *r, const struct beside *b)
{
    store_damaged(r->error, r->size, path_of(r->store), "row %lld of `%s` belongs to no task",
                  (long long)b->id, b->table->table);
    return false;
}

/* The row of this task, if it has one. */
static bool beside_read(struct reading *r, struct beside *b, struct store_task *task, bool *has)
{
    *has = b->id == task->id;
    if (b->id > 0 && b->id < task->id)
        return stray(r, b);
    return !*has || read_part(r, b->st, b->table, task);
}

static bool read_task(struct reading *r, sqlite3_stmt *st, struct store_task *task)
{
    if (!read_part(r, st, &row_submissions, task))
        return false;
    if (task->id <= r->last || task->id > INT64_MAX)
        return out_of_order(r, row_submissions.table, task->id);
    r->last = task->id;
    return beside_read(r, &r->options, task, &task->has_options) &&
           beside_read(r, &r->lives, task, &task->has_life);
}

static bool task_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    struct store_task task = {0};
    if (!read_task(r, st, &task))
        return false;
    if (!r->reader->task(r->reader->arg, &task))
        return refused(r, "task", task.id);
    return (!task.has_options || beside_next(r, &r->options)) &&
           (!task.has_life || beside_next(r, &r->lives));
}

static bool event_row(void *arg, sqlite3_stmt *st)
{
    struct reading *r = arg;
    struct store_event event = {0};
    const struct store_column *bad = row_read(st, 0, &row_events, &event, &r->store->names);
    if (bad)
        return bad_column(r, row_events.table, event.id, bad);
    if (event.id < r->last || (event.id == r->last && event.seq <= r->seq))
        return out_of_order(r, row_events.table, event.id);
    r->last = event.id;
    r->seq = event.seq;
    return r->reader->event(r->reader->arg, &event) || refused(r, "an event of task", event.id);
}

/* --- Tables --- */

static int table(struct reading *r, const struct store_table *m,
                 bool (*row)(void *arg, sqlite3_stmt *st))
{
    char sql[ROW_SQL_MAX];
    r->table = m;
    r->last = r->seq = 0;
    row_select_sql(m, false, sql);
    return each(r->store, sql, row, r, r->error, r->size);
}

/* A join would look up each row of the other tables, and read their columns where there is none. */
static int tasks(struct reading *r)
{
    bool good =
        beside_open(r, &r->options, &row_options) && beside_open(r, &r->lives, &row_lives) &&
        table(r, &row_submissions, task_row) == 0 &&
        (r->options.id == 0 || stray(r, &r->options)) && (r->lives.id == 0 || stray(r, &r->lives));
    sqlite3_finalize(r->options.st);
    sqlite3_finalize(r->lives.st);
    return good ? 0 : -1;
}

static int counts(struct reading *r)
{
    struct store_counts counts;
    uint64_t last;
    int rc = store_read_counts(r->store, &counts, &last);
    if (rc == SQLITE_CORRUPT)
        return store_damaged(r->error, r->size, path_of(r->store),
                             "`counters` has no row, or one with what is no count");
    if (rc != SQLITE_OK)
        return fail(r->store, r->error, r->size);
    r->reader->counts(r->reader->arg, &counts);
    return 0;
}

/* Whatever their actor: a turn behind one of such a number would be taken for an older one. */
static int turns(struct reading *r)
{
    const struct states *t = &r->store->states;
    uint64_t last = t->next - 1;
    if (t->fold.oldest > 0 && t->fold.oldest <= t->next && last <= ROW_TURN_MAX)
        return 0;
    out_of_order(r, row_turns.table, last <= ROW_TURN_MAX ? t->fold.oldest : last);
    return -1;
}

/* --- All --- */

static bool first_fault(void *arg, const char *text)
{
    struct reading *r = arg;
    store_damaged(r->error, r->size, path_of(r->store), "%s", text);
    return false;
}

/* The pages are looked at first: a reader alone does not miss rows that SQLite finds no more. Those
 * of states of actors, which may be most, are read later, by their names; so all are looked at only
 * where the last process did not stop in order, whatever became of its log: a power cut may have
 * left anything. */
static int look_at_pages(struct reading *r, char *error, size_t size)
{
    const struct sound_report report = {first_fault, r, 1};
    struct sqlite_store *s = r->store;
    int sound = s->found_log || !r->reader->clean
                    ? sound_pages(s->db, &report)
                    : sound_pages_without(s->db, store_actors.table, &report);
    if (sound == SQLITE_OK)
        return 0;
    return sound == SOUND_NOT ? -1 : fail(s, error, size);
}

int sqlite_load(struct sqlite_store *s, const struct store_reader *reader, char *error, size_t size)
{
    struct reading r = {.store = s, .reader = reader, .error = error, .size = size};
    if (look_at_pages(&r, error, size) != 0 || counts(&r) != 0 || turns(&r) != 0)
        return -1;
    for (uint32_t n = 0; n < reader->table_count; n++)
        if (!reader->tables[n]->by_key && table(&r, reader->tables[n], table_row) != 0)
            return -1;
    return tasks(&r) || table(&r, &row_events, event_row) ? -1 : 0;
}
