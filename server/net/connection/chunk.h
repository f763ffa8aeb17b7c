/* Output waiting to be written: a chain of chunks, small ones from the loop's pool, large ones by
 * themselves, and blocks that were handed over.
 *
 * Thread: the loop's.  No idle connection holds a chunk. */
#ifndef ERGON_NET_CHUNK_H
#define ERGON_NET_CHUNK_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/span.h"

enum {
    CHUNK_SIZE = 2048, /* bytes of a pooled chunk, header included: sixteen brief answers */
    CHUNK_POOL = 1024  /* chunks that a pool keeps; more are given back to the system */
};

struct chunk {
    struct chunk *next; /* behind the last of a chain: its first */
    const uint8_t *at;  /* first byte not yet written */
    uint8_t *end;       /* behind the last byte committed */
    uint8_t *limit;     /* behind the last byte that may be committed; NULL: a block */
    void *block;        /* handed over, given to `release`; NULL: none, or the bytes are borrowed */
    void (*release)(void *block);
    bool pooled;
    uint8_t bytes[]; /* of our own chunks */
};

struct chunk_pool {
    struct chunk *first;
    uint32_t count;
};

void chunk_pool_fini(struct chunk_pool *pool);

struct chunk_chain {
    struct chunk *last; /* NULL: the chain is empty */
    uint64_t bytes;     /* committed and not yet written */
};

/* Room at the chain's end, or NULL without memory. */
uint8_t *chunk_reserve(struct chunk_chain *chain, struct chunk_pool *pool, size_t room);
void chunk_commit(struct chunk_chain *chain, uint8_t *end);
/* False without memory: then the block is still the caller's. */
bool chunk_append_block(struct chunk_chain *chain, void *block, struct span bytes,
                        void (*release)(void *block));
/* The unwritten bytes of the last chunk; none, if it does not lend them: it has a block, or its own
 * bytes. */
struct span chunk_borrowed(const struct chunk_chain *chain);
/* They lie in this block, which is handed over. */
void chunk_adopt(const struct chunk_chain *chain, void *block, void (*release)(void *block));
/* Copies the unwritten bytes that were appended with `block` NULL, which belong to another owner
 * and are about to go.  False without memory: then the chain may not be written any more. */
bool chunk_keep(const struct chunk_chain *chain);
/* The unwritten bytes from the front, at most `max` parts; returns how many parts. */
int chunk_parts(const struct chunk_chain *chain, struct iovec *parts, int max);
/* `bytes` from the front were written. */
void chunk_consume(struct chunk_chain *chain, struct chunk_pool *pool, size_t bytes);
void chunk_drop_all(struct chunk_chain *chain, struct chunk_pool *pool);

#endif
