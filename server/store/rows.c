#include "server/store/rows.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define AT(type, field) offsetof(struct type, field)
#define TASK(kind, f)   COLUMN_##kind, AT(store_task, f), COLUMN_STAYS, 0, false
#define SELDOM(kind, f) COLUMN_##kind, AT(store_task, f), COLUMN_STAYS, 0, true
#define LIFE(kind, f)   COLUMN_##kind, AT(store_task, f), COLUMN_CHANGES, 0, true
#define CRON(kind, f)   COLUMN_##kind, AT(store_cron, f), COLUMN_STAYS, 0, false
#define EVENT(kind, f)  COLUMN_##kind, AT(store_event, f), COLUMN_STAYS, 0, false
#define MAP(t, o, c)                                                                               \
    {                                                                                              \
        .table = t, .order = o, .columns = c, .count = sizeof c / sizeof *c                        \
    }

/* The first is what CHANGE finds the row by.  In the order of the table, which spares PUT a copy.
 */
static const struct row_column task_columns[] = {
    {"id", TASK(U64, id)},
    {"state", COLUMN_NAME, AT(store_task, state), COLUMN_CHANGES, NAMES_STATE, false},
    {"method", TASK(TEXT, method)},
    {"tenant", TASK(TEXT, tenant)},
    {"key", SELDOM(TEXT, key)},
    {"coalesce_key", SELDOM(TEXT, coalesce)},
    {"limit_key", SELDOM(TEXT, limit_key)},
    {"limit_max", SELDOM(U32, limit)},
    {"rate_key", SELDOM(TEXT, rate_key)},
    {"rate_max", SELDOM(U32, rate)},
    {"rate_per_ns", SELDOM(U64, rate_per)},
    {"priority", TASK(U8, priority)},
    {"durable", COLUMN_NAME, AT(store_task, durable), COLUMN_STAYS, NAMES_DURABLE, false},
    {"created_at", TASK(U64, created)},
    {"due_at", LIFE(U64, due_at)},
    {"deadline_at", SELDOM(U64, deadline_at)},
    {"timeout_ns", SELDOM(U64, timeout)},
    {"retries", SELDOM(U32, retries)},
    {"backoff_ns", TASK(U64, backoff)},
    {"backoff_max_ns", TASK(U64, backoff_max)},
    {"jitter", TASK(U8, jitter)},
    {"keep_ns", TASK(U64, keep)},
    {"keep_size", TASK(U64, keep_size)},
    {"after", SELDOM(BLOB, after)},
    {"attempt", LIFE(U32, attempt)},
    {"failures", LIFE(U32, failures)},
    {"crashes", LIFE(U32, crashes)},
    {"started_at", LIFE(U64, started_at)},
    {"ended_at", LIFE(U64, ended_at)},
    {"error_code", LIFE(TEXT, error_code)},
    {"error_text", LIFE(TEXT, error_text)},
    {"params", TASK(BLOB, params)},
    {"result", COLUMN_BLOB, AT(store_task, result), COLUMN_FILLED, 0, true},
    {"cancel_asked", LIFE(U8, cancel_asked)},
};
const struct row_map row_tasks = MAP("tasks", "id", task_columns);

static const struct row_column cron_columns[] = {
    {"name", CRON(TEXT, name)},      {"schedule", CRON(TEXT, schedule)},
    {"zone", CRON(TEXT, zone)},      {"method", CRON(TEXT, method)},
    {"tenant", CRON(TEXT, tenant)},  {"next_at", CRON(U64, next_at)},
    {"last_at", CRON(U64, last_at)}, {"last_task", CRON(U64, last_task)},
    {"params", CRON(BLOB, params)},  {"options", CRON(BLOB, options)},
};
const struct row_map row_crons = MAP("crons", "name", cron_columns);

static const struct row_column event_columns[] = {
    {"task", EVENT(U64, id)},         {"seq", EVENT(U32, seq)},    {"at", EVENT(U64, at)},
    {"attempt", EVENT(U32, attempt)}, {"what", EVENT(TEXT, what)}, {"text", EVENT(TEXT, text)},
    {"data", EVENT(BLOB, data)},
};
const struct row_map row_events = MAP("events", "task, seq", event_columns);

