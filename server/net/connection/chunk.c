#include "server/net/connection/chunk.h"

#include <stdlib.h>

static struct chunk *chunk_new(struct chunk_pool *pool, size_t room)
{
    bool pooled = room <= CHUNK_SIZE - sizeof(struct chunk);
    size_t size = pooled ? CHUNK_SIZE : sizeof(struct chunk) + room;
    struct chunk *k = pooled ? pool->first : NULL;

    if (k != NULL) {
        pool->first = k->next;
        pool->count--;
    } else {
        k = malloc(size);
        if (k == NULL)
            return NULL;
    }
    k->next = NULL;
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
    if (chain->last != NULL)
        chain->last->next = k;
    else
        chain->first = k;
    chain->last = k;
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

bool chunk_keep(const struct chunk_chain *chain)
{
    for (struct chunk *k = chain->first; k != NULL; k = k->next)
        if (k->limit == NULL && k->block == NULL && !keep(k))
            return false;
    return true;
}

int chunk_parts(const struct chunk_chain *chain, struct iovec *parts, int max)
{
    int count = 0;

    for (struct chunk *k = chain->first; k != NULL && count < max; k = k->next)
        if (k->end != k->at)
            parts[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)k->at,
                                            .iov_len = (size_t)(k->end - k->at)};
    return count;
}

static void pop(struct chunk_chain *chain, struct chunk_pool *pool)
{
    struct chunk *k = chain->first;

    chain->first = k->next;
    if (chain->first == NULL)
        chain->last = NULL;
    chunk_free(k, pool);
}

void chunk_consume(struct chunk_chain *chain, struct chunk_pool *pool, size_t bytes)
{
    chain->bytes -= bytes;
    while (chain->first != NULL) {
        size_t have = (size_t)(chain->first->end - chain->first->at);
        if (bytes < have) {
            chain->first->at += bytes;
            return;
        }
        bytes -= have;
        pop(chain, pool);
    }
}

void chunk_drop_all(struct chunk_chain *chain, struct chunk_pool *pool)
{
    while (chain->first != NULL)
        pop(chain, pool);
    chain->bytes = 0;
}
