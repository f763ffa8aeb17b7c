#include "base/slab.h"

#include <assert.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/prefetch.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

struct free_cell {
    struct free_cell *next;
};

struct slab_chunk {
    LIST_ENTRY(slab_chunk) link; /* roomy or full */
    struct free_cell *free;      /* given back */
    uint32_t taken;
    uint32_t fresh; /* bytes from the chunk's begin to the first cell that was never taken */
    uint32_t ready; /* bytes from the chunk's begin that have pages */
};

enum {
    GRAIN = 16,
    FIRST_CELL = 64,   /* behind the head, on a line of its own */
    AHEAD = 32 * 1024, /* bytes of pages that the system is asked for at once */
};
_Static_assert(sizeof(struct slab_chunk) <= FIRST_CELL, "the head stands before the cells");

void slab_init(struct slab *s, size_t cell, uint32_t kept)
{
    cell = (cell + GRAIN - 1) / GRAIN * GRAIN;
    assert(cell > 0 && cell <= SLAB_CHUNK_SIZE - FIRST_CELL);
    size_t cells = (SLAB_CHUNK_SIZE - FIRST_CELL) / cell;
    *s = (struct slab){
        .cell = (uint32_t)cell, .end = (uint32_t)(FIRST_CELL + cells * cell), .empty_max = kept};
}

/* Twice the size is reserved, and what lies beyond the aligned part given back.  Zeroed by the
 * system, some at a time as cells are first used. */
static struct slab_chunk *map_chunk(void)
{
    uint8_t *at = mmap(NULL, 2 * (size_t)SLAB_CHUNK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)at % SLAB_CHUNK_SIZE;
    if (before > 0)
        munmap(at, before);
    munmap(at + before + SLAB_CHUNK_SIZE, SLAB_CHUNK_SIZE - before);
    return (struct slab_chunk *)(void *)(at + before);
}

static void unmap_chunk(struct slab_chunk *chunk)
{
    ASAN_UNPOISON_MEMORY_REGION(chunk, SLAB_CHUNK_SIZE);
    munmap(chunk, SLAB_CHUNK_SIZE);
}

/* Rare: its registers are not the business of who takes a cell. */
__attribute__((noinline)) static struct slab_chunk *new_chunk(struct slab *s)
{
    struct slab_chunk *chunk = map_chunk();

    if (!chunk)
        return NULL;
    chunk->fresh = FIRST_CELL;
    LIST_INSERT_HEAD(&s->roomy, chunk, link);
    s->empty++;
    return chunk;
}

static void drop_all(struct slab_chunks *chunks)
{
    for (struct slab_chunk *chunk; (chunk = LIST_POP(chunks, link));)
        unmap_chunk(chunk);
}

void slab_fini(struct slab *s)
{
    drop_all(&s->roomy);
    drop_all(&s->full);
}

static uint64_t taken_of(const struct slab_chunks *chunks)
{
    uint64_t sum = 0;
    const struct slab_chunk *chunk;
    LIST_FOREACH(chunk, chunks, link)
    sum += chunk->taken;
    return sum;
}

uint64_t slab_taken(const struct slab *s)
{
    return taken_of(&s->roomy) + taken_of(&s->full);
}

/* Pages come several at once: a fault each would cost more than their zeroing; and those of a whole
 * chunk, where one was filled before.  A system that does not know how faults them in one by one.
 */
__attribute__((noinline)) static void populate(const struct slab *s, struct slab_chunk *chunk)
{
    uint32_t ahead = LIST_EMPTY(&s->full) ? AHEAD : SLAB_CHUNK_SIZE - chunk->ready;

#ifdef MADV_POPULATE_WRITE
    madvise((uint8_t *)chunk + chunk->ready, ahead, MADV_POPULATE_WRITE);
#endif
    chunk->ready += ahead;
}

static bool is_full(const struct slab *s, const struct slab_chunk *chunk)
{
    return !chunk->free && chunk->fresh == s->end;
}

static void *take_fresh(struct slab *s, struct slab_chunk *chunk)
{
    void *cell = (uint8_t *)chunk + chunk->fresh;
    chunk->fresh += s->cell;
    if (chunk->fresh > chunk->ready)
        populate(s, chunk);
    return cell;
}

void *slab_take(struct slab *s)
{
    struct slab_chunk *first = LIST_FIRST(&s->roomy), *chunk = first ? first : new_chunk(s);

    if (!chunk)
        return NULL;
    void *cell = chunk->free;
    if (cell) {
        ASAN_UNPOISON_MEMORY_REGION(cell, s->cell);
        chunk->free = chunk->free->next;
        prefetch(chunk->free, PREFETCH_LINE); /* the next to be taken */
    } else {
        cell = take_fresh(s, chunk);
    }
    s->empty -= chunk->taken++ == 0;
    if (is_full(s, chunk)) {
        LIST_REMOVE(chunk, link);
        LIST_INSERT_HEAD(&s->full, chunk, link);
    }
    return cell;
}

static struct slab_chunk *chunk_of(void *cell)
{
    return (struct slab_chunk *)((uintptr_t)cell & ~(uintptr_t)(SLAB_CHUNK_SIZE - 1));
}

void slab_give(struct slab *s, void *cell)
{
    struct slab_chunk *chunk = chunk_of(cell);
    struct free_cell *given = cell;

    if (is_full(s, chunk)) {
        LIST_REMOVE(chunk, link);
        LIST_INSERT_HEAD(&s->roomy, chunk, link);
    }
    given->next = chunk->free;
    chunk->free = given;
    ASAN_POISON_MEMORY_REGION(cell, s->cell);
    if (--chunk->taken > 0)
        return;
    if (s->empty < s->empty_max) {
        s->empty++;
        return;
    }
    LIST_REMOVE(chunk, link);
    unmap_chunk(chunk);
}
