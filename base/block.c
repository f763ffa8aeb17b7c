#include "base/block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *new_pages(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *moved_pages(const struct block *b, size_t size)
{
    void *at = mremap(b->at, b->size, size, MREMAP_MAYMOVE);
    return at == MAP_FAILED ? NULL : at;
}

/* It becomes pages. */
static void *copied(const struct block *b, size_t size)
{
    void *at = new_pages(size);
    if (!at)
        return NULL;
    memcpy(at, b->at, b->size);
    free(b->at);
    return at;
}

struct block block_new(size_t size)
{
    void *at = size < BLOCK_PAGES ? malloc(size) : new_pages(size);
    return (struct block){.at = at, .size = at ? size : 0};
}

bool block_grow(struct block *b, size_t size)
{
    assert(b->at && b->size <= size);
    void *at = size < BLOCK_PAGES      ? realloc(b->at, size)
               : b->size < BLOCK_PAGES ? copied(b, size)
                                       : moved_pages(b, size);
    if (!at)
        return false;
    *b = (struct block){.at = at, .size = size};
    return true;
}

/* It stays one of pages, as block_free() takes it for. */
void block_trim(struct block *b, size_t size)
{
    size_t to = size < BLOCK_PAGES ? BLOCK_PAGES : size;
    if (to < b->size && mremap(b->at, b->size, to, 0) == b->at)
        b->size = to;
}

void block_free(struct block *b)
{
    if (b->size < BLOCK_PAGES)
        free(b->at);
    else
        munmap(b->at, b->size);
    *b = (struct block){0};
}