/* --- Text of the statements --- */

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
    assert(s->len < ROW_SQL_MAX); /* the lists above are constant */
}

static void add_names(struct sql *s, const struct row_map *m, bool plain)
{
    for (uint32_t n = 0; n < m->count; n++)
        if (!plain || !m->columns[n].seldom)
            add(s, "%s%s", n ? ", " : "", m->columns[n].name);
}

void row_insert_sql(const struct row_map *m, const char *verb, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "%s INTO %s (", verb, m->table);
    add_names(&s, m, false);
    for (uint32_t n = 0; n < m->count; n++)
        add(&s, "%s?%u", n ? ", " : ") VALUES (", n + 1);
    add(&s, ")");
}

void row_put_sql(const struct row_map *m, bool plain, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "INSERT OR FAIL INTO %s (", m->table);
    add_names(&s, m, plain);
    add(&s, ") SELECT ");
    add_names(&s, m, plain);
    add(&s, " FROM " ROW_BATCH);
}

void row_batch_sql(const struct row_map *m, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "CREATE TABLE " ROW_BATCH " (");
    add_names(&s, m, false);
    add(&s, ")");
}

void row_change_sql(const struct row_map *m, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    const char *between = " SET ";
    add(&s, "UPDATE %s", m->table);
    for (uint32_t n = 0; n < m->count; n++) {
        const struct row_column *c = &m->columns[n];
        if (c->change == COLUMN_STAYS)
            continue;
        if (c->change == COLUMN_FILLED)
            add(&s, "%s%s = ifnull(?%u, %s)", between, c->name, n + 1, c->name);
        else
            add(&s, "%s%s = ?%u", between, c->name, n + 1);
        between = ", ";
    }
    add(&s, " WHERE %s = ?1", m->columns[0].name);
}

void row_select_sql(const struct row_map *m, char sql[static ROW_SQL_MAX])
{
    struct sql s = {.at = sql};
    add(&s, "SELECT ");
    add_names(&s, m, false);
    add(&s, " FROM %s ORDER BY %s", m->table, m->order);
}

/* --- Structures into rows --- */

/* Zero and empty are NULL, which takes no room in the file. */
static int bind_number(sqlite3_stmt *st, int index, uint64_t value)
{
    return value ? sqlite3_bind_int64(st, index, (sqlite3_int64)value) : SQLITE_OK;
}

static int bind_span(sqlite3_stmt *st, int index, const struct span *s, bool text)
{
    if (s->len == 0)
        return SQLITE_OK;
    if (text)
        return sqlite3_bind_text64(st, index, (const char *)s->at, s->len, SQLITE_STATIC,
                                   SQLITE_UTF8);
    return sqlite3_bind_blob64(st, index, s->at, s->len, SQLITE_STATIC);
}

static int bind_name(sqlite3_stmt *st, int index, uint8_t value, const struct row_column *c,
                     const struct row_names *names)
{
    assert(value < names->lists[c->names].count);
    return sqlite3_bind_text(st, index, names->lists[c->names].names[value], -1, SQLITE_STATIC);
}

static int bind(sqlite3_stmt *st, int index, const void *field, const struct row_column *c,
                const struct row_names *names)
{
    switch (c->kind) {
    case COLUMN_U64:
        return bind_number(st, index, *(const uint64_t *)field);
    case COLUMN_U32:
        return bind_number(st, index, *(const uint32_t *)field);
    case COLUMN_U8:
        return bind_number(st, index, *(const uint8_t *)field);
    case COLUMN_TEXT:
        return bind_span(st, index, field, true);
    case COLUMN_BLOB:
        return bind_span(st, index, field, false);
    case COLUMN_NAME:
        return bind_name(st, index, *(const uint8_t *)field, c, names);
    }
    return SQLITE_INTERNAL;
}

