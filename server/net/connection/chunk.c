#include "server/net/connection/chunk.h"

#include <assert.h>
#include <stdlib.h>

static struct chunk *chunk_new(struct chunk_pool *pool, size_t room)
{
    bool pooled = room <= CHUNK_SIZE - sizeof(struct chunk);
    size_t size = pooled ? CHUNK_SIZE : sizeof(struct chunk) + room;
    struct chunk *k = pooled ? pool->first : NULL;

    if (k != NULL) {
        assert(pool->count > 0);
        pool->first = k->next;
        pool->count--;
    } else {
        k = malloc(size);
        if (k == NULL)
            return NULL;
    }
    k->at = k->end = k->bytes;
    k->limit = (uint8_t *)k + size;
    k->block = NULL;
    k->pooled = pooled;
    return k;
}

static void chunk_free(struct chunk *k, struct chunk_pool *pool)
{
    if (k->pooled && pool->count < CHUNK_POOL) {
        k->next = pool->first;
        pool->first = k;
        pool->count++;
        return;
    }
    if (k->block != NULL)
        k->release(k->block);
    free(k);
}

void chunk_pool_fini(struct chunk_pool *pool)
{
    while (pool->first != NULL) {
        struct chunk *k = pool->first;
        pool->first = k->next;
        free(k);
    }
    pool->count = 0;
}

static void append(struct chunk_chain *chain, struct chunk *k)
{
    if (chain->last != NULL) {
        k->next = chain->last->next;
        chain->last->next = k;
    } else {
        k->next = k;
    }
    chain->last = k;
}

/* NULL: the chain is empty. */
static struct chunk *first_of(const struct chunk_chain *chain)
{
    return chain->last == NULL ? NULL : chain->last->next;
}

/* NULL: it is the last. */
static struct chunk *next_of(const struct chunk_chain *chain, const struct chunk *k)
{
    return k == chain->last ? NULL : k->next;
}

uint8_t *chunk_reserve(struct chunk_chain *chain, struct chunk_pool *pool, size_t room)
{
    struct chunk *k = chain->last;

    if (k != NULL && k->limit != NULL && (size_t)(k->limit - k->end) >= room)
        return k->end;
    k = chunk_new(pool, room);
    if (k == NULL)
        return NULL;
    append(chain, k);
    return k->end;
}

void chunk_commit(struct chunk_chain *chain, uint8_t *end)
{
    assert(chain->last != NULL &&
           chain->last->limit != NULL); /* chunk_reserve() was the last call */
    assert(end >= chain->last->end && end <= chain->last->limit);
    chain->bytes += (size_t)(end - chain->last->end);
    chain->last->end = end;
}

bool chunk_append_block(struct chunk_chain *chain, void *block, struct span bytes,
                        void (*release)(void *block))
{
    struct chunk *k = malloc(sizeof *k);

    if (k == NULL)
        return false;
    *k = (struct chunk){.at = bytes.at,
                        .end = (uint8_t *)(uintptr_t)bytes.at + bytes.len,
                        .block = block,
                        .release = release};
    append(chain, k);
    chain->bytes += bytes.len;
    return true;
}

static bool keep(struct chunk *k)
{
    size_t len = (size_t)(k->end - k->at);
    uint8_t *copy = malloc(len);

    if (copy == NULL)
        return false;
    k->block = memcpy(copy, k->at, len);
    k->release = free;
    k->at = copy;
    k->end = copy + len;
    return true;
}

static bool borrows(const struct chunk *k)
{
    return k->limit == NULL && k->block == NULL;
}

struct span chunk_borrowed(const struct chunk_chain *chain)
{
    const struct chunk *k = chain->last;

    if (k == NULL || !borrows(k))
        return (struct span){0};
    return span_of(k->at, (size_t)(k->end - k->at));
}

void chunk_adopt(const struct chunk_chain *chain, void *block, void (*release)(void *block))
{
    assert(chain->last != NULL && borrows(chain->last));
    chain->last->block = block;
    chain->last->release = release;
}

bool chunk_keep(const struct chunk_chain *chain)
{
    for (struct chunk *k = first_of(chain); k != NULL; k = next_of(chain, k))
        if (borrows(k) && !keep(k))
            return false;
    return true;
}

int chunk_parts(const struct chunk_chain *chain, struct iovec *parts, int max)
{
    int count = 0;

    for (struct chunk *k = first_of(chain); k != NULL && count < max; k = next_of(chain, k))
        if (k->end != k->at)
            parts[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)k->at,
                                            .iov_len = (size_t)(k->end - k->at)};
    return count;
}

static void pop(struct chunk_chain *chain, struct chunk_pool *pool)
{
    struct chunk *k = first_of(chain);

    if (k == chain->last)
        chain->last = NULL;
    else
        chain->last->next = k->next;
    chunk_free(k, pool);
}

void chunk_consume(struct chunk_chain *chain, struct chunk_pool *pool, size_t bytes)
{
    assert(bytes <= chain->bytes); /* a stream takes no more than it is given */
    chain->bytes -= bytes;
    for (struct chunk *k; (k = first_of(chain)) != NULL;) {
        size_t have = (size_t)(k->end - k->at);
        if (bytes < have) {
            k->at += bytes;
            return;
        }
        bytes -= have;
        pop(chain, pool);
    }
}

void chunk_drop_all(struct chunk_chain *chain, struct chunk_pool *pool)
{
    while (chain->last != NULL)
        pop(chain, pool);
    chain->bytes = 0;
}
