/* Blocks of memory that go from hand to hand, such as a long message.  A long one is pages of its
 * own: it grows by new pages where malloc, which keeps what was freed for the next, would copy it,
 * and so hold up a loop for as long as megabytes take; and its memory goes back to the system when
 * it is freed.  But a process may have only so many mappings (vm.max_map_count, 65,530), and each
 * such block is one: beyond BLOCKS_OF_PAGES long ones are malloc's, too.
 *
 * Thread: any; a block belongs to whoever holds it. */
#ifndef ERGON_BASE_BLOCK_H
#define ERGON_BASE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

enum {
    BLOCK_PAGES = 128 << 10, /* bytes; from there on it is pages */
    BLOCKS_OF_PAGES = 16384  /* of a process, about */
};

struct block {
    void *at; /* NULL: none */
    size_t size;
    bool pages; /* private */
};

/* Of so many bytes, which are undefined; the caller's, until block_free().  None without memory. */
struct block block_new(size_t size);
/* To so many bytes, which are no fewer; may move it, and copies what is not pages.  False without
 * memory: then it is as it was. */
bool block_grow(struct block *b, size_t size);
/* Gives back what lies beyond so many bytes, as far as that is pages; the bytes stay where they
 * are. */
void block_trim(struct block *b, size_t size);
void block_free(struct block *b); /* it is none then; none is fine */

#endif