int row_bind(sqlite3_stmt *st, const struct row_map *m, const void *row, bool change,
             const struct row_names *names)
{
    sqlite3_clear_bindings(st);
    for (uint32_t n = 0; n < m->count; n++) {
        const struct row_column *c = &m->columns[n];
        if (change && n > 0 && c->change == COLUMN_STAYS)
            continue;
        int rc = bind(st, (int)n + 1, (const char *)row + c->at, c, names);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

/* --- Structures as rows of a table that SQLite reads --- */

static void give_span(sqlite3_context *to, const struct span *s, bool text)
{
    if (s->len == 0)
        return;
    if (text)
        sqlite3_result_text64(to, (const char *)s->at, s->len, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_result_blob64(to, s->at, s->len, SQLITE_STATIC);
}

static void give_number(sqlite3_context *to, uint64_t value)
{
    if (value)
        sqlite3_result_int64(to, (sqlite3_int64)value);
}

void row_give(sqlite3_context *to, const struct row_map *m, uint32_t column, const void *row,
              const struct row_names *names)
{
    const struct row_column *c = &m->columns[column];
    const void *field = (const char *)row + c->at;
    switch (c->kind) {
    case COLUMN_U64:
        give_number(to, *(const uint64_t *)field);
        return;
    case COLUMN_U32:
        give_number(to, *(const uint32_t *)field);
        return;
    case COLUMN_U8:
        give_number(to, *(const uint8_t *)field);
        return;
    case COLUMN_TEXT:
        give_span(to, field, true);
        return;
    case COLUMN_BLOB:
        give_span(to, field, false);
        return;
    case COLUMN_NAME:
        sqlite3_result_text(to, names->lists[c->names].names[*(const uint8_t *)field], -1,
                            SQLITE_STATIC);
        return;
    }
}

static bool is_empty(const void *field, enum column_kind kind)
{
    switch (kind) {
    case COLUMN_U64:
        return *(const uint64_t *)field == 0;
    case COLUMN_U32:
        return *(const uint32_t *)field == 0;
    case COLUMN_U8:
    case COLUMN_NAME:
        return *(const uint8_t *)field == 0;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return ((const struct span *)field)->len == 0;
    }
    return false;
}

bool row_is_plain(const struct row_map *m, const void *row)
{
    for (uint32_t n = 0; n < m->count; n++)
        if (m->columns[n].seldom &&
            !is_empty((const char *)row + m->columns[n].at, m->columns[n].kind))
            return false;
    return true;
}

/* --- Rows into structures --- */

/* Of text, too: the bytes as they are in the file. */
static struct span read_span(sqlite3_stmt *st, int index)
{
    const void *at = sqlite3_column_blob(st, index);
    return span_of(at, (size_t)sqlite3_column_bytes(st, index));
}

static bool read_name(struct span name, uint8_t *value, const struct row_column *c,
                      const struct row_names *names)
{
    for (uint32_t n = 0; n < names->lists[c->names].count; n++)
        if (span_is(name, names->lists[c->names].names[n])) {
            *value = (uint8_t)n;
            return true;
        }
    return false;
}

static bool read(sqlite3_stmt *st, int index, void *field, const struct row_column *c,
                 const struct row_names *names)
{
    switch (c->kind) {
    case COLUMN_U64:
        *(uint64_t *)field = (uint64_t)sqlite3_column_int64(st, index);
        return true;
    case COLUMN_U32:
        *(uint32_t *)field = (uint32_t)sqlite3_column_int64(st, index);
        return true;
    case COLUMN_U8:
        *(uint8_t *)field = (uint8_t)sqlite3_column_int64(st, index);
        return true;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        *(struct span *)field = read_span(st, index);
        return true;
    case COLUMN_NAME:
        return read_name(read_span(st, index), field, c, names);
    }
    return false;
}

bool row_read(sqlite3_stmt *st, const struct row_map *m, void *row, const struct row_names *names)
{
    for (uint32_t n = 0; n < m->count; n++)
        if (!read(st, (int)n, (char *)row + m->columns[n].at, &m->columns[n], names))
            return false;
    return true;
}
