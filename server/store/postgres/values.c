#include "server/store/postgres/values.h"

#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "server/store/postgres/types.h"

enum { ROOM_FIRST = 64 * 1024, ROOM_KEPT = 4 * 1024 * 1024, UTF8_REPLACED = 3 };
enum { OID_BOOL = 16, OID_BIGINT = 20, OID_TEXT_ONE = 25 };

/* --- The buffer --- */

void values_begin(struct values *v)
{
    if (v->room > ROOM_KEPT) {
        values_free(v);
        *v = (struct values){0};
    }
    v->len = 0;
    v->failed = false;
    v->params.count = 0;
}

void values_free(struct values *v)
{
    free(v->at);
    v->at = NULL;
    v->room = 0;
}

static uint8_t *reserve(struct values *v, size_t size)
{
    if (v->failed)
        return NULL;
    if (v->room - v->len < size) {
        size_t room = v->room ? v->room : ROOM_FIRST;
        while (room - v->len < size && room < INT_MAX)
            room *= 2;
        uint8_t *at = room - v->len >= size && room < INT_MAX ? realloc(v->at, room) : NULL;
        if (!at) {
            v->failed = true;
            return NULL;
        }
        v->at = at;
        v->room = room;
    }
    return v->at + v->len;
}

static void put32(struct values *v, uint32_t number)
{
    uint8_t *to = reserve(v, sizeof number);
    if (!to)
        return;
    number = htobe32(number);
    memcpy(to, &number, sizeof number);
    v->len += sizeof number;
}

static void begin_param(struct values *v, Oid type)
{
    assert(v->params.count < PARAMS_MAX);
    v->params.types[v->params.count] = type;
    v->params.formats[v->params.count] = 1;
    v->from[v->params.count] = v->len;
}

static void end_param(struct values *v, bool null)
{
    int n = v->params.count++;
    v->params.lengths[n] = null ? -1 : (int)(v->len - v->from[n]);
}

const struct params *values_end(struct values *v)
{
    if (v->failed)
        return NULL;
    for (int n = 0; n < v->params.count; n++)
        v->params.values[n] = v->params.lengths[n] < 0 ? NULL : (const char *)v->at + v->from[n];
    return &v->params;
}

/* --- Fields --- */

static bool put_number(struct values *v, uint64_t number, size_t size)
{
    uint8_t *to = number ? reserve(v, size) : NULL;
    if (!to)
        return false;
    number = htobe64(number);
    memcpy(to, (const uint8_t *)&number + sizeof number - size, size);
    v->len += size;
    return true;
}

static bool put_span(struct values *v, struct span s)
{
    uint8_t *to = s.len ? reserve(v, s.len) : NULL;
    if (!to)
        return false;
    memcpy(to, s.at, s.len);
    v->len += s.len;
    return true;
}

/* A text of people that PostgreSQL could not store would make its task's change fail. */
static bool put_clean(struct values *v, struct span s)
{
    if (s.len == 0)
        return false;
    if (utf8_valid(s) && !memchr(s.at, 0, s.len))
        return put_span(v, s);
    uint8_t *to = reserve(v, s.len * UTF8_REPLACED);
    if (!to)
        return false;
    size_t len = utf8_clean(to, s.len * UTF8_REPLACED, s);
    for (size_t n = 0; n < len; n++)
        if (to[n] == 0)
            to[n] = ' ';
    v->len += len;
    return true;
}

/* A part of the key that may be empty is '' then. */
static bool is_null(const struct store_column *c, const void *row)
{
    return c->key != KEY_PART_OR_EMPTY && row_is_null(c, row);
}

/* False: it is NULL. */
static bool put_field(struct values *v, const struct store_column *c, const void *row,
                      const struct row_names *names, bool clean)
{
    const void *field = (const char *)row + c->at;
    if (c->key == KEY_PART_OR_EMPTY && row_is_null(c, row))
        return true;
    switch (c->kind) {
    case COLUMN_U64:
        return put_number(v, *(const uint64_t *)field, 8);
    case COLUMN_U32:
        return put_number(v, *(const uint32_t *)field, 8);
    case COLUMN_U8:
        return put_number(v, *(const uint8_t *)field, 2);
    case COLUMN_TEXT:
        return clean ? put_clean(v, *(const struct span *)field)
                     : put_span(v, *(const struct span *)field);
    case COLUMN_BLOB:
        return put_span(v, *(const struct span *)field);
    case COLUMN_NAME:
        return put_span(v, span_text(names->lists[c->names].names[*(const uint8_t *)field]));
    }
    return false;
}

