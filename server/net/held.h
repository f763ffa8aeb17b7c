/* Input that a connection has to keep between its steps: the head of a message that is not whole,
 * or whole messages that a budget or a limit left over.  With it, where the scanner stands in it.
 *
 * It grows as bytes really arrive, never by an announced size, and is freed when it is empty: an
 * idle connection has none.  Thread: the loop's. */
#ifndef ERGON_NET_HELD_H
#define ERGON_NET_HELD_H

#include "proto/scanner.h"

struct connection;

struct held {
    struct held *prev, *next; /* all of one loop */
    struct connection *owner;
    size_t start, end;      /* the bytes are bytes[start .. end) */
    size_t capacity;        /* of `bytes` */
    struct scanner scanner; /* of the value at `start` */
    uint8_t bytes[];
};

/* All of one loop. */
struct held_list {
    struct held *first;
    uint64_t total; /* bytes of memory that they take */
};

static inline struct span held_span(const struct held *h)
{
    return span_of(h->bytes + h->start, h->end - h->start);
}

static inline size_t held_slack(const struct held *h)
{
    return h->capacity - h->end;
}

/* Copies `bytes` and the state of `scanner`.  NULL without memory. */
struct held *held_new(struct held_list *list, struct connection *owner, struct span bytes,
                      const struct scanner *scanner);
/* Room for `bytes` more behind the last, at h->bytes + h->end; may move the block.  NULL without
 * memory: then `h` is as it was. */
struct held *held_reserve(struct held_list *list, struct held *h, size_t bytes);
/* Appends; as held_reserve(). */
struct held *held_append(struct held_list *list, struct held *h, struct span bytes);
void held_free(struct held_list *list, struct held *h); /* NULL is fine */
struct held *held_largest(const struct held_list *list);

/* Copies the part of a scanner that is in use. */
void held_copy_scanner(struct scanner *to, const struct scanner *from);

#endif
