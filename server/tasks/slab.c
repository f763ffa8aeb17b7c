#include "server/tasks/slab.h"

#include <stdint.h>
#include <sys/mman.h>

struct slab_chunk {
    struct slab_chunk *prev, *next; /* roomy or full */
    struct task *free;              /* given back, linked by next */
    uint32_t taken;
    uint32_t fresh; /* cells never taken, at the end */
    struct task cells[];
};

enum { CELLS = (SLAB_CHUNK_SIZE - sizeof(struct slab_chunk)) / sizeof(struct task) };

void slab_init(struct slab *s)
{
    *s = (struct slab){0};
}

static void link_chunk(struct slab_chunk **list, struct slab_chunk *chunk)
{
    chunk->prev = NULL;
    chunk->next = *list;
    if (chunk->next)
        chunk->next->prev = chunk;
    *list = chunk;
}

static void unlink_chunk(struct slab_chunk **list, struct slab_chunk *chunk)
{
    if (chunk->prev)
        chunk->prev->next = chunk->next;
    else
        *list = chunk->next;
    if (chunk->next)
        chunk->next->prev = chunk->prev;
}

/* Twice the size is reserved, and what lies beyond the aligned part given back.  Zeroed by the
 * system, page by page as cells are first used. */
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

/* Rare: its registers are not the business of who takes a task. */
__attribute__((noinline)) static struct slab_chunk *new_chunk(struct slab *s)
{
    struct slab_chunk *chunk = map_chunk();

    if (!chunk)
        return NULL;
    chunk->fresh = CELLS;
    link_chunk(&s->roomy, chunk);
    s->empty++;
    return chunk;
}

static void drop_all(struct slab_chunk *chunk)
{
    while (chunk) {
        struct slab_chunk *next = chunk->next;
        munmap(chunk, SLAB_CHUNK_SIZE);
        chunk = next;
    }
}

void slab_fini(struct slab *s)
{
    drop_all(s->roomy);
    drop_all(s->full);
}

static struct slab_chunk *chunk_of(struct task *t)
{
    return (struct slab_chunk *)((uintptr_t)t & ~(uintptr_t)(SLAB_CHUNK_SIZE - 1));
}

struct task *slab_take(struct slab *s)
{
    struct slab_chunk *chunk = s->roomy ? s->roomy : new_chunk(s);

    if (!chunk)
        return NULL;
    struct task *t = chunk->free;
    if (t)
        chunk->free = t->next;
    else
        t = &chunk->cells[CELLS - chunk->fresh--];
    s->empty -= chunk->taken++ == 0;
    if (!chunk->free && chunk->fresh == 0) {
        unlink_chunk(&s->roomy, chunk);
        link_chunk(&s->full, chunk);
    }
    return t;
}

void slab_give(struct slab *s, struct task *t)
{
    struct slab_chunk *chunk = chunk_of(t);

    if (!chunk->free && chunk->fresh == 0) {
        unlink_chunk(&s->full, chunk);
        link_chunk(&s->roomy, chunk);
    }
    t->next = chunk->free;
    chunk->free = t;
    if (--chunk->taken > 0)
        return;
    if (s->empty < SLAB_KEPT) {
        s->empty++;
        return;
    }
    unlink_chunk(&s->roomy, chunk);
    munmap(chunk, SLAB_CHUNK_SIZE);
}
