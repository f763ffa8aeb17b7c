/* Cells of one size: used again warm, last freed first taken.  One thread, the owner's.
 *
 * Cells stand in chunks of an aligned size, so that a cell finds its chunk by its address.  A chunk
 * whose last cell is given back is kept for the next round, which often wants as many, but a few at
 * most: after a burst the memory returns.  The address sanitizer knows cells that are not taken. */
#ifndef ERGON_BASE_SLAB_H
#define ERGON_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum {
    SLAB_CHUNK_SIZE = 256 * 1024, /* bytes, and its alignment */
    SLAB_KEPT = 8                 /* chunks without a taken cell, of most slabs */
};

struct slab_chunk;

LIST_HEAD(slab_chunks, slab_chunk);

struct slab {
    struct slab_chunks roomy; /* with a free cell; cells are taken from the first */
    struct slab_chunks full;
    uint32_t cell; /* bytes; a multiple of 16: all cells are aligned so, or to 64, when it is one */
    uint32_t end;  /* of the last cell of a chunk, from the chunk's begin */
    uint32_t empty, empty_max; /* of the roomy ones, those of which no cell is taken */
};

/* `cell` is rounded up to 16 bytes, and much smaller than a chunk; `kept` chunks at most stay
 * though no cell of theirs is taken. */
void slab_init(struct slab *s, size_t cell, uint32_t kept);
void slab_fini(struct slab *s); /* all cells, taken or not, are gone; of a zeroed one a no-op */
uint64_t slab_taken(const struct slab *s); /* cells; walks the chunks */

/* A zeroed cell, or one as it was given, but for its first pointer; NULL without memory. */
void *slab_take(struct slab *s);

/* A taken cell of this slab, which is not the caller's any more. */
void slab_give(struct slab *s, void *cell);

#endif