/* With its length before it. */
static void put_element(struct values *v, const struct store_column *column, const void *row,
                        const struct row_names *names, bool clean)
{
    size_t at = v->len;
    put32(v, UINT32_MAX);
    if (!put_field(v, column, row, names, clean) || v->failed)
        return;
    uint32_t len = htobe32((uint32_t)(v->len - at - sizeof len));
    memcpy(v->at + at, &len, sizeof len);
}

static bool all_null(const struct store_column *column, const void *const *rows, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        if (!is_null(column, rows[n]))
            return false;
    return true;
}

/* Arrays have their dimensions, whether a NULL may be in them, and the type; each element has its
 * length before it, NULL -1.  A column of NULLs alone is an empty array, for unnest() fills it up,
 * and the server reads each array, value by value: most columns of most batches are such ones. */
void values_array(struct values *v, const struct store_column *column, const void *const *rows,
                  uint32_t count, const struct row_names *names, bool clean)
{
    bool empty = all_null(column, rows, count);
    begin_param(v, type_array(column));
    put32(v, empty ? 0 : 1);
    put32(v, empty ? 0 : 1);
    put32(v, type_scalar(column));
    if (empty) {
        end_param(v, false);
        return;
    }
    put32(v, count);
    put32(v, 1);
    for (uint32_t n = 0; n < count; n++)
        put_element(v, column, rows[n], names, clean);
    end_param(v, false);
}

void values_field(struct values *v, const struct store_column *column, const void *row,
                  const struct row_names *names)
{
    begin_param(v, type_scalar(column));
    end_param(v, !put_field(v, column, row, names, false));
}

/* Texts for people are cleaned, as where they change. */
void values_copy_row(struct values *v, const struct store_table *t, const void *row,
                     const struct row_names *names)
{
    bool clean = t == &row_lives || t == &row_events;
    uint16_t count = htobe16((uint16_t)(t->count + t->more));
    uint8_t *to = reserve(v, sizeof count);
    if (!to)
        return;
    memcpy(to, &count, sizeof count);
    v->len += sizeof count;
    for (uint32_t n = 0; n < t->count + t->more; n++)
        put_element(v, &t->columns[n], row, names, clean);
}

void values_number(struct values *v, int64_t number)
{
    begin_param(v, OID_BIGINT);
    put32(v, (uint32_t)((uint64_t)number >> 32));
    put32(v, (uint32_t)number);
    end_param(v, false);
}

void values_bool(struct values *v, bool value)
{
    uint8_t *to;
    begin_param(v, OID_BOOL);
    to = reserve(v, 1);
    if (to) {
        *to = value;
        v->len++;
    }
    end_param(v, false);
}

void values_text(struct values *v, const char *text)
{
    begin_param(v, OID_TEXT_ONE);
    put_span(v, span_text(text));
    end_param(v, false);
}

uint64_t value_number(const char *at, int len)
{
    int16_t two;
    int32_t four;
    uint64_t eight;
    switch (len) {
    case 1:
        return (uint64_t) * (const uint8_t *)at;
    case 2:
        memcpy(&two, at, sizeof two);
        return (uint64_t)(int64_t)(int16_t)be16toh((uint16_t)two);
    case 4:
        memcpy(&four, at, sizeof four);
        return (uint64_t)(int64_t)(int32_t)be32toh((uint32_t)four);
    case 8:
        memcpy(&eight, at, sizeof eight);
        return be64toh(eight);
    default:
        return 0;
    }
}

static bool take_number(const char *at, int len, uint64_t most, uint64_t *number)
{
    *number = len < 0 ? 0 : value_number(at, len);
    return *number <= most;
}

static bool take_name(const struct store_column *c, const char *at, int len, uint8_t *value,
                      const struct row_names *names)
{
    struct span name = span_of(at, len < 0 ? 0 : (size_t)len);
    for (uint32_t n = 0; n < names->lists[c->names].count; n++)
        if (span_is(name, names->lists[c->names].names[n])) {
            *value = (uint8_t)n;
            return true;
        }
    return false;
}

bool value_take(const struct store_column *c, const char *at, int len, void *row,
                const struct row_names *names)
{
    void *field = (char *)row + c->at;
    uint64_t number = 0;
    bool good = false;
    switch (c->kind) {
    case COLUMN_U64:
        good = take_number(at, len, UINT64_MAX, &number);
        *(uint64_t *)field = number;
        return good;
    case COLUMN_U32:
        good = take_number(at, len, UINT32_MAX, &number);
        *(uint32_t *)field = (uint32_t)number;
        return good;
    case COLUMN_U8:
        good = take_number(at, len, UINT8_MAX, &number);
        *(uint8_t *)field = (uint8_t)number;
        return good;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        *(struct span *)field = span_of(at, len < 0 ? 0 : (size_t)len);
        return true;
    case COLUMN_NAME:
        return take_name(c, at, len, field, names);
    }
    return false;
}
