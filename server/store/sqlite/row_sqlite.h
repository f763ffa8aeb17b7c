/* Rows as SQLite has them: structures are bound to statements and read from them, and the texts of
 * the statements are made from the tables of rows.h.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_ROW_SQLITE_H
#define ERGON_STORE_ROW_SQLITE_H

#include <sqlite3.h>

#include "server/store/rows.h"

/* Binds a structure; its spans stay as they are until the statement has run.  An SQLite code. */
int row_bind(sqlite3_stmt *st, const struct store_table *m, const void *row,
             const struct row_names *names);

/* Binds the columns of the key alone, to the statements that begin with them. */
int row_bind_key(sqlite3_stmt *st, const struct store_table *t, const void *row,
                 const struct row_names *names);

/* One column of a structure, to a statement that reads it.  Spans stay as they are until that has
 * run.  An empty field is not given: to SQLite it is NULL. */
void row_give(sqlite3_context *to, const struct store_table *m, uint32_t column, const void *row,
              const struct row_names *names);

/* Fields from the row that a SELECT is at, whose column `first` is the map's first; `row` is
 * zeroed, and stays so where a column is NULL.  Spans are valid until its next step.  NULL, or the
 * first column that holds what none of its fields can: no number, or one that is too large, or a
 * name that is in no list. */
const struct store_column *row_read(sqlite3_stmt *st, uint32_t first, const struct store_table *m,
                                    void *row, const struct row_names *names);

/* --- row_sql.c: the texts of the statements --- */

#define ROW_BATCH "new_" /* and the table's name: what a PUT reads */

enum { ROW_SQL_MAX = 2048 };
/* CREATE TABLE as a file of that version had it, and its index; empty: it had none. */
void row_create_sql(const struct store_table *t, int version, char sql[static ROW_SQL_MAX]);
/* ALTER TABLE for the columns that this version brought; empty: there are none. */
void row_step_sql(const struct store_table *t, int version, char sql[static ROW_SQL_MAX]);
/* INSERT of bound values; `verb` may be REPLACE. */
void row_insert_sql(const struct store_table *m, const char *verb, char sql[static ROW_SQL_MAX]);
/* UPDATE of a row's columns by its key; bound as an INSERT. */
void row_update_sql(const struct store_table *t, char sql[static ROW_SQL_MAX]);
void row_remove_sql(const struct store_table *t, char sql[static ROW_SQL_MAX]); /* by its key */
/* INSERT of all that the batch has. */
void row_put_sql(const struct store_table *m, const char *verb, char sql[static ROW_SQL_MAX]);
void row_batch_sql(const struct store_table *m,
                   char sql[static ROW_SQL_MAX]); /* CREATE TABLE of it */
/* A row of `m`, new or in place of the old one, if `of` has one of that id; bound as an INSERT. */
void row_upsert_sql(const struct store_table *m, const struct store_table *of,
                    char sql[static ROW_SQL_MAX]);
/* In order; `back`: the last row first. */
void row_select_sql(const struct store_table *m, bool back, char sql[static ROW_SQL_MAX]);
/* In order, from the number ?1 on, which is in the column `key`. */
void row_select_from_sql(const struct store_table *m, const char *key,
                         char sql[static ROW_SQL_MAX]);
void row_select_one_sql(const struct store_table *m, char sql[static ROW_SQL_MAX]); /* of id ?1 */

#endif
