#include "base/blob.h"

#include <assert.h>
#include <stdlib.h>

static uint8_t *behind(struct blob *b)
{
    return (uint8_t *)(b + 1);
}

static struct blob *make(size_t more)
{
    struct blob *b = malloc(sizeof *b + more);
    if (!b)
        return NULL;
    b->len = 0;
    atomic_init(&b->refs, 1);
    atomic_init(&b->twin, NULL);
    return b;
}

struct blob *blob_copy(struct span bytes)
{
    struct blob *b = bytes.len <= UINT32_MAX ? make(bytes.len) : NULL;
    if (!b)
        return NULL;
    b->at = behind(b);
    b->len = (uint32_t)bytes.len;
    if (bytes.len > 0)
        memcpy(behind(b), bytes.at, bytes.len);
    return b;
}

struct blob *blob_take(uint8_t *block, size_t len)
{
    struct blob *b = len <= UINT32_MAX ? make(0) : NULL;
    if (!b)
        return NULL;
    b->at = block;
    b->len = (uint32_t)len;
    return b;
}

struct blob *blob_ref(struct blob *b)
{
    /* Whoever has a reference may take another: nothing is ordered by it. */
    uint32_t was = atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    assert(was > 0 && was < UINT32_MAX);
    (void)was;
    return b;
}

void blob_unref(struct blob *b)
{
    struct blob *next;
    for (; b; b = next) {
        /* Release: what this holder read, before the free; acquire: the last one frees behind all
         * of them.  Pairs with itself. */
        if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
            return;
        next = atomic_load_explicit(&b->twin, memory_order_relaxed); /* nobody else is there */
        if (b->at != behind(b))
            free((void *)(uintptr_t)b->at);
        free(b);
    }
}

void blob_release(void *b)
{
    blob_unref(b);
}

size_t blob_size(const struct blob *b)
{
    return sizeof *b + b->len;
}

struct blob *blob_twin(const struct blob *b)
{
    /* Pairs with the exchange in blob_keep_twin(): the bytes are there before the pointer. */
    return atomic_load_explicit(&b->twin, memory_order_acquire);
}

struct blob *blob_keep_twin(struct blob *b, struct blob *twin)
{
    struct blob *first = NULL;
    /* Release: the twin's bytes before its pointer, for blob_twin(); acquire: the same of the one
     * that was faster. */
    if (atomic_compare_exchange_strong_explicit(&b->twin, &first, twin, memory_order_acq_rel,
                                                memory_order_acquire))
        return twin;
    blob_unref(twin);
    return first;
}
