#include "base/block.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *new_pages(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void free_memory(const struct block *b)
{
    if (b->size < BLOCK_PAGES)
        free(b->at);
    else
        munmap(b->at, b->size);
}

/* As pages. */
static void *copied(const struct block *b, size_t size)
{
    void *at = new_pages(size);
    if (!at)
        return NULL;
    memcpy(at, b->at, b->size);
    free_memory(b);
    return at;
}

static void *moved_pages(const struct block *b, size_t size)
{
#ifdef __SANITIZE_THREAD__ /* it does not see that mremap() gives addresses back */
    return copied(b, size);
#else
    void *at = mremap(b->at, b->size, size, MREMAP_MAYMOVE);
    return at == MAP_FAILED ? NULL : at;
#endif
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

static size_t whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* It stays one of pages, as block_free() takes it for. */
void block_trim(struct block *b, size_t size)
{
    size_t to = size < BLOCK_PAGES ? BLOCK_PAGES : size;
    if (to >= b->size)
        return;
    size_t kept = whole_pages(to), held = whole_pages(b->size);
    if (kept == held || munmap((uint8_t *)b->at + kept, held - kept) == 0)
        b->size = to;
}

void block_free(struct block *b)
{
    free_memory(b);
    *b = (struct block){0};
}
