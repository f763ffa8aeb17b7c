#include "server/store/sqlite/row_view.h"

#include <stdio.h>

#include "server/store/sqlite/row_sqlite.h"

enum { NAME = 64 };

struct view_table {
    sqlite3_vtab base; /* first */
    const struct row_view *view;
};

struct view_cursor {
    sqlite3_vtab_cursor base; /* first */
    const void *row;
};

static int table_connect(sqlite3 *db, void *view, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error)
{
    char sql[ROW_SQL_MAX];
    (void)argc;
    (void)argv;
    (void)error;
    row_batch_sql(((const struct row_view *)view)->map, sql);
    int rc = sqlite3_declare_vtab(db, sql);
    struct view_table *table = rc == SQLITE_OK ? sqlite3_malloc(sizeof *table) : NULL;
    if (!table)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    *table = (struct view_table){.view = view};
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

static const struct row_view *view_of(const sqlite3_vtab_cursor *cursor)
{
    return ((const struct view_table *)cursor->pVtab)->view;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct view_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    (void)table;
    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct view_cursor){.row = NULL};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int take_row(sqlite3_vtab_cursor *cursor)
{
    const struct row_view *view = view_of(cursor);
    ((struct view_cursor *)cursor)->row = view->row(view->arg);
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    return take_row(cursor);
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    const struct row_view *view = view_of(cursor);
    view->next(view->arg);
    return take_row(cursor);
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
    return !((const struct view_cursor *)cursor)->row;
}

static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
    const struct row_view *view = view_of(cursor);
    const void *row = ((const struct view_cursor *)cursor)->row;
    row_give(to, view->map, (uint32_t)column, row, view->names);
    return SQLITE_OK;
}

/* Nobody asks for it. */
static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    (void)cursor;
    *id = 0;
    return SQLITE_OK;
}

static const sqlite3_module view_module = {.xConnect = table_connect,
                                           .xBestIndex = table_plan,
                                           .xDisconnect = table_disconnect,
                                           .xOpen = cursor_open,
                                           .xClose = cursor_close,
                                           .xFilter = cursor_filter,
                                           .xNext = cursor_next,
                                           .xEof = cursor_eof,
                                           .xColumn = cursor_column,
                                           .xRowid = cursor_rowid};

int row_view_make(sqlite3 *db, struct row_view *view)
{
    char name[NAME];
    snprintf(name, sizeof name, ROW_BATCH "%s", view->map->table);
    return sqlite3_create_module(db, name, &view_module, view);
}
