/* Input that a connection has to keep between its steps: the head of a message that is not whole,
 * or whole messages that a budget or a limit left over.  With it, where the scanner stands in it.
 *
 * It grows as bytes really arrive, never by an announced size, and is freed when it is empty: an
 * idle connection has none.  Thread: the loop's, for all that stands here. */
#ifndef ERGON_NET_PARTIAL_INPUT_H
#define ERGON_NET_PARTIAL_INPUT_H

#include <ergon/ao.h>

#include "base/block.h"
#include "base/list.h"
#include "proto/scanner.h"

struct connection;
struct input_budget; /* server/accounts/input_budget.h */

struct partial_input {
    LIST_ENTRY(partial_input) link; /* all of one loop */
    struct connection *owner;
    size_t start, end;      /* the bytes are bytes[start .. end) */
    size_t capacity;        /* of `bytes`, as far as it is counted */
    size_t room;            /* of `bytes`: more than `capacity` in a block that was spare */
    ao_time waits_since;    /* for room in the budget: partial_budget.h; 0: it does not */
    struct scanner scanner; /* of the value at `start` */
    uint8_t bytes[];
};

/* All of one loop. */
struct partial_list {
    LIST_HEAD(, partial_input) all;
    uint64_t total;              /* bytes of memory that they take */
    struct input_budget *budget; /* from which they are taken; borrowed.  NULL: there is none */
    /* The pages of the last long one that went, as far as PARTIAL_SPARE, for the next: to have them
     * made and given back for each costs more than to read and answer it.  Not counted above. */
    struct block spare;
};

enum { PARTIAL_SPARE = 4 << 20 /* bytes that a loop keeps so at most */ };

static inline struct span partial_span(const struct partial_input *p)
{
    return span_of(p->bytes + p->start, p->end - p->start);
}

static inline size_t partial_slack(const struct partial_input *p)
{
    return p->capacity - p->end;
}

/* Bytes of memory that it takes. */
static inline size_t partial_size(const struct partial_input *p)
{
    return sizeof *p + p->capacity;
}

/* Bytes of memory that partial_reserve() takes for `bytes` more; without `p`, that partial_new()
 * takes for so many. */
size_t partial_cost(const struct partial_input *p, size_t bytes);
/* Takes so many from the budget, for the one call that has this cost.  False: all would have more
 * than `limit`. */
bool partial_take(struct partial_list *list, size_t cost, uint64_t limit);

/* Both, behind partial_take(): without memory, what was taken is given back. */
/* Copies `bytes` and the state of `scanner`.  NULL without memory. */
struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner);
/* Room for `bytes` more behind the last, at p->bytes + p->end; may move the block.  NULL without
 * memory: then `p` is as it was. */
struct partial_input *partial_reserve(struct partial_list *list, struct partial_input *p,
                                      size_t bytes);
/* Behind the last, where there is room. */
void partial_append(struct partial_input *p, struct span bytes);
/* Both give back what was taken from the budget.  The block in which `p` stands, with all its bytes
 * where they are, which is the caller's then; or that is freed, too. */
struct block partial_release(struct partial_list *list, struct partial_input *p);
void partial_free(struct partial_list *list, struct partial_input *p); /* NULL is fine */

/* The spare block goes; all of the list have gone. */
void partial_list_fini(struct partial_list *list);

/* Copies the part of a scanner that is in use. */
void partial_copy_scanner(struct scanner *to, const struct scanner *from);

#endif
