/* New tasks that follow one another in a batch are put by one statement: it reads them from a table
 * that is only a view of the batch.  A statement for each, with its values bound, costs twice as
 * much, as it finds the end of the tree anew each time. */
#include "server/store/store_parts.h"

/* --- The batch as a table --- */

struct batch_table {
    sqlite3_vtab base; /* first */
    struct store *store;
};

static struct store *store_of(const sqlite3_vtab_cursor *cursor)
{
    return ((struct batch_table *)cursor->pVtab)->store;
}

static int table_connect(sqlite3 *db, void *store, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
    char sql[ROW_SQL_MAX];
    row_batch_sql(&row_tasks, sql);
    int rc = sqlite3_declare_vtab(db, sql);
    struct batch_table *table = rc == SQLITE_OK ? sqlite3_malloc(sizeof *table) : NULL;
    if (!table)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    *table = (struct batch_table){.store = store};
    *out = &table->base;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* There is one way to read it: from where the statement begins to where it ends. */
static int table_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    (void)info;
    return SQLITE_OK;
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

static int cursor_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)cursor;
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    store_of(cursor)->put_at++;
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
    const struct store *s = store_of(cursor);
    return s->put_at == s->put_end;
}

static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct store *s = store_of(cursor);
    row_give(to, &row_tasks, (uint32_t)column, &s->batch[s->put_at]->task, &s->names);
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = store_of(cursor)->put_at;
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

int put_open(struct store *s)
{
    return sqlite3_create_module(s->db, ROW_BATCH, &batch_module, s);
}

/* --- The statement --- */

static bool is_plain(const struct store_op *op)
{
    return row_is_plain(&row_tasks, &op->task);
}

uint32_t put_run(const struct store *s, uint32_t from, uint32_t count)
{
    uint32_t end = from + 1;
    bool plain = is_plain(s->batch[from]);
    while (end < count && s->batch[end]->verb == STORE_PUT && is_plain(s->batch[end]) == plain)
        end++;
    return end;
}

/* OR FAIL: what stands before a row that is refused stays, and the rest is put from there. */
int put_all(struct store *s, uint32_t from, uint32_t end)
{
    bool plain = is_plain(s->batch[from]);
    sqlite3_stmt *st = s->statements[plain ? STATEMENT_PUT_PLAIN : STATEMENT_PUT];
    int rc = SQLITE_OK;
    s->put_end = end;
    for (s->put_at = from; s->put_at < end; s->put_at++) {
        rc = store_run(st);
        if (s->put_at == end || !store_is_its_own(rc))
            break;
        s->batch[s->put_at]->error = STORE_REFUSED;
        rc = SQLITE_OK;
    }
    return rc;
}
