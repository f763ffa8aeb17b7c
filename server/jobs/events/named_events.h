/* Events that clients name: a number that grows with each time that one is set, and the value that
 * was set last.
 *
 * A tenant has so many, and beyond that the one goes that was set longest ago and for which nobody
 * waits; it is then as if it had never been set.  Where somebody waits for each, or where others
 * have all that there may be, a further one is refused.  They are in memory only.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_NAMED_EVENTS_H
#define ERGON_JOBS_NAMED_EVENTS_H

#include "base/counter.h"
#include "base/hash_table.h"
#include "base/pairing_heap.h"
#include "base/span.h"
#include "server/jobs/core/refusal.h"

struct jobs;
struct tenant;

enum {
    NAMED_EVENTS_MAX = 100000,      /* in all */
    NAMED_EVENTS_OF_TENANT = 10000, /* of one tenant */
    EVENT_VALUE_MAX = 4096          /* bytes */
};

/* An operation that waits for one; it is part of the operation. */
struct event_waiter {
    struct event_waiter *prev, *next;
    uint64_t from; /* it waits for this number, or a higher one */
};

struct named_event {
    struct hash_link by_name; /* first */
    struct tenant *tenant;
    struct pairing_node idle; /* of the tenant's, while `is_idle` */
    bool is_idle;             /* it has been set, and nobody waits */
    struct event_waiter *waiters;
    uint64_t seq;   /* 0: it has not been set */
    uint8_t *value; /* malloc'ed, raw MessagePack */
    uint32_t value_len;
    struct span name; /* behind it, in its memory */
};

/* All events. */
struct events {
    struct hash_table by_name;
    counter shown;
};

/* NULL: there is none. */
struct named_event *event_find(const struct jobs *jobs, struct span tenant, struct span name);
/* Found, or made; one that is not set and for which nobody waits goes by event_settle().  NULL:
 * ERGON_E_BUSY (there are too many, or no room), ERGON_E_MEMORY, and a text. */
struct named_event *event_make(struct jobs *jobs, struct span tenant, struct span name,
                               struct refusal *why);
void event_settle(struct jobs *jobs, struct named_event *e);
/* Sets it, to a copy of the value.  False: ERGON_E_BUSY, ERGON_E_MEMORY and a text; it is as it
 * was. */
bool event_set(struct jobs *jobs, struct named_event *e, struct span value, struct refusal *why);

void event_join(struct named_event *e, struct event_waiter *w);
void event_leave(struct named_event *e, struct event_waiter *w); /* event_settle() is to follow */

void events_free(struct jobs *jobs); /* all of them; no client waits any more */

#endif
