/* The feed: what happened to all jobs, and what operators did with queues and crons, in one order.
 *
 * A ring of the last events.  Each has a number, which begins at 1 with the start of the server;
 * together with the epoch, which no other start has, it is a cursor: a client that comes back with
 * one learns what happened since, or that events were dropped, or that the server was started anew.
 *
 * An event is appended in constant time, at any number of readers; nothing here knows them.  The
 * oldest is dropped when the ring is full, or when names and texts take more than FEED_EXTRA bytes
 * an event on average.  What handlers say (progress, partial results) is in the history of the job
 * alone: it would drive out what happened.
 *
 * Thread: the jobs'; cursors and names of kinds are pure.  Nothing here blocks. */
#ifndef ERGON_JOBS_FEED_H
#define ERGON_JOBS_FEED_H

#include "base/counter.h"
#include "server/jobs/core/job.h"

enum {
    FEED_TEXT_MAX = 256, /* a longer text is cut */
    FEED_EXTRA = 128,    /* bytes of names and texts, for each event of the ring */
    FEED_CURSOR_SIZE = 40
};

/* What happened: an enum job_event, or one of these. */
enum feed_kind {
    FEED_FORGOTTEN = JOB_EVENT_COUNT,
    FEED_QUEUE_PAUSED, /* these three are of a queue, and of no job */
    FEED_QUEUE_RESUMED,
    FEED_QUEUE_DRAINING,
    FEED_CRON_PAUSED, /* and these two of a cron */
    FEED_CRON_RESUMED,
    FEED_ACTOR_STARTED, /* and these three of an actor */
    FEED_ACTOR_STOPPED,
    FEED_ACTOR_DROPPED,
    FEED_ACTOR_TYPE_CHANGED, /* of a type of actors */
    FEED_BATCH_ENDED,        /* of a batch; the text says how */
    FEED_KIND_COUNT
};
_Static_assert(FEED_KIND_COUNT <= 32, "a set of kinds has a bit for each");

static inline bool feed_kind_is_of_cron(unsigned kind)
{
    return kind == FEED_CRON_PAUSED || kind == FEED_CRON_RESUMED;
}
static inline bool feed_kind_is_of_actor(unsigned kind)
{
    return kind >= FEED_ACTOR_STARTED && kind <= FEED_ACTOR_TYPE_CHANGED;
}
static inline bool feed_kind_is_of_batch(unsigned kind)
{
    return kind == FEED_BATCH_ENDED;
}
const char *feed_kind_name(unsigned kind);
/* A set of kinds, one bit each: that of this name; that by which a job comes to this state.  0: no
 * kind of the feed has the name, no event tells of the state. */
uint32_t feed_kinds_named(struct span name);
uint32_t feed_kinds_of_state(struct span state);

/* As it is read; the spans are valid until the next event is appended. */
struct feed_event {
    uint64_t seq;
    uint64_t at;             /* Unix ns */
    uint64_t id;             /* 0: of a queue, a cron, an actor or a batch */
    struct span method;      /* of the job, or of the cron's; the queue's name; empty: none */
    struct span cron, actor; /* its name; empty: of none */
    struct span batch;       /* its id as text; likewise */
    struct span tenant, key; /* empty: none */
    struct span text;        /* how it ended, or what the history says */
    uint32_t attempt;
    uint8_t kind;   /* enum feed_kind */
    uint8_t reason; /* enum job_reason; of a wait */
};

struct feed_record;
struct feed_tenant;

/* Zeroed: it keeps nothing, and nothing is appended. */
struct feed {
    struct feed_record *records; /* `room` of them, a power of two */
    uint64_t room;
    uint64_t epoch;                       /* of this start alone */
    uint64_t next;                        /* the number of the next event */
    uint64_t floor;                       /* the oldest is not below, though there is room for it */
    uint64_t extra;                       /* bytes of keys and texts that are kept */
    struct feed_tenant *gone, *gone_last; /* of tenants that the table has forgotten */
    counter shown_events, shown_bytes;    /* appended since the start; that it takes; any thread */
};

/* The last `count` events, rounded up to a power of two; 0: none.  False without memory: it is as
 * if zeroed. */
bool feed_init(struct feed *feed, uint32_t count, uint64_t epoch);
void feed_fini(struct feed *feed); /* behind the tenants */

/* Appends an event of the job.  Without memory its key and text are lost, or the name of its
 * tenant. */
void feed_add(struct feed *feed, const struct job *job, unsigned kind, uint64_t at, uint8_t reason,
              struct span text);
/* Of a queue. */
void feed_add_queue(struct feed *feed, const struct job_queue *queue, unsigned kind, uint64_t at);
/* Of a cron of this name, whose tasks are of this method.  Nothing without memory. */
void feed_add_cron(struct feed *feed, struct tenant *tenant, struct span name, struct span method,
                   unsigned kind, uint64_t at);
/* Of an actor, or of a type: then the tenant is NULL.  Nothing without memory. */
void feed_add_actor(struct feed *feed, struct tenant *tenant, struct span name, struct span text,
                    unsigned kind, uint64_t at);
/* Of a batch, with its id as text, and how it ended.  Nothing without memory. */
void feed_add_batch(struct feed *feed, struct tenant *tenant, struct span id, struct span text,
                    uint64_t at);
/* A tenant is freed: its name (tenant->fed, or NULL) stays as long as events have it. */
void feed_tenant_gone(struct feed *feed, struct feed_tenant *fed);

/* The number of the first that is kept; `next`: none is. */
static inline uint64_t feed_oldest(const struct feed *feed)
{
    uint64_t kept = feed->next > feed->room ? feed->next - feed->room : 0;
    return kept > feed->floor ? kept : feed->floor;
}
/* The event of this number, which is between feed_oldest() and `next`; false: it is `next`. */
bool feed_get(const struct feed *feed, uint64_t seq, struct feed_event *out);

/* --- Cursors: the epoch, and the number of the next event --- */

struct feed_cursor {
    uint64_t epoch; /* 0: none */
    uint64_t seq;
};
const char *feed_cursor_text(struct feed_cursor cursor, char buf[static FEED_CURSOR_SIZE]);
bool feed_cursor_parse(struct span text, struct feed_cursor *out); /* false: it is none */

#endif
