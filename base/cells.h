/* Cells of many sizes, in steps of 16 bytes, from a slab (slab.h) for each: for millions of small
 * things.  They have no head as malloc's blocks do, and a chunk of which no cell is taken goes back
 * to the system, whatever else was allocated meanwhile.  One thread, the owner's. */
#ifndef ERGON_BASE_CELLS_H
#define ERGON_BASE_CELLS_H

#include "base/slab.h"

enum {
    CELL_STEP = 16,
    CELL_KINDS = 20,
    CELL_MOST = CELL_KINDS * CELL_STEP /* bytes */
};

struct cells {
    struct slab of[CELL_KINDS]; /* the first: of CELL_STEP bytes */
};

void cells_init(struct cells *c);
void cells_fini(struct cells *c); /* none is taken any more */

/* 1 to CELL_MOST bytes, with what was in them; NULL without memory. */
void *cells_take(struct cells *c, size_t bytes);
/* A cell that was taken for so many bytes. */
void cells_give(struct cells *c, void *cell, size_t bytes);

/* What one for so many bytes takes. */
static inline size_t cell_size(size_t bytes)
{
    return (bytes + CELL_STEP - 1) / CELL_STEP * CELL_STEP;
}
#endif
