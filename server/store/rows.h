/* Rows and structures: which column is which field.  One list a table serves all of its statements.
 *
 * Thread: whoever has the connection. */
#ifndef ERGON_STORE_ROWS_H
#define ERGON_STORE_ROWS_H

#include <sqlite3.h>

#include "server/store/store.h"

enum column_kind {
    COLUMN_U64,
    COLUMN_U32,
    COLUMN_U8,
    COLUMN_TEXT, /* a span */
    COLUMN_BLOB, /* a span */
    COLUMN_NAME  /* a U8 that is stored as its name */
};

struct row_column {
    const char *name;
    enum column_kind kind;
    size_t at; /* offset of the field */
    /* Written by CHANGE too: as it is, or only if it is not empty. */
    enum { COLUMN_STAYS, COLUMN_CHANGES, COLUMN_FILLED } change;
    uint8_t names; /* COLUMN_NAME: which list */
    bool seldom;   /* most rows have none, so that there is a shorter way without */
};

/* Lists of names; the values are their indices. */
enum { NAMES_STATE, NAMES_DURABLE, NAMES_LISTS };
struct row_names {
    struct {
        const char *const *names;
        uint32_t count;
    } lists[NAMES_LISTS];
};

struct row_map {
    const char *table;
    const char *order; /* columns */
    const struct row_column *columns;
    uint32_t count;
};

extern const struct row_map row_tasks, row_crons, row_events;

#define ROW_BATCH "new_tasks" /* the table that a PUT reads */

enum { ROW_SQL_MAX = 2048 };
void row_insert_sql(const struct row_map *m, const char *verb, char sql[static ROW_SQL_MAX]);
void row_put_sql(const struct row_map *m, bool plain, char sql[static ROW_SQL_MAX]);
void row_batch_sql(const struct row_map *m, char sql[static ROW_SQL_MAX]); /* of ROW_BATCH */
void row_change_sql(const struct row_map *m, char sql[static ROW_SQL_MAX]);
void row_select_sql(const struct row_map *m, char sql[static ROW_SQL_MAX]);

/* Binds a structure; its spans stay as they are until the statement has run.  `change`: for
 * row_change_sql().  An SQLite code. */
int row_bind(sqlite3_stmt *st, const struct row_map *m, const void *row, bool change,
             const struct row_names *names);

/* One column of a structure, to a statement that reads it.  Spans stay as they are until that has
 * run.  An empty field is not given: what SQLite has not been told is NULL. */
void row_give(sqlite3_context *to, const struct row_map *m, uint32_t column, const void *row,
              const struct row_names *names);
bool row_is_plain(const struct row_map *m, const void *row); /* has none of the seldom columns */

/* The row that a SELECT stands on.  Spans are valid until its next step.  False: a name that is in
 * no list. */
bool row_read(sqlite3_stmt *st, const struct row_map *m, void *row, const struct row_names *names);

#endif
