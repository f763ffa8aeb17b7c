/* One kept task, and the lists that it can stand in.  Ledger's thread.
 *
 * A million of them wait on a normal day: what most tasks do not have stands in `more`, which is
 * there only when one of its fields is. */
#ifndef ERGON_LEDGER_ENTRY_H
#define ERGON_LEDGER_ENTRY_H

#include <ergon/ao.h>

#include "base/span.h"
#include "server/ledger/order.h"

struct ask;
struct entry;
struct history;
struct ledger;
struct ledger_queue;
struct ledger_wait;
struct limit;
struct bucket;
struct task;
struct tenant;

/* Intrusive, doubly linked, first in first out. */
struct entry_list {
    struct entry *first, *last;
    uint32_t count;
};

void entry_push(struct entry_list *list, struct entry *e); /* at the end */
void entry_push_front(struct entry_list *list, struct entry *e);
struct entry *entry_pop(struct entry_list *list); /* NULL when empty */
void entry_unlink(struct entry *e); /* from the list that it stands in; of none a no-op */

/* What depends on what: one edge per id of `after` that is still open. */
struct after_edge {
    struct entry *waits, *on;
    struct after_edge *next_of_waits;     /* edges of who waits */
    struct after_edge *prev_on, *next_on; /* edges of who is waited for */
};

/* A name in one of the key tables; see keys.h. */
struct key_link {
    struct entry *entry;
    struct key_link *next; /* in its bucket */
    uint64_t hash;
    struct span tenant, scope, name; /* in memory that the entry owns, or its tenant */
};

/* How an attempt, or the whole, ended. */
struct entry_end {
    uint8_t *result; /* raw; NULL: none, or too large to keep, see `cut` */
    size_t result_len;
    bool cut;
    char *code; /* malloc'ed, together with the text; NULL: no error */
    char *text;
};

/* What few tasks have.  Spans lie in the entry's body. */
struct entry_more {
    struct key_link key, coalesce; /* name.len 0: none */
    struct limit *limit;
    struct bucket *bucket;
    uint32_t limit_max, rate; /* as ordered */
    ao_time rate_per;
    struct after_edge *after; /* still open */
    struct after_edge *dependents;
    struct entry *next_releasing; /* while `releasing`: in the ledger's list */
    uint64_t *after_ids;          /* as ordered, for task.get and the store */
    uint64_t after_failed;        /* the first of them that did not end well; 0: none */
    uint32_t after_count;
    bool releasing;   /* it has ended, and its dependents are being told */
    bool settled;     /* `after` counts no more: it was tried again by hand; so in the file, too */
    uint32_t waiters; /* who wants a coalesced run */
    ao_time backoff, backoff_max;
    uint8_t jitter;
    ao_time keep;
    uint64_t keep_size;
    uint64_t progress_done, progress_total;
    char *progress_text; /* malloc'ed */
    uint64_t watchers;
};

enum entry_flag {
    ENTRY_HOLDS_SLOT = 1,   /* of its limit */
    ENTRY_HOLDS_TOKEN = 2,  /* of its bucket: taken, and not yet used by a start */
    ENTRY_STARTING = 4,     /* its start is being committed */
    ENTRY_SUBMITTING = 8,   /* its row is being committed; not given to anybody before, if fsync */
    ENTRY_ENDING = 16,      /* its end is being committed: nobody sees it yet */
    ENTRY_CANCEL = 32,      /* to be cancelled when its attempt returns */
    ENTRY_CRON = 64,        /* made by a cron */
    ENTRY_FOREGROUND = 128, /* task.call: ends with its last waiter */
    ENTRY_PICKABLE = 256,   /* stands in the pick of its kind */
    ENTRY_DIRTY = 512,      /* changed since the operation that is on its way was made */
    ENTRY_UNSAVED = 1024,   /* its last operation failed: it is tried again */
    ENTRY_SUSPECT = 2048,   /* has the one place that there is for suspects */
    ENTRY_UNTOLD = 4096     /* read back, ended: what its row tells is not in its history yet */
};

struct entry {
    struct ao timer; /* sleeps until the next time that counts: due, deadline, timeout, keep */
    struct entry *prev, *next;         /* in `list` */
    struct entry_list *list;           /* where it stands: queue, wait list, starting; NULL: none */
    struct entry *older, *younger;     /* queued: in the order in which its level was entered */
    struct entry *all_prev, *all_next; /* all entries, by id */
    struct entry *id_next;             /* in its bucket of the id table */
    uint64_t id;
    struct ledger *ledger;
    struct ledger_queue *queue; /* of its method */
    struct tenant *tenant;
    uint8_t *body;             /* parameters, then the names of `more`: behind it, or malloc'ed */
    struct entry_more *more;   /* NULL: nothing of it */
    struct history *history;   /* NULL: nothing but its submission */
    struct entry_end *end;     /* of the last attempt, or of the whole; NULL: none */
    struct ledger_wait *waits; /* asks that wait for it */
    struct task *attempt_task; /* of the current attempt, while it is out; else NULL */
    uint64_t created;          /* Unix ns */
    ao_time due;               /* DELAYED: when it is queued */
    ao_time deadline;          /* of the whole; AO_NEVER */
    ao_time timeout;           /* of one attempt, ns; AO_NEVER */
    ao_time until;             /* of the attempt that is out: its timeout; AO_NEVER */
    uint64_t started, ended;   /* Unix ns; 0: not yet */
    ao_time entered;           /* when it came to its level of the queue */
    uint32_t params_len, body_len;
    uint32_t attempt;  /* the number of the last attempt */
    uint32_t failures; /* that the retries are counted by */
    uint32_t retries;
    uint16_t strays;  /* attempts that are out and do not count any more */
    uint16_t pending; /* store operations on their way that point into it: 0 or 1 */
    uint16_t flags;   /* enum entry_flag */
    uint8_t state;    /* enum ledger_state, LEDGER_NEW; only ledger_turn() writes it */
    uint8_t reason;   /* enum ledger_reason; likewise */
    uint8_t priority;
    uint8_t level;   /* queued: its priority with ageing */
    uint8_t durable; /* enum ledger_durable, that was asked for and can be had */
    uint8_t ending;  /* ENTRY_ENDING: the state that is being committed */
    uint8_t counted; /* by the file, with what is on its way: LEDGER_NEW not, QUEUED open, an end */
    uint8_t crashes; /* of the server while it ran; at most 255 */
};

/* Bodies of up to so many bytes stand behind the entry, in steps of so many. */
enum {
    ENTRY_BODY_STEP = 32,
    ENTRY_BODY_IN_PLACE = 512,
    ENTRY_CELLS = ENTRY_BODY_IN_PLACE / ENTRY_BODY_STEP + 1
};

/* The kind of cell for an entry with such a body behind it. */
static inline uint32_t entry_cells(size_t body)
{
    return (uint32_t)((body + ENTRY_BODY_STEP - 1) / ENTRY_BODY_STEP);
}

static inline struct span entry_params(const struct entry *e)
{
    return span_of(e->body, e->params_len);
}

static inline bool entry_is(const struct entry *e, unsigned flags)
{
    return (e->flags & flags) != 0;
}

static inline void entry_set(struct entry *e, unsigned flags)
{
    e->flags = (uint16_t)(e->flags | flags);
}

static inline void entry_clear(struct entry *e, unsigned flags)
{
    e->flags = (uint16_t)(e->flags & ~flags);
}

/* Bytes that it takes, everything that hangs on it included. */
size_t entry_bytes(const struct entry *e);

#endif
