#include "server/net/connection/partial_input.h"

#include <assert.h>

enum {
    SHORT_REST = 8192,  /* bytes: what a short read may leave behind a short rest */
    STEP_MAX = 1 << 20, /* bytes by which a block grows at once, unless it needs more */
    SPARE_PART = 4,     /* of the spare, that its new holder uses at once */
    PAGE = 4096,
    PAGE_MAX = 65536 /* of any system */
};

void partial_copy_scanner(struct scanner *to, const struct scanner *from)
{
    assert(from->depth <= sizeof from->awaited / sizeof from->awaited[0]);
    memcpy(to, from, offsetof(struct scanner, awaited) + from->depth * sizeof from->awaited[0]);
}

static struct block block_of(struct partial_input *p)
{
    return (struct block){.at = p, .size = sizeof *p + p->room, .pages = p->pages};
}

/* A message that needs little of it is better off with less: all of it is charged. */
static bool spare_serves(const struct partial_list *list, size_t size)
{
    return size >= BLOCK_PAGES && size <= list->spare.size && size >= list->spare.size / SPARE_PART;
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
    if (b->size >= list->spare.size / SPARE_PART || !spare_serves(list, size))
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
    if (b->pages && b->size > list->spare.size && list->spare.size < PARTIAL_SPARE) {
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

size_t partial_cost(size_t bytes)
{
    return sizeof(struct partial_input) + first_capacity(bytes);
}

/* --- Where it is taken from --- */

static bool take_shared(struct partial_list *list, size_t cost)
{
    return cost == 0 || !list->budget ||
           input_budget_take(list->budget, list->keeper, cost, list->limits->shared);
}

static void give_shared(struct partial_list *list, size_t cost)
{
    if (list->budget && cost > 0)
        input_budget_give(list->budget, list->keeper, cost);
}

static bool own_has_room(const struct partial_list *list, size_t cost)
{
    return list->budget && list->own + cost <= list->limits->own;
}

static void set_own(struct partial_list *list, uint64_t bytes)
{
    assert(bytes <= list->limits->own);
    list->own = bytes;
    atomic_store_explicit(&list->keeper->own, bytes, memory_order_relaxed);
}

bool partial_has_room(struct partial_list *list, size_t bytes)
{
    size_t cost = partial_cost(bytes);

    assert(list->credit == 0);
    if (partial_fits(list, bytes))
        return true;
    if (!take_shared(list, cost))
        return false;
    list->credit = cost;
    return true;
}

void partial_settle(struct partial_list *list)
{
    give_shared(list, list->credit);
    list->credit = 0;
}

/* What a block has beyond the `size` bytes that were taken for it is taken too, or given back: what
 * is held is counted. */
static size_t take_surplus(struct partial_list *list, struct block *b, size_t size, bool is_own)
{
    size_t surplus = b->size - size;

    if (surplus < PAGE)
        return 0;
    if (!is_own && take_shared(list, surplus))
        return surplus;
    block_trim(b, size);
    return 0;
}

/* A long one leaves to short ones what is the loop's own, as far as it can.  False: there is no
 * room, which cannot be behind partial_has_room(). */
static bool place(struct partial_list *list, size_t cost, bool *is_own)
{
    *is_own = false;
    if (cost > partial_cost(SHORT_REST) && list->credit == 0 && take_shared(list, cost))
        return true;
    if (own_has_room(list, cost)) {
        *is_own = true;
        set_own(list, list->own + cost);
    } else if (list->credit >= cost) {
        list->credit -= cost;
    } else {
        return take_shared(list, cost);
    }
    return true;
}

static void give(struct partial_list *list, size_t cost, bool is_own)
{
    if (is_own)
        set_own(list, list->own - cost);
    else
        give_shared(list, cost);
}

struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner)
{
    size_t cost = partial_cost(bytes.len);
    bool is_own;

    if (!place(list, cost, &is_own))
        return NULL;
    struct block block = new_block(list, cost);
    struct partial_input *p = block.at;
    if (p == NULL) {
        give(list, cost, is_own);
        return NULL;
    }
    p->owner = owner;
    p->charged = 0;
    p->start = 0;
    p->end = bytes.len;
    p->capacity = first_capacity(bytes.len) + take_surplus(list, &block, cost, is_own);
    p->room = block.size - sizeof *p;
    p->pages = block.pages;
    assert(p->room >= p->capacity && p->room - p->capacity < PAGE_MAX);
    p->waits_since = 0;
    p->is_own = is_own;
    partial_copy_scanner(&p->scanner, scanner);
    memcpy(p->bytes, bytes.at, bytes.len);
    LIST_INSERT_HEAD(&list->all, p, link);
    list->total += partial_size(p);
    return p;
}

/* --- A long one grows --- */

size_t partial_need(const struct partial_input *p, size_t bytes)
{
    size_t more = next_capacity(p, bytes) - p->capacity;

    return more > 0 && p->is_own ? partial_size(p) + more : more;
}

bool partial_take(struct partial_list *list, struct partial_input *p, size_t bytes)
{
    size_t need = partial_need(p, bytes);

    if (!take_shared(list, need))
        return false;
    if (need > 0 && p->is_own) {
        set_own(list, list->own - partial_size(p));
        p->is_own = false;
    }
    return true;
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
        size_t surplus = take_surplus(list, &block, sizeof *p + capacity, false);
        p->capacity = capacity + surplus;
        p->room = block.size - sizeof *p;
        p->pages = block.pages;
        list->total += more + surplus;
        assert(p->room >= p->capacity && p->room - p->capacity < PAGE_MAX);
    } else {
        give_shared(list, more);
    }
    LIST_INSERT_HEAD(&list->all, p, link);
    assert(!grown || partial_slack(p) >= bytes);
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
    assert(p->start <= p->end && p->end <= p->capacity && list->total >= partial_size(p));
    LIST_REMOVE(p, link);
    list->total -= partial_size(p);
    give(list, partial_size(p), p->is_own);
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
    assert(list->total == 0 && list->own == 0 && list->credit == 0);
    block_free(&list->spare);
}
