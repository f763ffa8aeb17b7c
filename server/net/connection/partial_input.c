#include "server/net/connection/partial_input.h"

#include <assert.h>

#include "server/accounts/input_budget.h"

enum {
    PARTIAL_MIN = 256, /* bytes; room for a message that drips in */
    STEP_MAX = 1 << 20 /* bytes by which a block grows at once, unless it needs more */
};

void partial_copy_scanner(struct scanner *to, const struct scanner *from)
{
    memcpy(to, from, offsetof(struct scanner, awaited) + from->depth * sizeof from->awaited[0]);
}

static struct block block_of(struct partial_input *p)
{
    return (struct block){.at = p, .size = sizeof *p + p->room};
}

static bool spare_serves(const struct partial_list *list, size_t size)
{
    return size >= BLOCK_PAGES && list->spare.size >= size;
}

static struct block take_spare(struct partial_list *list)
{
    struct block block = list->spare;
    list->spare = (struct block){0};
    return block;
}

static struct block new_block(struct partial_list *list, size_t size)
{
    return spare_serves(list, size) ? take_spare(list) : block_new(size);
}

static bool grow_block(struct partial_list *list, struct block *b, size_t size)
{
    if (size <= b->size)
        return true;
    if (b->size >= BLOCK_PAGES || !spare_serves(list, size))
        return block_grow(b, size);
    struct block block = take_spare(list);
    memcpy(block.at, b->at, b->size);
    block_free(b);
    *b = block;
    return true;
}

/* The larger of the two stays. */
static void free_block(struct partial_list *list, struct block *b)
{
    if (b->size >= BLOCK_PAGES && b->size > list->spare.size && list->spare.size < PARTIAL_SPARE) {
        struct block smaller = list->spare;
        list->spare = *b;
        block_trim(&list->spare, PARTIAL_SPARE);
        *b = smaller;
    }
    block_free(b);
}

/* Of `bytes`, and room for a little more. */
static size_t first_capacity(size_t bytes)
{
    return bytes < PARTIAL_MIN / 2 ? PARTIAL_MIN : bytes + PARTIAL_MIN / 2;
}

/* A long block is not copied as it grows, so it need not grow by much at once. */
static size_t next_capacity(const struct partial_input *p, size_t bytes)
{
    size_t used = p->end - p->start + bytes;
    size_t capacity = p->capacity + (p->capacity < STEP_MAX ? p->capacity : STEP_MAX);

    return used <= p->capacity ? p->capacity : capacity < used ? used : capacity;
}

size_t partial_cost(const struct partial_input *p, size_t bytes)
{
    return p == NULL ? sizeof *p + first_capacity(bytes) : next_capacity(p, bytes) - p->capacity;
}

bool partial_take(struct partial_list *list, size_t cost, uint64_t limit)
{
    return cost == 0 || list->budget == NULL || input_budget_take(list->budget, cost, limit);
}

static void give(struct partial_list *list, size_t cost)
{
    if (list->budget != NULL)
        input_budget_give(list->budget, cost);
}

struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner)
{
    size_t capacity = first_capacity(bytes.len);
    struct block block = new_block(list, sizeof(struct partial_input) + capacity);
    struct partial_input *p = block.at;

    if (p == NULL) {
        give(list, sizeof *p + capacity);
        return NULL;
    }
    p->owner = owner;
    p->start = 0;
    p->end = bytes.len;
    p->capacity = capacity;
    p->room = block.size - sizeof *p;
    p->waits_since = 0;
    partial_copy_scanner(&p->scanner, scanner);
    memcpy(p->bytes, bytes.at, bytes.len);
    LIST_INSERT_HEAD(&list->all, p, link);
    list->total += partial_size(p);
    return p;
}

static void move_to_front(struct partial_input *p)
{
    memmove(p->bytes, p->bytes + p->start, p->end - p->start);
    p->end -= p->start;
    p->start = 0;
}

struct partial_input *partial_reserve(struct partial_list *list, struct partial_input *p,
                                      size_t bytes)
{
    if (partial_slack(p) < bytes)
        move_to_front(p);
    if (partial_slack(p) >= bytes)
        return p;
    size_t capacity = next_capacity(p, bytes), more = capacity - p->capacity;
    LIST_REMOVE(p, link);
    struct block block = block_of(p);
    bool grown = grow_block(list, &block, sizeof *p + capacity);
    p = block.at;
    if (grown) {
        p->capacity = capacity;
        p->room = block.size - sizeof *p;
        list->total += more;
    } else {
        give(list, more);
    }
    LIST_INSERT_HEAD(&list->all, p, link);
    return grown ? p : NULL;
}

void partial_append(struct partial_input *p, struct span bytes)
{
    assert(partial_slack(p) >= bytes.len);
    memcpy(p->bytes + p->end, bytes.at, bytes.len);
    p->end += bytes.len;
}

struct block partial_release(struct partial_list *list, struct partial_input *p)
{
    LIST_REMOVE(p, link);
    list->total -= partial_size(p);
    give(list, partial_size(p));
    return block_of(p);
}

void partial_free(struct partial_list *list, struct partial_input *p)
{
    if (p == NULL)
        return;
    struct block block = partial_release(list, p);
    free_block(list, &block);
}

void partial_list_fini(struct partial_list *list)
{
    assert(LIST_EMPTY(&list->all));
    block_free(&list->spare);
}
