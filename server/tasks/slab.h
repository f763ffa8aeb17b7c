/* The tasks of one home: cells that are used again warm, last freed first taken.  Home's thread.
 *
 * Cells stand in chunks of an aligned size, so that a cell finds its chunk by its address.  A chunk
 * whose last task is gone is kept for the next round, which often wants as many, but a few at most:
 * after a burst the memory returns. */
#ifndef ERGON_TASKS_SLAB_H
#define ERGON_TASKS_SLAB_H

#include "server/tasks/task.h"

enum {
    SLAB_CHUNK_SIZE = 256 * 1024, /* bytes, and its alignment */
    SLAB_KEPT = 8                 /* chunks without a task */
};

struct slab_chunk;

struct slab {
    struct slab_chunk *roomy; /* chunks with a free cell; cells are taken from the first */
    struct slab_chunk *full;
    uint32_t empty; /* of the roomy ones, those without a task */
};

void slab_init(struct slab *s);
void slab_fini(struct slab *s); /* all cells, taken or not, are gone */

/* A zeroed cell, or one as it was given; NULL without memory. */
struct task *slab_take(struct slab *s);
void slab_give(struct slab *s, struct task *t);

#endif
