#include "server/tasks/slab.h"

#include <stdlib.h>

struct slab_chunk {
    struct slab_chunk *next;
    struct task cells[SLAB_CELLS];
};

void slab_init(struct slab *s)
{
    *s = (struct slab){0};
}

void slab_fini(struct slab *s)
{
    while (s->chunks) {
        struct slab_chunk *chunk = s->chunks;
        s->chunks = chunk->next;
        free(chunk);
    }
}

static struct task *take_fresh(struct slab *s)
{
    if (s->fresh == 0) {
        struct slab_chunk *chunk = aligned_alloc(alignof(struct slab_chunk), sizeof *chunk);
        if (!chunk)
            return NULL;
        memset(chunk, 0, sizeof *chunk);
        chunk->next = s->chunks;
        s->chunks = chunk;
        s->fresh = SLAB_CELLS;
    }
    return &s->chunks->cells[SLAB_CELLS - s->fresh--];
}

struct task *slab_take(struct slab *s)
{
    struct task *t = s->free;
    if (t)
        s->free = t->next;
    else if (!(t = take_fresh(s)))
        return NULL;
    s->taken++;
    return t;
}

void slab_give(struct slab *s, struct task *t)
{
    t->next = s->free;
    s->free = t;
    s->taken--;
}
