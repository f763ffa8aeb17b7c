/* Bytes that do not change any more and are shared: made once, held by whoever has a reference, and
 * freed with the last one.  So a large result is one block, however many answers carry it.
 *
 * Thread: any; each holder has a reference of its own, and gives it back on its own thread. */
#ifndef ERGON_BASE_BLOB_H
#define ERGON_BASE_BLOB_H

#include <stdatomic.h>

#include "base/span.h"

struct blob {
    _Atomic uint32_t refs;
    uint32_t len;
    const uint8_t *at;           /* behind the blob, or a block of malloc's */
    _Atomic(struct blob *) twin; /* see blob_twin(); NULL: none */
};

/* Both with one reference, the caller's; NULL without memory, and for 4 GiB.  A copy; or the block
 * itself, which malloc gave and which is the blob's then: on NULL it is still the caller's. */
struct blob *blob_copy(struct span bytes);
struct blob *blob_take(uint8_t *block, size_t len);

struct blob *blob_ref(struct blob *b); /* returns b */
void blob_unref(struct blob *b);       /* NULL is fine */
void blob_release(void *b);            /* the same, for who calls it by a pointer */

static inline struct span blob_bytes(const struct blob *b)
{
    return span_of(b->at, b->len);
}

/* What malloc was asked for, for all of it. */
size_t blob_size(const struct blob *b);

/* The same value in another form, which is made when it is first wanted, and goes with the blob:
 * so who wants it a thousand times has it made once.  Borrowed; NULL: nobody has made it yet. */
struct blob *blob_twin(const struct blob *b);
/* Keeps `twin`, whose reference is the blob's then, unless another thread was faster: that one's is
 * kept, and this one is given back.  Returns what is kept, borrowed. */
struct blob *blob_keep_twin(struct blob *b, struct blob *twin);

#endif
