/* Input that a connection has to keep between its steps: the head of a message that is not whole,
 * or whole messages that a budget or a limit left over.  It includes the scanner's position in that
 * input.
 *
 * It grows as bytes really arrive, never by an announced size, and is freed when it is empty: an
 * idle connection has none.  Thread: the loop's, for all of this header. */
#ifndef ERGON_NET_PARTIAL_INPUT_H
#define ERGON_NET_PARTIAL_INPUT_H

#include <ergon/ao.h>

#include "base/block.h"
#include "base/list.h"
#include "proto/scanner.h"
#include "server/accounts/input_budget.h"

struct connection;

enum { PARTIAL_MIN = 256 }; /* bytes; room for a message that drips in */

struct partial_input {
    LIST_ENTRY(partial_input) link; /* all of one loop */
    struct connection *owner;
    uint64_t charged;       /* bytes that the owner's account knows of: holdings.h */
    size_t start, end;      /* the bytes are bytes[start .. end) */
    size_t capacity;        /* of `bytes`, as far as it is counted */
    size_t room;            /* of `bytes`: more than `capacity` by less than a page */
    ao_time waits_since;    /* for room in the budget: partial_budget.h; 0: it does not */
    bool pages;             /* the block that holds it is */
    bool is_own;            /* taken from what the loop alone has, not from what is shared */
    struct scanner scanner; /* of the value at `start` */
    uint8_t bytes[];
};

/* All of one loop. */
struct partial_list {
    LIST_HEAD(, partial_input) all;
    uint64_t total;  /* bytes of memory that they take */
    uint64_t own;    /* of these, of what the loop alone has */
    uint64_t credit; /* taken of what is shared, for the rest of a read that goes on */
    /* From which they are taken, all borrowed.  NULL: there is no limit. */
    struct input_budget *budget;
    struct input_keeper *keeper;
    const struct input_limits *limits;
    /* The pages of the last long one that went, as far as PARTIAL_SPARE, for the next: to have them
     * made and given back for each costs more than to read and answer it.  Not counted above while
     * they are here; the connection that gets them is charged for all that it keeps of them. */
    struct block spare;
    ao_time looked_at; /* in vain, for a connection to give way; 0: never */
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

/* Bytes of memory that partial_new() takes for so many. */
size_t partial_cost(size_t bytes);
/* Before a read of which `bytes` may be left over: what the loop alone has is enough for that. */
static inline bool partial_fits(const struct partial_list *list, size_t bytes)
{
    return list->own + sizeof(struct partial_input) + bytes + PARTIAL_MIN <= list->limits->own;
}
/* The same where it is not: it is taken of what is shared, until partial_settle().  False: there is
 * none. */
bool partial_has_room(struct partial_list *list, size_t bytes);
/* What was taken for a read, and not used. */
void partial_settle(struct partial_list *list);
/* Copies `bytes` and the state of `scanner`.  NULL without memory, or room. */
struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner);

/* Of what is shared, how many bytes partial_reserve() needs for `bytes` more: all of them where it
 * is the loop's own, which it is not any more then. */
size_t partial_need(const struct partial_input *p, size_t bytes);
/* Takes them.  False: there are too few. */
bool partial_take(struct partial_list *list, struct partial_input *p, size_t bytes);
/* Call it after partial_take().  Makes room for `bytes` more after the last byte of `p`, at
 * p->bytes + p->end, and returns `p`, whose block it may have moved.  NULL without memory: then `p`
 * still has the bytes it had. */
struct partial_input *partial_reserve(struct partial_list *list, struct partial_input *p,
                                      size_t bytes);
/* Behind the last, where there is room. */
void partial_append(struct partial_input *p, struct span bytes);
/* Both give back what was taken from the budget.  The first returns the block that holds `p`, with
 * all its bytes where they are; the caller owns it then.  The other frees it too. */
struct block partial_release(struct partial_list *list, struct partial_input *p);
void partial_free(struct partial_list *list, struct partial_input *p); /* NULL is fine */

/* The spare block goes; all of the list have gone. */
void partial_list_fini(struct partial_list *list);

/* Copies the part of a scanner that is in use. */
void partial_copy_scanner(struct scanner *to, const struct scanner *from);

#endif
