/* task.events: the readers of the feed (feed.h).
 *
 * A reader is an operation that waits, with a filter and the number that it has come to.  What is
 * appended wakes no reader: at the end of the effects the object of the readers is activated, if
 * there are any.  It goes through them in turns, has each look at what came since, and answers each
 * reader that has something of it; then it rests, whatever comes.  So all readers together take a
 * fixed share of the jobs' time; a reader that cannot follow at that pace gets a gap, and events
 * are never held back for readers.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_FEED_READERS_H
#define ERGON_JOBS_FEED_READERS_H

#include <ergon/ao.h>

#include "server/jobs/feed/feed.h"

struct jobs;
struct operation;

/* How long they rest after each step, and the work of a step, see jobs_worked(): half a millisecond
 * of each five and a half. */
enum { FEED_REST_MS = 5, FEED_STEP_WORK = 5000, FEED_PAGE_BYTES = 64 * 1024 };
enum { FEED_IDS = 32 /* that one reader may name */ };

struct feed_readers {
    struct jobs *jobs;
    struct ao ao;
    struct operation *first, *last; /* readers that wait, in turns; by `feed.prev`, `feed.next` */
    uint32_t count;
    uint64_t seen; /* the number up to which all of them have looked */
};

/* Why a reader has not got all from its cursor on. */
enum feed_gap {
    FEED_NO_GAP,
    FEED_GAP_OVERRUN, /* the oldest were dropped before it came */
    FEED_GAP_RESTART  /* the cursor is of another start of the server */
};

/* operation_task_events -> {events, next, gap, missed} */
struct feed_arguments {
    struct feed_cursor
        after;        /* the number that comes first; seq 0: the oldest; epoch 0: see that */
    bool from_oldest; /* without a cursor: from the oldest on, else what comes now */
    uint32_t kinds;   /* a set */
    uint32_t max;     /* events, at most */
    struct span method, tenant, key; /* empty: any */
    uint32_t id_count;               /* 0: of any job */
    uint64_t ids[FEED_IDS];          /* else of these alone */
    ao_time timeout;                 /* of the long poll; 0: none */
    /* --- The jobs' */
    struct operation *prev, *next; /* of the readers that wait */
    enum feed_gap gap;
    uint64_t missed; /* events that were dropped, its own or not */
};

/* For effects_apply(): something was appended, perhaps. */
void feed_readers_wake(struct jobs *jobs);

#endif
