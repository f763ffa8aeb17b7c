#include "sim/pg/rows.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

/* --- Rows --- */

static struct pg_row *make(const struct pg_key *key, const void *bytes, size_t len)
{
    struct pg_row *row = malloc(sizeof *row + key->len + len);
    require(row != NULL, "no memory for a row of the model");
    *row = (struct pg_row){.refs = 1, .key_len = key->len, .len = (uint32_t)len};
    memcpy(row->at, key->at, key->len);
    if (len > 0)
        memcpy(row->at + key->len, bytes, len);
    return row;
}

struct pg_row *pg_row_new(const struct pg_key *key, const void *bytes, size_t len)
{
    return make(key, bytes, len);
}

struct pg_row *pg_row_gone(const struct pg_key *key)
{
    struct pg_row *row = make(key, NULL, 0);
    row->gone = true;
    return row;
}

struct pg_row *pg_row_ref(struct pg_row *row)
{
    row->refs++;
    return row;
}

void pg_row_unref(struct pg_row *row)
{
    if (row && --row->refs == 0)
        free(row);
}

const void *pg_row_bytes(const struct pg_row *row)
{
    return row->at + row->key_len;
}

/* --- Keys: their bytes are in the order of the columns' values --- */

static void add_number(struct pg_key *key, uint64_t number)
{
    number = htobe64(number ^ UINT64_C(1) << 63); /* a bigint has a sign */
    memcpy(key->at + key->len, &number, sizeof number);
    key->len += sizeof number;
}

struct pg_key pg_key_number(uint64_t a)
{
    struct pg_key key = {0};
    add_number(&key, a);
    return key;
}

struct pg_key pg_key_numbers(uint64_t a, uint64_t b)
{
    struct pg_key key = pg_key_number(a);
    add_number(&key, b);
    return key;
}

struct pg_key pg_key_text(struct span text)
{
    struct pg_key key = {.len = (uint32_t)text.len};
    require(text.len <= sizeof key.at, "a key is longer than the model has room for");
    if (text.len > 0)
        memcpy(key.at, text.at, text.len);
    return key;
}

static int compare(const struct pg_row *row, const uint8_t *key, uint32_t len)
{
    int by = memcmp(row->at, key, row->key_len < len ? row->key_len : len);
    return by ? by : (row->key_len > len) - (row->key_len < len);
}

/* --- By a map --- */

enum { REPLACED = 3 /* bytes of U+FFFD, which takes the place of one */ };

struct bytes {
    uint8_t *at;
    size_t len, room;
};

static void add(struct bytes *b, const void *at, size_t len)
{
    if (b->len + len > b->room) {
        b->room = (b->len + len) * 2 + 128;
        b->at = realloc(b->at, b->room);
        require(b->at != NULL, "no memory for a row of the model");
    }
    if (len > 0)
        memcpy(b->at + b->len, at, len);
    b->len += len;
}

static void add_span(struct bytes *b, struct span s)
{
    uint32_t len = (uint32_t)s.len;
    add(b, &len, sizeof len);
    add(b, s.at, s.len);
}

static void add_clean(struct bytes *b, struct span s)
{
    uint8_t *clean = malloc(s.len * REPLACED + 1);
    require(clean != NULL, "no memory for a text of the model");
    add_span(b, span_of(clean, utf8_text(clean, s.len * REPLACED, s)));
    free(clean);
}

static uint64_t number_of(const struct store_column *c, const void *field)
{
    return c->kind == COLUMN_U64   ? *(const uint64_t *)field
           : c->kind == COLUMN_U32 ? *(const uint32_t *)field
                                   : *(const uint8_t *)field;
}

static bool is_span(const struct store_column *c)
{
    return c->kind == COLUMN_TEXT || c->kind == COLUMN_BLOB;
}

/* Texts for people are made fit; PostgreSQL refuses others that are no UTF-8, or have a NUL. */
static const char *add_field(struct bytes *b, const struct store_column *c, const void *field,
                             bool clean)
{
    if (!is_span(c)) {
        uint64_t number = number_of(c, field);
        add(b, &number, sizeof number);
        return NULL;
    }
    struct span s = *(const struct span *)field;
    bool good = c->kind == COLUMN_BLOB || s.len == 0 || (utf8_valid(s) && !memchr(s.at, 0, s.len));
    if (good)
        add_span(b, s);
    else if (clean)
        add_clean(b, s);
    return good || clean ? NULL : "22021";
}

