/* Makes the texts of SQL statements, and the tables themselves, from maps of rows. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void row_select_sql(const struct store_table *m, bool back, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "SELECT ");
    add_names(&s, m);
    add(&s, " FROM %s ORDER BY ", m->table);
    for (const char *c = m->order; *c; c++)
        add(&s, back && *c == ',' ? " DESC%c" : "%c", *c);
    add(&s, back ? " DESC" : "");
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

/* --- The tables themselves --- */

enum { ABOUT_AT = 33 /* the column at which comments begin */ };

static const char *type_of(const struct store_column *c)
{
    switch (c->kind) {
    case COLUMN_U64:
    case COLUMN_U32:
    case COLUMN_U8:
        return "INTEGER";
    case COLUMN_TEXT:
    case COLUMN_NAME:
        return "TEXT";
    case COLUMN_BLOB:
        return "BLOB";
    }
    return "";
}

/* Is its key this column alone? */
static bool is_primary(const struct store_table *t, const struct store_column *c)
{
    return !t->one_row && strcmp(t->order, c->name) == 0;
}

static bool has_list_of_keys(const struct store_table *t)
{
    return strchr(t->order, ',') != NULL;
}

/* How many columns the table had; later ones are behind these. */
static uint32_t columns_of(const struct store_table *t, int version)
{
    uint32_t count = 0;
    while (count < t->count && t->columns[count].since <= version)
        count++;
    return count;
}

static void add_column(struct sql *s, const struct store_table *t, uint32_t n, bool last)
{
    const struct store_column *c = &t->columns[n];
    size_t from = s->len;
    add(s, "    %s %s%s%s%s", c->name, type_of(c), is_primary(t, c) ? " PRIMARY KEY" : "",
        c->required ? " NOT NULL" : "", last ? "" : ",");
    if (c->about)
        add(s, "%*s-- %s", (int)(from + ABOUT_AT - s->len), "", c->about);
    add(s, "\n");
}

/* Over the columns of its key, in their order. */
static void add_index(struct sql *s, const struct store_table *t)
{
    const char *before = "";
    add(s, "CREATE UNIQUE INDEX %s ON %s (", t->unique, t->table);
    for (uint32_t n = 0; n < t->count; n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key == KEY_NONE)
            continue;
        add(s, c->key == KEY_PART_OR_NULL ? "%sifnull(%s, '')" : "%s%s", before, c->name);
        before = ", ";
    }
    add(s, ");\n");
}

void row_create_sql(const struct store_table *t, int version, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    uint32_t count = columns_of(t, version);
    *sql = '\0';
    if (count == 0)
        return;
    add(&s, "CREATE TABLE %s (\n", t->table);
    for (uint32_t n = 0; n < count; n++)
        add_column(&s, t, n, n + 1 == count && !has_list_of_keys(t));
    if (has_list_of_keys(t))
        add(&s, "    PRIMARY KEY (%s)\n", t->order);
    add(&s, ")%s;\n", t->clustered ? " WITHOUT ROWID" : "");
    if (t->unique)
        add_index(&s, t);
}

void row_step_sql(const struct store_table *t, int version, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    *sql = '\0';
    if (t->count > 0 && t->columns[0].since == version) {
        row_create_sql(t, version, sql);
        return;
    }
    for (uint32_t n = 0; n < t->count; n++)
        if (t->columns[n].since == version)
            add(&s, "ALTER TABLE %s ADD COLUMN %s %s;\n", t->table, t->columns[n].name,
                type_of(&t->columns[n]));
}
