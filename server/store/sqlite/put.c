/* New tasks that follow one another in a batch are put by one statement a table: it reads them from
 * a table that is only a view of the batch.  A statement for each, with its values bound, costs
 * twice as much, as it finds the end of the tree anew each time. */
#include <assert.h>

#include "server/store/sqlite/sqlite_parts.h"

/* --- The tables that a task may have a row in --- */

static bool always(const struct store_task *task)
{
    (void)task;
    return true;
}

static bool has_options(const struct store_task *task)
{
    return task->has_options;
}

struct put_part {
    enum statement statement;
    const struct store_table *map;
    const char *verb;   /* of the statement */
    const char *source; /* the table that it reads */
    bool (*has)(const struct store_task *task);
};

/* OR FAIL: the rows before one that is refused stay, and the rest is put from there on.  In the
 * tables behind the first, a row that is there already belongs to no task: it was left behind. */
static const struct put_part parts[PUT_PARTS] = {
    {STATEMENT_PUT, &row_submissions, "INSERT OR FAIL", ROW_BATCH "submissions", always},
    {STATEMENT_PUT_OPTIONS, &row_options, "REPLACE", ROW_BATCH "options", has_options},
    {STATEMENT_PUT_LIFE, &row_lives, "REPLACE", ROW_BATCH "lives", row_has_life}};

/* --- The batch as a table --- */

struct batch_table {
    sqlite3_vtab base; /* first */
    struct sqlite_store *store;
    const struct put_part *part;
};

static int table_connect(sqlite3 *db, void *source, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error)
{
    const struct put_source *s = source;
    char sql[ROW_SQL_MAX];
    (void)argc;
    (void)argv;
    (void)error;
    row_batch_sql(parts[s->part].map, sql);
    int rc = sqlite3_declare_vtab(db, sql);
    struct batch_table *table = rc == SQLITE_OK ? sqlite3_malloc(sizeof *table) : NULL;
    if (!table)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    *table = (struct batch_table){.store = s->store, .part = &parts[s->part]};
    *out = &table->base;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* The table can be read in one way: from where the statement begins to where it ends. */
static int table_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    (void)info;
    return SQLITE_OK;
}

static const struct batch_table *table_of(const sqlite3_vtab_cursor *cursor)
{
    return (const struct batch_table *)cursor->pVtab;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    *out = sqlite3_malloc(sizeof **out);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Goes on to the next task that has a row in this table; the present one counts. */
static void seek(struct sqlite_store *s, const struct put_part *part)
{
    while (s->put_at < s->put_end &&
           (s->batch[s->put_at]->error != STORE_OK || !part->has(&s->batch[s->put_at]->task)))
        s->put_at++;
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    seek(table_of(cursor)->store, table_of(cursor)->part);
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    table_of(cursor)->store->put_at++;
    seek(table_of(cursor)->store, table_of(cursor)->part);
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
    const struct sqlite_store *s = table_of(cursor)->store;
    return s->put_at == s->put_end;
}

static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct batch_table *table = table_of(cursor);
    const struct sqlite_store *s = table->store;
    row_give(to, table->part->map, (uint32_t)column, &s->batch[s->put_at]->task, &s->names);
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = table_of(cursor)->store->put_at;
    return SQLITE_OK;
}

static const sqlite3_module batch_module = {.xConnect = table_connect,
                                            .xBestIndex = table_plan,
                                            .xDisconnect = table_disconnect,
                                            .xOpen = cursor_open,
                                            .xClose = cursor_close,
                                            .xFilter = cursor_filter,
                                            .xNext = cursor_next,
                                            .xEof = cursor_eof,
                                            .xColumn = cursor_column,
                                            .xRowid = cursor_rowid};

int put_open(struct sqlite_store *s)
{
    char sql[ROW_SQL_MAX];
    int rc = SQLITE_OK;
    for (unsigned n = 0; n < PUT_PARTS && rc == SQLITE_OK; n++) {
        s->sources[n] = (struct put_source){.store = s, .part = n};
        rc = sqlite3_create_module(s->db, parts[n].source, &batch_module, &s->sources[n]);
        row_put_sql(parts[n].map, parts[n].verb, sql);
        rc = rc != SQLITE_OK ? rc : statement_prepare(&s->statements, parts[n].statement, sql);
    }
    return rc;
}

/* --- The statements --- */

uint32_t put_run(const struct sqlite_store *s, uint32_t from, uint32_t count)
{
    uint32_t end = from + 1;
    assert(from < count && s->batch[from]->kind == STORE_PUT);
    while (end < count && s->batch[end]->kind == STORE_PUT)
        end++;
    return end;
}

int put_take_out(struct sqlite_store *s, uint64_t id)
{
    static const enum statement all[] = {STATEMENT_REMOVE_EVENTS, STATEMENT_REMOVE_OPTIONS,
                                         STATEMENT_REMOVE_LIFE, STATEMENT_REMOVE};
    int rc = SQLITE_OK;
    for (unsigned n = 0; n < sizeof all / sizeof *all && rc == SQLITE_OK; n++)
        rc = statement_run_id(&s->statements, all[n], id);
    return rc;
}

/* A task is in the file whole, or not at all. */
static int refuse(struct sqlite_store *s, struct store_op *op, const struct put_part *part)
{
    op->error = STORE_REFUSED;
    return part == parts ? SQLITE_OK : put_take_out(s, op->task.id);
}

static int put_rows(struct sqlite_store *s, const struct put_part *part, uint32_t from,
                    uint32_t end)
{
    int rc = SQLITE_OK;
    assert(from < end);
    s->put_end = end;
    for (s->put_at = from; rc == SQLITE_OK && s->put_at < end; s->put_at++) {
        rc = statement_run(s->statements.all[part->statement]);
        if (s->put_at < end && statement_failed_alone(rc))
            rc = refuse(s, s->batch[s->put_at], part);
    }
    return rc;
}

static bool any_has(const struct sqlite_store *s, const struct put_part *part, uint32_t from,
                    uint32_t end)
{
    while (from < end && !part->has(&s->batch[from]->task))
        from++;
    return from < end;
}

int put_all(struct sqlite_store *s, uint32_t from, uint32_t end)
{
    int rc = SQLITE_OK;
    for (unsigned n = 0; n < PUT_PARTS && rc == SQLITE_OK; n++)
        if (any_has(s, &parts[n], from, end))
            rc = put_rows(s, &parts[n], from, end);
    return rc;
}
