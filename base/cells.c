#include "base/cells.h"

#include <assert.h>

enum { KEPT = 1 /* chunks of each size, of which no cell is taken */ };

void cells_init(struct cells *c)
{
    for (size_t kind = 0; kind < CELL_KINDS; kind++)
        slab_init(&c->of[kind], (kind + 1) * CELL_STEP, KEPT);
}

void cells_fini(struct cells *c)
{
    for (size_t kind = 0; kind < CELL_KINDS; kind++) {
        assert(slab_taken(&c->of[kind]) == 0);
        slab_fini(&c->of[kind]);
    }
}

static struct slab *slab_for(struct cells *c, size_t bytes)
{
    assert(bytes > 0 && bytes <= CELL_MOST);
    return &c->of[(bytes - 1) / CELL_STEP];
}

void *cells_take(struct cells *c, size_t bytes)
{
    return slab_take(slab_for(c, bytes));
}

void cells_give(struct cells *c, void *cell, size_t bytes)
{
    slab_give(slab_for(c, bytes), cell);
}
