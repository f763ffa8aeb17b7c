#include "base/block.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How many are pages.  It orders nothing (relaxed): a bound that may be passed by as many as there
 * are threads. */
static _Atomic uint32_t blocks_of_pages;

static void count(uint32_t one)
{
    atomic_fetch_add_explicit(&blocks_of_pages, one, memory_order_relaxed);
}

static bool is_to_be_pages(size_t size)
{
    return size >= BLOCK_PAGES &&
           atomic_load_explicit(&blocks_of_pages, memory_order_relaxed) < BLOCKS_OF_PAGES;
}

static struct block new_pages(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return (struct block){0};
    count(1);
    return (struct block){.at = at, .size = size, .pages = true};
}

static bool copy_to_pages(struct block *b, size_t size)
{
    struct block to = new_pages(size);
    if (!to.at)
        return false;
    memcpy(to.at, b->at, b->size);
    block_free(b);
    *b = to;
    return true;
}

static bool move_pages(struct block *b, size_t size)
{
#ifdef __SANITIZE_THREAD__ /* it does not see that mremap() gives addresses back */
    return copy_to_pages(b, size);
#else
    void *at = mremap(b->at, b->size, size, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return false;
    b->at = at;
    b->size = size;
    return true;
#endif
}

struct block block_new(size_t size)
{
    if (is_to_be_pages(size))
        return new_pages(size);
    void *at = malloc(size);
    return (struct block){.at = at, .size = at ? size : 0};
}

bool block_grow(struct block *b, size_t size)
{
    assert(b->at && b->size <= size);
    if (b->pages)
        return move_pages(b, size);
    if (is_to_be_pages(size))
        return copy_to_pages(b, size);
    void *at = realloc(b->at, size);
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

void block_trim(struct block *b, size_t size)
{
    size_t to = size < BLOCK_PAGES ? BLOCK_PAGES : size;
    if (!b->pages || to >= b->size)
        return;
    size_t kept = whole_pages(to), held = whole_pages(b->size);
    if (kept == held || munmap((uint8_t *)b->at + kept, held - kept) == 0)
        b->size = to;
}

void block_free(struct block *b)
{
    if (b->pages) {
        munmap(b->at, b->size);
        count((uint32_t)-1);
    } else {
        free(b->at);
    }
    *b = (struct block){0};
}
