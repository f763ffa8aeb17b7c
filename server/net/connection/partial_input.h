/* Input that a connection has to keep between its steps: the head of a message that is not whole,
 * or whole messages that a budget or a limit left over.  With it, where the scanner stands in it.
 *
 * It grows as bytes really arrive, never by an announced size, and is freed when it is empty: an
 * idle connection has none.  Thread: the loop's. */
#ifndef ERGON_NET_PARTIAL_INPUT_H
#define ERGON_NET_PARTIAL_INPUT_H

#include "proto/scanner.h"

struct connection;

struct partial_input {
    struct partial_input *prev, *next; /* all of one loop */
    struct connection *owner;
    size_t start, end;      /* the bytes are bytes[start .. end) */
    size_t capacity;        /* of `bytes` */
    struct scanner scanner; /* of the value at `start` */
    uint8_t bytes[];
};

/* All of one loop. */
struct partial_list {
    struct partial_input *first;
    uint64_t total; /* bytes of memory that they take */
};

static inline struct span partial_span(const struct partial_input *h)
{
    return span_of(h->bytes + h->start, h->end - h->start);
}

static inline size_t partial_slack(const struct partial_input *h)
{
    return h->capacity - h->end;
}

/* Copies `bytes` and the state of `scanner`.  NULL without memory. */
struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner);
/* Room for `bytes` more behind the last, at h->bytes + h->end; may move the block.  NULL without
 * memory: then `h` is as it was. */
struct partial_input *partial_reserve(struct partial_list *list, struct partial_input *h,
                                      size_t bytes);
/* Appends; as partial_reserve(). */
struct partial_input *partial_append(struct partial_list *list, struct partial_input *h,
                                     struct span bytes);
void partial_free(struct partial_list *list, struct partial_input *h); /* NULL is fine */
struct partial_input *partial_largest(const struct partial_list *list);

/* Copies the part of a scanner that is in use. */
void partial_copy_scanner(struct scanner *to, const struct scanner *from);

#endif
