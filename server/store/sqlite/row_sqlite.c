#include "server/store/sqlite/row_sqlite.h"

#include <assert.h>

/* --- Structures into rows --- */

/* Zero and empty values become NULL, which takes no room in the file. */
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

static int bind_name(sqlite3_stmt *st, int index, uint8_t value, const struct store_column *c,
                     const struct row_names *names)
{
    assert(value < names->lists[c->names].count);
    return sqlite3_bind_text(st, index, names->lists[c->names].names[value], -1, SQLITE_STATIC);
}

static int bind(sqlite3_stmt *st, int index, const void *field, const struct store_column *c,
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

static int bind_column(sqlite3_stmt *st, int index, const struct store_column *c, const void *row,
                       const struct row_names *names)
{
    if (c->key == KEY_PART_OR_EMPTY && row_is_null(c, row))
        return sqlite3_bind_text(st, index, "", 0, SQLITE_STATIC);
    return bind(st, index, (const char *)row + c->at, c, names);
}

int row_bind(sqlite3_stmt *st, const struct store_table *m, const void *row,
             const struct row_names *names)
{
    assert(m->count <= (uint32_t)sqlite3_bind_parameter_count(st));
    sqlite3_clear_bindings(st);
    for (uint32_t n = 0; n < m->count; n++) {
        const struct store_column *c = &m->columns[n];
        int rc = bind_column(st, (int)n + 1, c, row, names);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

int row_bind_key(sqlite3_stmt *st, const struct store_table *t, const void *row,
                 const struct row_names *names)
{
    int index = 0, rc = SQLITE_OK;
    sqlite3_clear_bindings(st);
    for (uint32_t n = 0; n < t->count && rc == SQLITE_OK; n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key != KEY_NONE)
            rc = bind_column(st, ++index, c, row, names);
    }
    assert(index > 0 && index <= sqlite3_bind_parameter_count(st)); /* else it means other rows */
    return rc;
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

void row_give(sqlite3_context *to, const struct store_table *m, uint32_t column, const void *row,
              const struct row_names *names)
{
    assert(column < m->count);
    const struct store_column *c = &m->columns[column];
    const void *field = (const char *)row + c->at;
    if (c->key == KEY_PART_OR_EMPTY && row_is_null(c, row)) {
        sqlite3_result_text(to, "", 0, SQLITE_STATIC);
        return;
    }
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

/* --- Rows into structures --- */

/* Text, too, is read as the bytes that are in the file. */
static struct span read_span(sqlite3_stmt *st, int index)
{
    const void *at = sqlite3_column_blob(st, index);
    return span_of(at, (size_t)sqlite3_column_bytes(st, index));
}

static bool read_name(struct span name, uint8_t *value, const struct store_column *c,
                      const struct row_names *names)
{
    for (uint32_t n = 0; n < names->lists[c->names].count; n++)
        if (span_is(name, names->lists[c->names].names[n])) {
            *value = (uint8_t)n;
            return true;
        }
    return false;
}

/* SQLite keeps a number in any column, and bytes in any, whatever the table says of it: what was
 * damaged may hold a fraction where a number was. */
static bool read_number(sqlite3_stmt *st, int index, int type, uint64_t most, uint64_t *value)
{
    *value = (uint64_t)sqlite3_column_int64(st, index);
    return type == SQLITE_INTEGER && *value <= most;
}

/* Most columns of most rows are NULL, which leaves the field as it is: zero. */
static bool read(sqlite3_stmt *st, int index, void *field, const struct store_column *c,
                 const struct row_names *names)
{
    uint64_t number = 0;
    int type = sqlite3_column_type(st, index);
    bool good = type == SQLITE_TEXT || type == SQLITE_BLOB;
    if (type == SQLITE_NULL)
        return c->kind != COLUMN_NAME;
    switch (c->kind) {
    case COLUMN_U64: /* the file has the upper half as negative numbers */
        good = read_number(st, index, type, UINT64_MAX, &number);
        *(uint64_t *)field = number;
        return good;
    case COLUMN_U32:
        good = read_number(st, index, type, UINT32_MAX, &number);
        *(uint32_t *)field = (uint32_t)number;
        return good;
    case COLUMN_U8:
        good = read_number(st, index, type, UINT8_MAX, &number);
        *(uint8_t *)field = (uint8_t)number;
        return good;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        *(struct span *)field = read_span(st, index);
        return good;
    case COLUMN_NAME:
        return good && read_name(read_span(st, index), field, c, names);
    }
    return false;
}

const struct store_column *row_read(sqlite3_stmt *st, uint32_t first, const struct store_table *m,
                                    void *row, const struct row_names *names)
{
    assert(first + m->count <= (uint32_t)sqlite3_column_count(st));
    for (uint32_t n = 0; n < m->count; n++)
        if (!read(st, (int)(first + n), (char *)row + m->columns[n].at, &m->columns[n], names))
            return &m->columns[n];
    return NULL;
}
