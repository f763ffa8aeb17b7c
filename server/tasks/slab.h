/* The tasks of one home: cells that are used again warm, last freed first taken.  Home's thread. */
#ifndef ERGON_TASKS_SLAB_H
#define ERGON_TASKS_SLAB_H

#include "server/tasks/task.h"

enum { SLAB_CELLS = 64 }; /* of one chunk */

struct slab {
    struct task *free; /* linked by next */
    struct slab_chunk *chunks;
    uint32_t fresh; /* cells of the newest chunk that were never used */
    uint32_t taken;
};

void slab_init(struct slab *s);
void slab_fini(struct slab *s); /* all cells, taken or not, are gone */

/* A zeroed cell, or one as it was given; NULL without memory. */
struct task *slab_take(struct slab *s);
void slab_give(struct slab *s, struct task *t);

#endif
