/* Makes the texts of SQL statements from maps of rows (row_sqlite.h). */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/store/sqlite/row_sqlite.h"

struct sql {
    char *at;
    size_t len;
};

static void __attribute__((format(printf, 2, 3))) add(struct sql *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(s->at + s->len, ROW_SQL_MAX - s->len, format, args);
    va_end(args);
    s->len += (size_t)len;
    assert(s->len < ROW_SQL_MAX); /* the lists in rows.c are constant */
}

static void add_names(struct sql *s, const struct store_table *m)
{
    for (uint32_t n = 0; n < m->count; n++)
        add(s, "%s%s", n ? ", " : "", m->columns[n].name);
}

static void add_values(struct sql *s, const struct store_table *m)
{
    for (uint32_t n = 0; n < m->count; n++)
        add(s, "%s?%u", n ? ", " : "", n + 1);
}

static void add_into(struct sql *s, const struct store_table *m, const char *verb)
{
    add(s, "%s INTO %s (", verb, m->table);
    add_names(s, m);
    add(s, ")");
}

void row_insert_sql(const struct store_table *m, const char *verb, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add_into(&s, m, verb);
    add(&s, " VALUES (");
    add_values(&s, m);
    add(&s, ")");
}

/* The condition that names a row by its key.  `apart`: its parameters are numbered among
 * themselves, else as the columns are. */
static void add_key(struct sql *s, const struct store_table *t, bool apart)
{
    unsigned number = 0;
    const char *before = " WHERE ";
    for (uint32_t n = 0; n < t->count; n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key == KEY_NONE)
            continue;
        number = apart ? number + 1 : n + 1;
        if (c->key == KEY_PART_OR_NULL)
            add(s, "%sifnull(%s, '') = ifnull(?%u, '')", before, c->name, number);
        else
            add(s, "%s%s = ?%u", before, c->name, number);
        before = " AND ";
    }
    assert(number > 0); /* else the statement is about all rows */
}

void row_update_sql(const struct store_table *t, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    const char *before = " SET ";
    add(&s, "UPDATE %s", t->table);
    for (uint32_t n = 0; n < t->count; n++) {
        if (t->columns[n].key != KEY_NONE)
            continue;
        add(&s, "%s%s = ?%u", before, t->columns[n].name, n + 1);
        before = ", ";
    }
    add_key(&s, t, false);
}

void row_remove_sql(const struct store_table *t, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "DELETE FROM %s", t->table);
    add_key(&s, t, true);
}

void row_put_sql(const struct store_table *m, const char *verb, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add_into(&s, m, verb);
    add(&s, " SELECT ");
    add_names(&s, m);
    add(&s, " FROM " ROW_BATCH "%s", m->table);
}

void row_batch_sql(const struct store_table *m, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "CREATE TABLE " ROW_BATCH "%s (", m->table);
    add_names(&s, m);
    add(&s, ")");
}

void row_upsert_sql(const struct store_table *m, const struct store_table *of,
                    char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add_into(&s, m, "INSERT");
    add(&s, " SELECT ");
    add_values(&s, m);
    add(&s, " WHERE EXISTS (SELECT 1 FROM %s WHERE id = ?1) ON CONFLICT (id) DO UPDATE SET ",
        of->table);
    for (uint32_t n = 1; n < m->count; n++) {
        const char *name = m->columns[n].name;
        add(&s, "%s%s = ", n > 1 ? ", " : "", name);
        if (m->columns[n].stays)
            add(&s, "ifnull(excluded.%s, %s)", name, name);
        else
            add(&s, "excluded.%s", name);
    }
}

void row_select_sql(const struct store_table *m, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "SELECT ");
    add_names(&s, m);
    add(&s, " FROM %s ORDER BY %s", m->table, m->order);
}

void row_select_from_sql(const struct store_table *m, const char *key, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "SELECT ");
    add_names(&s, m);
    add(&s, " FROM %s WHERE %s >= ?1 ORDER BY %s", m->table, key, m->order);
}

void row_select_one_sql(const struct store_table *m, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "SELECT ");
    add_names(&s, m);
    add(&s, " FROM %s WHERE id = ?1", m->table);
}

static void add_columns(struct sql *s, const char *before, const struct store_table *m)
{
    for (uint32_t n = 0; n < m->count; n++)
        add(s, "%s%s.%s", n ? ", " : before, m->table, m->columns[n].name);
}

static void add_join(struct sql *s, const struct store_table *m)
{
    add(s, " LEFT JOIN %s ON %s.id = %s.id", m->table, m->table, row_submissions.table);
}

void row_select_tasks_sql(char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add_columns(&s, "SELECT ", &row_submissions);
    add_columns(&s, ", ", &row_options);
    add_columns(&s, ", ", &row_lives);
    add(&s, " FROM %s", row_submissions.table);
    add_join(&s, &row_options);
    add_join(&s, &row_lives);
    add(&s, " ORDER BY %s.id", row_submissions.table);
}