static bool is_null(const struct store_column *c, const void *field)
{
    if (c->kind == COLUMN_NAME)
        return false;
    return is_span(c) ? ((const struct span *)field)->len == 0 : number_of(c, field) == 0;
}

/* A NUL behind each part, which none of them has, keeps the order of the columns. */
static struct pg_key key_of_actor(const struct store_actor *row)
{
    const struct span parts[] = {row->type, row->key, row->tenant};
    struct pg_key key = {0};
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
        require(key.len + parts[n].len < sizeof key.at, "a key is longer than the model has room");
        if (parts[n].len > 0)
            memcpy(key.at + key.len, parts[n].at, parts[n].len);
        key.len += (uint32_t)parts[n].len + 1;
    }
    return key;
}

static struct pg_key key_of(const struct store_table *map, const void *row)
{
    const struct store_column *c = map->columns;
    const uint8_t *at = row;
    if (map == &store_actors)
        return key_of_actor(row);
    if (is_span(c))
        return pg_key_text(*(const struct span *)(at + c->at));
    if (map != &row_events)
        return pg_key_number(number_of(c, at + c->at));
    return pg_key_numbers(number_of(c, at + c->at), number_of(c + 1, at + c[1].at));
}

/* A cron without a number gets one; other columns of a key cannot be NULL. */
static bool must_be(const struct store_table *map, uint32_t column)
{
    bool two = map == &row_events || map == &store_actors;
    bool is_key = (column == 0 && map != &store_crons) || (column == 1 && two);
    return map->columns[column].required || is_key;
}

const char *pg_pack(const struct store_table *map, const void *row, bool whole, struct pg_row **out)
{
    bool clean = map == &row_lives || map == &row_events;
    struct bytes b = {0};
    const char *wrong = NULL;
    for (uint32_t n = 0; n < map->count + map->more && !wrong; n++) {
        const struct store_column *c = &map->columns[n];
        const void *field = (const uint8_t *)row + c->at;
        bool lacks = whole && must_be(map, n) && is_null(c, field);
        wrong = lacks ? "23502" : add_field(&b, c, field, clean);
    }
    *out = NULL;
    if (!wrong) {
        struct pg_key key = key_of(map, row);
        *out = make(&key, b.at, b.len);
    }
    free(b.at);
    return wrong;
}

void pg_unpack(const struct store_table *map, const struct pg_row *row, void *to)
{
    const uint8_t *at = pg_row_bytes(row);
    for (uint32_t n = 0; n < map->count + map->more; n++) {
        const struct store_column *c = &map->columns[n];
        void *field = (uint8_t *)to + c->at;
        uint64_t number;
        uint32_t len;
        if (is_span(c)) {
            memcpy(&len, at, sizeof len);
            *(struct span *)field = span_of(at + sizeof len, len);
            at += sizeof len + len;
            continue;
        }
        memcpy(&number, at, sizeof number);
        at += sizeof number;
        if (c->kind == COLUMN_U64)
            *(uint64_t *)field = number;
        else if (c->kind == COLUMN_U32)
            *(uint32_t *)field = (uint32_t)number;
        else
            *(uint8_t *)field = (uint8_t)number;
    }
}

void pg_copy_field(const struct store_column *column, void *to, const void *from)
{
    size_t size = is_span(column)              ? sizeof(struct span)
                  : column->kind == COLUMN_U64 ? sizeof(uint64_t)
                  : column->kind == COLUMN_U32 ? sizeof(uint32_t)
                                               : sizeof(uint8_t);
    memcpy((uint8_t *)to + column->at, (const uint8_t *)from + column->at, size);
}

int pg_table_index(const struct store_table *map)
{
    if (strcmp(map->table, store_node_boards.table) == 0)
        return PG_NODES;
    for (int n = 0; n < PG_OWNER; n++)
        if (strcmp(row_database_tables[n]->table, map->table) == 0)
            return n;
    require(false, "the model has no such table");
    return -1;
}

/* --- Tables --- */

