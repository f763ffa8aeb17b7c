/* Texts of statements in a buffer.  Pure; any thread. */
#ifndef ERGON_STORE_POSTGRES_SQL_H
#define ERGON_STORE_POSTGRES_SQL_H

#include "server/store/store.h"

/* What a commit survives: an enum store_level (level.h). */
#define SQL_LEVEL                                                                                  \
    "CASE WHEN current_setting('fsync') <> 'on' THEN 1 "                                           \
    "WHEN current_setting('synchronous_standby_names') <> '' THEN 3 ELSE 2 END"

struct sql {
    char *at;
    size_t room, len;
};

/* In PostgreSQL, with those that SQLite has not. */
static inline uint32_t sql_columns(const struct store_table *t)
{
    return t->count + t->more;
}

/* The texts are made of constant lists, so that a room that is too small is a fault of this code:
 * it ends the process in all builds. */
void sql_add(struct sql *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sql_names(struct sql *s, const struct store_table *t, const char *prefix);

enum { SQL_MAX = 4096 };
/* --- Of one table: see batch.c for their parameters --- */
void sql_insert(struct sql *s, const struct store_table *t);
/* Rows that are there change; of tables whose key begins with the first column. */
void sql_upsert(struct sql *s, const struct store_table *t, const char *key);
/* Lives of tasks; `first`: none has a row of it. */
void sql_change_lives(struct sql *s, bool first);
/* One row of a table that people's verbs change: the parameters are the columns. */
void sql_put_row(struct sql *s, const struct store_table *t);
void sql_update_row(struct sql *s, const struct store_table *t);
/* The parameters are those of the key, in the order of the columns. */
void sql_remove_row(struct sql *s, const struct store_table *t);
/* Is the row found by an expression instead of by a primary key? */
bool sql_key_has_null(const struct store_table *t);

void sql_select(struct sql *s, const struct store_table *t);
void sql_select_tasks(struct sql *s);

#endif
