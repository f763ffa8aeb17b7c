/* A growing run of bytes: filled at its end, taken from its start.  One thread at a time; the block
 * belongs to the buffer, and pointers into it are valid until the next function that may move it.
 */
#ifndef ERGON_CLIENT_BUFFER_H
#define ERGON_CLIENT_BUFFER_H

#include "base/span.h"

/* All zero is an empty buffer. */
struct buffer {
    uint8_t *at;  /* owned; NULL while cap is 0 */
    size_t start; /* first byte that is not yet taken */
    size_t end;   /* behind the last byte */
    size_t cap;
};

void buffer_fini(struct buffer *b); /* and it is empty again */

/* Room for `room` bytes at the end, or NULL when memory is out.  Bytes may move. */
uint8_t *buffer_reserve(struct buffer *b, size_t room);

/* Counts in what was written behind buffer_reserve(). */
void buffer_filled(struct buffer *b, size_t len);

bool buffer_append(struct buffer *b, struct span bytes); /* false: out of memory */

/* Takes `len` bytes off the start.  Gives a large block back when nothing is left. */
void buffer_drop(struct buffer *b, size_t len);

static inline struct span buffer_span(const struct buffer *b)
{
    return span_of(b->at + b->start, b->end - b->start);
}

static inline size_t buffer_length(const struct buffer *b)
{
    return b->end - b->start;
}

#endif
