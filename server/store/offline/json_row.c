#include "server/store/offline/json_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/utf8.h"

static const char bytes_mark[] = "$bytes";

/* --- Rows to JSON --- */

static json_t *of_number(uint64_t number)
{
    char digits[24];
    if (number <= INT64_MAX)
        return json_integer((json_int_t)number);
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    return json_string(digits);
}

static json_t *of_bytes(struct span bytes)
{
    if (bytes.len > INT32_MAX / 2)
        return NULL;
    char *text = malloc(4 * ((bytes.len + 2) / 3) + 1);
    if (!text)
        return NULL;
    int len = EVP_EncodeBlock((unsigned char *)text, bytes.at, (int)bytes.len);
    json_t *value = json_pack("{s:s%}", bytes_mark, text, (size_t)len);
    free(text);
    return value;
}

static json_t *of_text(struct span text)
{
    return utf8_valid(text) ? json_stringn_nocheck((const char *)text.at, text.len)
                            : of_bytes(text);
}

static json_t *of_field(const struct store_column *c, const void *field,
                        const struct row_names *names)
{
    switch (c->kind) {
    case COLUMN_U64:
        return of_number(*(const uint64_t *)field);
    case COLUMN_U32:
        return of_number(*(const uint32_t *)field);
    case COLUMN_U8:
        return of_number(*(const uint8_t *)field);
    case COLUMN_TEXT:
        return of_text(*(const struct span *)field);
    case COLUMN_BLOB:
        return of_bytes(*(const struct span *)field);
    case COLUMN_NAME:
        return json_string(names->lists[c->names].names[*(const uint8_t *)field]);
    }
    return NULL;
}

json_t *json_of_row(const struct store_table *m, const void *row, const struct row_names *names)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (uint32_t n = 0; good && n < m->count; n++) {
        const struct store_column *c = &m->columns[n];
        const void *field = (const char *)row + c->at;
        if (!row_is_null(c, row))
            good = json_object_set_new(object, c->name, of_field(c, field, names)) == 0;
    }
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

/* --- JSON to rows --- */

void json_decoded_free(struct json_decoded *d)
{
    while (d->count > 0)
        free(d->at[--d->count]);
}

static bool to_number(const json_t *value, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *number = (uint64_t)json_integer_value(value);
        return *number <= most;
    }
    const char *digits = json_string_value(value);
    if (!digits || digits[0] < '1' || digits[0] > '9' || json_string_length(value) < 19)
        return false; /* as numbers above 2^63-1 are, and no others */
    *number = strtoull(digits, &end, 10);
    return *end == '\0' && *number > INT64_MAX && *number <= most;
}

static bool decode(const json_t *text, struct span *bytes, struct json_decoded *decoded)
{
    size_t len = json_string_length(text);
    const char *from = json_string_value(text);
    if (len % 4 != 0 || len > INT32_MAX || decoded->count == JSON_DECODED)
        return false;
    unsigned char *to = malloc(len / 4 * 3 + 1);
    if (!to)
        return false;
    decoded->at[decoded->count++] = to;
    int n = EVP_DecodeBlock(to, (const unsigned char *)from, (int)len);
    for (size_t i = len; n > 0 && i > len - 2 && i > 0 && from[i - 1] == '='; i--)
        n--; /* padding is decoded to zeros */
    *bytes = span_of(to, n > 0 ? (size_t)n : 0);
    return n >= 0;
}

static bool to_span(const json_t *value, struct span *bytes, struct json_decoded *decoded)
{
    const json_t *marked = json_object_get(value, bytes_mark);
    if (json_is_string(value)) {
        *bytes = span_of(json_string_value(value), json_string_length(value));
        return true;
    }
    return json_is_string(marked) && json_object_size(value) == 1 && decode(marked, bytes, decoded);
}

static bool to_name(const json_t *value, uint8_t *field, const struct store_column *c,
                    const struct row_names *names)
{
    const char *name = json_string_value(value);
    for (uint32_t n = 0; name && n < names->lists[c->names].count; n++)
        if (strcmp(name, names->lists[c->names].names[n]) == 0) {
            *field = (uint8_t)n;
            return true;
        }
    return false;
}

static bool to_field(const json_t *value, const struct store_column *c, void *field,
                     const struct row_names *names, struct json_decoded *decoded)
{
    uint64_t number = 0;
    bool good = false;
    switch (c->kind) {
    case COLUMN_U64:
        good = to_number(value, UINT64_MAX, &number);
        *(uint64_t *)field = number;
        return good;
    case COLUMN_U32:
        good = to_number(value, UINT32_MAX, &number);
        *(uint32_t *)field = (uint32_t)number;
        return good;
    case COLUMN_U8:
        good = to_number(value, UINT8_MAX, &number);
        *(uint8_t *)field = (uint8_t)number;
        return good;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return to_span(value, field, decoded);
    case COLUMN_NAME:
        return to_name(value, field, c, names);
    }
    return false;
}

static const struct store_column *find(const struct store_table *m, const char *name)
{
    for (uint32_t n = 0; n < m->count; n++)
        if (strcmp(m->columns[n].name, name) == 0)
            return &m->columns[n];
    return NULL;
}

bool json_to_row(const json_t *object, const struct store_table *m, void *row,
                 const struct row_names *names, struct json_decoded *decoded,
                 char why[static JSON_WHY])
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) {
        snprintf(why, JSON_WHY, "what should be a row of `%s` is no object", m->table);
        return false;
    }
    json_object_foreach((json_t *)object, name, value)
    {
        const struct store_column *c = find(m, name);
        if (c && to_field(value, c, (char *)row + c->at, names, decoded))
            continue;
        snprintf(why, JSON_WHY, c ? "`%s` of `%s` cannot hold that" : "no `%s` in `%s`", name,
                 m->table);
        return false;
    }
    return true;
}