/* The first that is not before the key. */
static uint32_t place(const struct pg_table *t, const uint8_t *key, uint32_t len)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (compare(t->at[mid], key, len) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_at(const struct pg_table *t, uint32_t n, const uint8_t *key, uint32_t len)
{
    return n < t->count && compare(t->at[n], key, len) == 0;
}

struct pg_row *pg_table_find(const struct pg_table *t, const struct pg_key *key)
{
    uint32_t n = place(t, key->at, key->len);
    return is_at(t, n, key->at, key->len) ? t->at[n] : NULL;
}

void pg_table_put(struct pg_table *t, struct pg_row *row)
{
    uint32_t n = place(t, row->at, row->key_len);
    if (is_at(t, n, row->at, row->key_len)) {
        pg_row_unref(t->at[n]);
        t->at[n] = row;
        return;
    }
    if (t->count == t->room) {
        t->room = t->room * 2 + 16;
        t->at = realloc(t->at, t->room * sizeof *t->at);
        require(t->at != NULL, "no memory for a table of the model");
    }
    memmove(t->at + n + 1, t->at + n, (t->count - n) * sizeof *t->at);
    t->at[n] = row;
    t->count++;
}

static void drop(struct pg_table *t, const struct pg_row *row)
{
    uint32_t n = place(t, row->at, row->key_len);
    if (!is_at(t, n, row->at, row->key_len))
        return;
    pg_row_unref(t->at[n]);
    t->count--;
    memmove(t->at + n, t->at + n + 1, (t->count - n) * sizeof *t->at);
}

void pg_tables_copy(struct pg_table to[PG_TABLES], const struct pg_table from[PG_TABLES])
{
    pg_tables_clear(to, PG_TABLES);
    for (int n = 0; n < PG_TABLES; n++) {
        to[n].at = malloc((from[n].count + 1) * sizeof *to[n].at);
        require(to[n].at != NULL, "no memory for a snapshot of the model");
        to[n].count = to[n].room = from[n].count;
        for (uint32_t i = 0; i < from[n].count; i++)
            to[n].at[i] = pg_row_ref(from[n].at[i]);
    }
}

void pg_tables_clear(struct pg_table *tables, int count)
{
    for (int n = 0; n < count; n++) {
        for (uint32_t i = 0; i < tables[n].count; i++)
            pg_row_unref(tables[n].at[i]);
        free(tables[n].at);
        tables[n] = (struct pg_table){0};
    }
}

void pg_tables_apply(struct pg_table to[PG_TABLES], const struct pg_table changes[PG_TABLES])
{
    for (int n = 0; n < PG_TABLES; n++)
        for (uint32_t i = 0; i < changes[n].count; i++)
            if (changes[n].at[i]->gone)
                drop(&to[n], changes[n].at[i]);
            else
                pg_table_put(&to[n], pg_row_ref(changes[n].at[i]));
}

/* --- What a transaction sees --- */

const struct pg_row *pg_see(const struct pg_sight *s, int table, const struct pg_key *key)
{
    const struct pg_row *own = s->own ? pg_table_find(&s->own[table], key) : NULL;
    if (own)
        return own->gone ? NULL : own;
    return pg_table_find(&s->committed[table], key);
}

static const struct pg_row *row_at(const struct pg_table *t, uint32_t n)
{
    return n < t->count ? t->at[n] : NULL;
}

/* Of the rows from the n-th committed and the m-th own one on. */
static const struct pg_row *first_of(const struct pg_sight *s, int table, uint32_t n, uint32_t m)
{
    static const struct pg_table none;
    const struct pg_table *all = &s->committed[table], *mine = s->own ? &s->own[table] : &none;
    for (;;) {
        const struct pg_row *theirs = row_at(all, n), *own = row_at(mine, m);
        if (!own)
            return theirs;
        int by = theirs ? compare(theirs, own->at, own->key_len) : 1;
        if (by < 0)
            return theirs;
        if (!own->gone)
            return own;
        n += by == 0;
        m++;
    }
}

const struct pg_row *pg_see_from(const struct pg_sight *s, int table, const struct pg_key *least)
{
    return first_of(s, table, place(&s->committed[table], least->at, least->len),
                    s->own ? place(&s->own[table], least->at, least->len) : 0);
}

static uint32_t behind(const struct pg_table *t, const struct pg_row *row)
{
    uint32_t n = place(t, row->at, row->key_len);
    return n + is_at(t, n, row->at, row->key_len);
}

const struct pg_row *pg_see_next(const struct pg_sight *s, int table, const struct pg_row *after)
{
    if (!after)
        return first_of(s, table, 0, 0);
    return first_of(s, table, behind(&s->committed[table], after),
                    s->own ? behind(&s->own[table], after) : 0);
}
