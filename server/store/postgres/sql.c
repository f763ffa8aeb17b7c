#include "server/store/postgres/sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/store/postgres/types.h"
#include "server/store/rows.h"

void sql_add(struct sql *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(s->at + s->len, s->room - s->len, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= s->room - s->len)
        abort();
    s->len += (size_t)len;
}

void sql_names(struct sql *s, const struct store_table *t, const char *prefix)
{
    for (uint32_t n = 0; n < sql_columns(t); n++)
        sql_add(s, "%s%s%s", n ? ", " : "", prefix, t->columns[n].name);
}

/* --- In bulk: a parameter is an array of a column's values --- */

/* Functions that return rows go on together where they are selected, those that have ended with
 * NULL; in FROM each would be read to its end into a store of its own first. */
void sql_insert(struct sql *s, const struct store_table *t)
{
    sql_add(s, "INSERT INTO ergon.%s AS l (", t->table);
    sql_names(s, t, "");
    sql_add(s, ") SELECT ");
    for (uint32_t n = 0; n < sql_columns(t); n++)
        sql_add(s, "%sunnest($%u::%s[])", n ? ", " : "", n + 1, type_name(&t->columns[n]));
}

static void add_conflict(struct sql *s, const struct store_table *t, const char *key)
{
    const char *before = "";
    sql_add(s, " ON CONFLICT (%s) DO UPDATE SET ", key);
    for (uint32_t n = 1; n < sql_columns(t); n++) {
        const char *name = t->columns[n].name;
        if (t->columns[n].key != KEY_NONE)
            continue;
        if (t->columns[n].stays)
            sql_add(s, "%s%s = coalesce(excluded.%s, l.%s)", before, name, name, name);
        else
            sql_add(s, "%s%s = excluded.%s", before, name, name);
        before = ", ";
    }
}

void sql_upsert(struct sql *s, const struct store_table *t, const char *key)
{
    sql_insert(s, t);
    add_conflict(s, t, key);
}

/* The last parameter is how many tasks must be there.  A change of a task that has no row is
 * refused: else its end would be reported, and not be kept. */
void sql_change_lives(struct sql *s, bool first)
{
    sql_add(s, "WITH c AS (");
    sql_insert(s, &row_lives);
    if (!first)
        add_conflict(s, &row_lives, "id");
    sql_add(s, ") SELECT ergon.rows(count(*), $%u) FROM ergon.submissions WHERE id = ANY ($1)",
            sql_columns(&row_lives) + 1);
}

/* --- One row --- */

bool sql_key_has_null(const struct store_table *t)
{
    for (uint32_t n = 0; n < sql_columns(t); n++)
        if (t->columns[n].key == KEY_PART_OR_NULL)
            return true;
    return false;
}

/* The condition that names a row by its key.  `apart`: its parameters are numbered among
 * themselves, else as the columns are. */
static void add_key(struct sql *s, const struct store_table *t, bool apart)
{
    unsigned number = 0;
    const char *before = " WHERE ";
    for (uint32_t n = 0; n < sql_columns(t); n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key == KEY_NONE)
            continue;
        number = apart ? number + 1 : n + 1;
        if (c->key == KEY_PART_OR_NULL)
            sql_add(s, "%scoalesce(%s, '') = coalesce($%u, '')", before, c->name, number);
        else
            sql_add(s, "%s%s = $%u", before, c->name, number);
        before = " AND ";
    }
    if (number == 0) /* else the statement is about all rows */
        abort();
}

static const char *key_of(const struct store_table *t)
{
    for (uint32_t n = 0; n < sql_columns(t); n++)
        if (t->columns[n].key == KEY_PART)
            return t->columns[n].name;
    return t->columns[0].name;
}

void sql_put_row(struct sql *s, const struct store_table *t)
{
    sql_add(s, "INSERT INTO ergon.%s AS l (", t->table);
    sql_names(s, t, "");
    bool numbered = sql_key_has_null(t);
    sql_add(s, ") VALUES (");
    for (uint32_t n = 0; n < sql_columns(t); n++)
        if (n == 0 && numbered) /* a free number, if it has none */
            sql_add(s, "coalesce($1, (SELECT coalesce(max(%s), 0) + 1 FROM ergon.%s))",
                    t->columns[0].name, t->table);
        else
            sql_add(s, "%s$%u", n ? ", " : "", n + 1);
    sql_add(s, ")");
    if (numbered) /* the old one was removed before */
        return;
    const char *before = "";
    sql_add(s, " ON CONFLICT (%s) DO UPDATE SET ", key_of(t));
    for (uint32_t n = 0; n < sql_columns(t); n++)
        if (t->columns[n].key == KEY_NONE) {
            sql_add(s, "%s%s = excluded.%s", before, t->columns[n].name, t->columns[n].name);
            before = ", ";
        }
}

void sql_update_row(struct sql *s, const struct store_table *t)
{
    const char *before = " SET ";
    sql_add(s, "UPDATE ergon.%s", t->table);
    for (uint32_t n = 0; n < sql_columns(t); n++) {
        if (t->columns[n].key != KEY_NONE)
            continue;
        sql_add(s, "%s%s = $%u", before, t->columns[n].name, n + 1);
        before = ", ";
    }
    add_key(s, t, false);
}

void sql_remove_row(struct sql *s, const struct store_table *t)
{
    sql_add(s, "DELETE FROM ergon.%s", t->table);
    add_key(s, t, true);
}

/* --- To read --- */

void sql_select(struct sql *s, const struct store_table *t)
{
    sql_add(s, "SELECT ");
    sql_names(s, t, "");
    sql_add(s, " FROM ergon.%s ORDER BY %s", t->table, t->order);
}

/* Its columns as one value, which is NULL where the task has no such row: most have none, and a
 * column each would be most of what is sent. */
static void join_record(struct sql *s, const struct store_table *t, const char *name)
{
    sql_add(s, " LEFT JOIN (SELECT ");
    sql_names(s, t, "");
    sql_add(s, " FROM ergon.%s) %s ON %s.id = s.id", t->table, name, name);
}

void sql_select_tasks(struct sql *s)
{
    sql_add(s, "SELECT ");
    sql_names(s, &row_database_submissions, "s.");
    sql_add(s, ", o, l FROM ergon.submissions s");
    join_record(s, &row_options, "o");
    join_record(s, &row_lives, "l");
    sql_add(s, " ORDER BY s.id");
}
