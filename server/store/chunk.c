#include "server/store/chunk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/rows.h"

enum { BLOCK = 256 * 1024 /* bytes; what is larger has a block of its own */ };

/* Memory that is freed as a whole. */
struct block {
    struct block *next;
    size_t used, size;
    alignas(16) uint8_t at[];
};

enum item_kind { ITEM_MARKS, ITEM_COUNTS, ITEM_ROW, ITEM_TASK, ITEM_EVENT };

struct item {
    struct item *next;
    enum item_kind kind;
    const struct store_table *table; /* ITEM_ROW */
    alignas(8) uint8_t row[];        /* the struct */
};

struct store_chunk {
    struct block *blocks;
    struct block *spare; /* of BLOCK bytes, from before it was cleared */
    struct item *first, *last;
    uint32_t rows;
};

struct store_chunk *store_chunk_new(void)
{
    return calloc(1, sizeof(struct store_chunk));
}

static void free_blocks(struct block *b)
{
    for (struct block *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

void store_chunk_free(struct store_chunk *c)
{
    if (!c)
        return;
    free_blocks(c->blocks);
    free_blocks(c->spare);
    free(c);
}

void store_chunk_clear(struct store_chunk *c)
{
    for (struct block *next, *b = c->blocks; b; b = next) {
        next = b->next;
        if (b->size > BLOCK) {
            free(b);
            continue;
        }
        b->next = c->spare;
        c->spare = b;
    }
    *c = (struct store_chunk){.spare = c->spare};
}

bool store_chunk_begin(struct store_chunk **c)
{
    if (*c)
        store_chunk_clear(*c);
    else
        *c = store_chunk_new();
    return *c != NULL;
}

uint32_t store_chunk_rows(const struct store_chunk *c)
{
    return c->rows;
}

/* --- The driver's side --- */

static bool has_room(const struct block *b, size_t size)
{
    return b && b->size - b->used >= size;
}

/* NULL without memory. */
static struct block *take_block(struct store_chunk *c, size_t size)
{
    struct block *b = size == BLOCK ? c->spare : NULL;
    if (b)
        c->spare = b->next;
    else
        b = malloc(sizeof *b + size);
    if (b)
        *b = (struct block){.size = size};
    return b;
}

/* A large one goes behind the block that still has room. */
static struct block *add_block(struct store_chunk *c, size_t size)
{
    struct block *b = take_block(c, size > BLOCK ? size : BLOCK);
    if (!b)
        return NULL;
    bool behind = size > BLOCK && c->blocks;
    b->next = behind ? c->blocks->next : c->blocks;
    *(behind ? &c->blocks->next : &c->blocks) = b;
    return b;
}

static void *take(struct store_chunk *c, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    struct block *b = has_room(c->blocks, size) ? c->blocks : add_block(c, size);
    if (!b)
        return NULL;
    b->used += size;
    return b->at + b->used - size;
}

static bool copy_span(struct store_chunk *c, struct span *s)
{
    void *to = s->len > 0 ? take(c, s->len) : NULL;
    if (s->len == 0)
        return true;
    if (!to)
        return false;
    memcpy(to, s->at, s->len);
    *s = span_of(to, s->len);
    return true;
}

static bool copy_spans(struct store_chunk *c, const struct store_table *t, void *row)
{
    bool good = true;
    for (uint32_t n = 0; n < t->count && good; n++)
        if (t->columns[n].kind == COLUMN_TEXT || t->columns[n].kind == COLUMN_BLOB)
            good = copy_span(c, (struct span *)((uint8_t *)row + t->columns[n].at));
    return good;
}

static struct item *add(struct store_chunk *c, enum item_kind kind, const void *row, size_t size)
{
    struct item *item = take(c, sizeof *item + size);
    if (!item)
        return NULL;
    *item = (struct item){.kind = kind};
    memcpy(item->row, row, size);
    if (c->first)
        c->last->next = item;
    else
        c->first = item;
    c->last = item;
    c->rows++;
    return item;
}

bool store_chunk_marks(struct store_chunk *c, const struct store_marks *marks)
{
    return add(c, ITEM_MARKS, marks, sizeof *marks);
}

bool store_chunk_counts(struct store_chunk *c, const struct store_counts *counts)
{
    return add(c, ITEM_COUNTS, counts, sizeof *counts);
}

/* Up to the last field that a column is. */
static size_t size_of_row(const struct store_table *t)
{
    size_t size = 0;
    for (uint32_t n = 0; n < t->count; n++) {
        size_t end = t->columns[n].at + row_field_size(t->columns[n].kind);
        size = end > size ? end : size;
    }
    return size;
}

bool store_chunk_row(struct store_chunk *c, const struct store_table *table, const void *row)
{
    size_t size = size_of_row(table);
    alignas(8) uint8_t whole[STORE_ROW_MAX] = {0};
    assert(size <= sizeof whole);
    memcpy(whole, row, size);
    struct item *item = add(c, ITEM_ROW, whole, sizeof whole);
    if (!item)
        return false;
    item->table = table;
    return copy_spans(c, table, item->row);
}

bool store_chunk_task(struct store_chunk *c, const struct store_task *task)
{
    struct item *item = add(c, ITEM_TASK, task, sizeof *task);
    return item && copy_spans(c, &row_submissions, item->row) &&
           (!task->has_options || copy_spans(c, &row_options, item->row)) &&
           copy_spans(c, &row_lives, item->row);
}

bool store_chunk_event(struct store_chunk *c, const struct store_event *event)
{
    struct item *item = add(c, ITEM_EVENT, event, sizeof *event);
    return item && copy_spans(c, &row_events, item->row);
}

/* --- The client's side --- */

static bool give(const struct item *item, const struct store_reader *r)
{
    switch (item->kind) {
    case ITEM_MARKS:
        if (r->marks)
            r->marks(r->arg, (const struct store_marks *)item->row);
        return true;
    case ITEM_COUNTS:
        r->counts(r->arg, (const struct store_counts *)item->row);
        return true;
    case ITEM_ROW:
        return r->row(r->arg, item->table, item->row);
    case ITEM_TASK:
        return r->task(r->arg, (const struct store_task *)item->row);
    case ITEM_EVENT:
        return r->event(r->arg, (const struct store_event *)item->row);
    }
    return false;
}

/* What the row is to people. */
static void name(const struct item *item, char *text, size_t size)
{
    if (item->kind == ITEM_TASK)
        snprintf(text, size, "task %lld", (long long)((const struct store_task *)item->row)->id);
    else if (item->kind == ITEM_EVENT)
        snprintf(text, size, "an event of task %lld",
                 (long long)((const struct store_event *)item->row)->id);
    else if (item->kind == ITEM_ROW && item->table->one) {
        const struct span *named = (const struct span *)(item->row + item->table->named);
        snprintf(text, size, "%s \"%.*s\"", item->table->one, (int)named->len,
                 (const char *)named->at);
    } else
        snprintf(text, size, "a row");
}

static int refused(const struct item *item, const struct store_reader *r, char *error, size_t size)
{
    const char *fault = r->fault ? *r->fault : NULL;
    char what[160];
    name(item, what, sizeof what);
    if (fault)
        snprintf(error, size, "it is damaged: %s: %s", what, fault);
    else
        snprintf(error, size, "the reading of the store was stopped");
    return -1;
}

int store_chunk_read(struct store_chunk *c, const struct store_reader *reader, uint32_t most,
                     char *error, size_t size)
{
    for (; c->first && most > 0; most--) {
        const struct item *item = c->first;
        if (!give(item, reader))
            return refused(item, reader, error, size);
        c->first = item->next;
        c->rows--;
    }
    return c->first != NULL;
}
