/* What holds a job back by a key: limits (at most `max` permits of a key are taken) and rates (at
 * most `max` starts of a key in any window of `per`).  Thread: the jobs'.  Pure: the time is passed
 * in.
 *
 * A job takes the permits of its limit and a token of its rate in one, when it is picked to begin;
 * before, it has neither.  One that finds its limit or its rate closed waits in a *line*, with all
 * that have the same limit, rate and pool of executors.  A line is a heap: priority first, which
 * rises with the time as it does in the queue, then arrival.  It waits at one *gate*: at that of
 * its limit while the limit is closed, else at that of its rate.
 *
 * When a gate opens, the best of all lines there is *called*: it goes back into the queue, and
 * takes permit and token when it is picked.  A call reserves nothing.  Another job that is picked
 * earlier, since it has the higher priority, or since executors of its pool are free, may begin in
 * its place; then the called one waits again, at its former place.  For each pool as many are
 * called as may begin; so no limit is idle while a job waits for it.  If the best of a gate finds
 * the other gate of its line closed, the whole line moves there, by one step, however long it is.
 *
 * A limit and the semaphore of its name share their permits: the claims of clients wait in a line
 * of their own (semaphores/holds.h), under the same order.  lines.h says what happens in lines. */
#ifndef ERGON_JOBS_LIMITS_H
#define ERGON_JOBS_LIMITS_H

#include "base/list.h"
#include "server/jobs/core/job.h"
#include "server/jobs/sched/start_window.h"

struct scheduler;
struct semaphore;

/* In place of the index of a pool, for the line of the claims of holds. */
enum { POOL_OF_HOLDS = UINT32_MAX };

struct limit_table; /* of limits, rates and lines */

/* Limits and rates that are to be written to the file: persist/ does it. */
struct row_notes {
    LIST_HEAD(, limit) limits;
    struct rate *rates;
    /* The rates that have a row, the oldest row first: a stop writes them in this order, so that
     * few pages of the file change in each commit. */
    TAILQ_HEAD(rate_rows, rate) rows;
    bool any; /* false: both are empty.  It is looked at again and again */
};

/* What a limit, or a rate, is found by. */
struct limit_key {
    struct hash_link link; /* first */
    struct span name;      /* behind the limit, or rate, in its memory */
    struct tenant *tenant; /* of a rate: counted by admission.c */
};

/* The lines of one pool out of which jobs were called that have not been picked.  While no executor
 * takes jobs of the pool, what they were called for is not kept for them. */
struct pool_calls {
    bool idle;  /* no worker is there */
    bool rests; /* pool_rest.h */
    LIST_HEAD(, line) lines;
};

/* The lines of one pool at a gate. */
struct gate_side {
    uint32_t pool; /* its index; POOL_OF_HOLDS */
    const struct pool_calls *calls;
    /* Permits, or tokens, that the jobs want which were called out of its lines and have not taken
     * them.  These jobs are in the queue, or on their way to it. */
    uint32_t called;
    struct pairing_heap lines;
};

/* Where lines wait.  It has a side for each pool of which there was a line, in no order. */
struct gate {
    struct limit *limit; /* whose gate it is: one of the two */
    struct rate *rate;
    struct gate_side *sides; /* `few`, or malloc'ed */
    uint32_t side_count, side_room;
    uint64_t called; /* of all sides */
    struct gate_side few[2];
};

struct limit {
    struct limit_key key; /* first */
    struct gate gate;
    struct semaphore *semaphore; /* of its name; NULL: there is none */
    uint32_t max;                /* as the newest spec of this key says, or sem.create */
    bool kept; /* sem.create made it, and alone sets `max`: its semaphore stays without holds */
    uint8_t durable; /* enum job_durable: of the most durable of the jobs and holds that named it */
    bool moved;      /* `max` was another once: the newest job that is left may say the old one */
    bool listed;     /* in `limits` of the notes: its row is to be written, or removed */
    uint64_t row;    /* that says `max`: persist/rates.h; 0: none.  The limit stays for it */
    /* Unix ns, while rows are read back: the time of `max`, which older jobs do not change.  0: no
     * row said it. */
    uint64_t row_at;
    LIST_ENTRY(limit) to_note;
    LIST_HEAD(, job_more) late; /* jobs whose attempts were given up, and have not returned */
    uint32_t taken; /* more than `max` while those run that began before it was lowered */
    uint32_t refs;  /* lines */
};

/* A crash would forget a start that the file does not know of.  So starts are promised to the file
 * before they happen: as many as jobs wait, and where many start, some more.  After a crash the
 * promised starts count as of the restart, and the others as of their time. */
struct rate_note {
    bool kept;       /* there is a file */
    uint32_t writes; /* on their way; the rate does not go meanwhile */
    bool stale;      /* there were starts since the last write */
    bool listed;     /* in `rates` of the notes: it is to be written */
    uint32_t
        promised;   /* starts to come that the file knows of, the tokens that are held included */
    uint32_t asked; /* while a write is on its way: what `promised` is when it is back */
    uint64_t row;   /* 0: it was never written */
    TAILQ_ENTRY(rate) by_row; /* with a row: in `rows` of the notes */
    uint64_t row_at;          /* Unix ns, while rows are read back: as that of a limit */
    ao_time told_at;
    struct rate *next; /* in that list */
};

struct rate {
    struct limit_key key; /* first */
    struct gate gate;
    struct start_rate of;       /* as the newest spec of this key says */
    struct start_window starts; /* within `of.per` */
    size_t weighed;             /* bytes of it that are counted; admission.c */
    uint32_t held;              /* tokens that jobs have, and have not used */
    uint32_t refs;              /* lines; without any it stays until its last start is past */
    uint8_t durable;       /* enum job_durable: of the most durable of the jobs that named it */
    bool moved;            /* `of` was another once, as that of a limit */
    bool untold;           /* and that has not been written yet */
    struct rate_note note; /* what the file knows of it */
    struct ao timer;       /* sleeps until the next start leaves the window */
    struct scheduler *scheduler; /* whose timer it is; NULL: not made yet */
};

/* The claims of one limit, rate and pool. */
struct line {
    struct hash_link link;          /* first */
    struct limit *limit;            /* NULL: none */
    struct rate *rate;              /* NULL: none */
    uint32_t pool;                  /* its index */
    uint32_t limit_side, rate_side; /* the sides of its pool, at both gates */
    uint32_t refs;                  /* jobs that name it, and its semaphore */
    uint32_t count;                 /* of `claims` */
    uint32_t called;                /* jobs out of it that have not been picked */
    struct pool_calls *calls;       /* of its pool */
    LIST_ENTRY(line) by_calls;      /* there, while some are called */
    struct pairing_heap claims;     /* that wait */
    struct pairing_node place;      /* at `at`, while a claim waits */
    struct gate *at;                /* NULL: no claim waits */
    ao_time step;                   /* of a priority, in time that was waited */
};

/* The seed is secret, since keys come from strangers.  `ageing`: so long a wait counts as one step
 * of priority; 0: never.  Pools from `workers_from` on are idle until admission_set_idle() says
 * otherwise.  The notes are borrowed.  NULL without memory. */
struct limit_table *limit_table_new(const uint64_t seed[2], ao_time ageing, uint32_t workers_from,
                                    struct row_notes *notes);
/* All lines and rates were dropped; NULL is fine. */
void limit_table_free(struct limit_table *t);
/* The rate behind this one, in no order but each once; behind NULL the first.  NULL: there is none.
 */
struct rate *limit_table_rate(const struct limit_table *t, const struct rate *behind);

/* The line of these, made if there is none; the caller has a reference.  An empty name: no limit,
 * or no rate; one has a name.  The numbers of the newest spec count from now on for all of its
 * key: the caller calls the claims that may go on now.  The timer and scheduler of a new rate are
 * zero: admission.c makes them.  NULL without memory. */
struct line *line_get(struct limit_table *t, struct tenant *tenant, const struct job_spec *spec,
                      uint32_t pool, ao_time now);
/* Made if there is none; stays as long as the table.  NULL without memory. */
struct pool_calls *limits_pool_calls(struct limit_table *t, uint32_t pool);
/* A limit without lines whose row is read back, or the one of this name; NULL without memory. */
struct limit *limit_get(struct limit_table *t, struct tenant *tenant, struct span name,
                        uint32_t max);
/* Lists the limit for the file: its row says something else, or is not needed any more. */
void limit_note(struct limit_table *t, struct limit *limit);
/* Takes the next limit out of that list; NULL: there is none. */
struct limit *limit_next_to_note(struct row_notes *notes);
/* Frees a limit without lines whose row is gone. */
void limit_drop(struct limit_table *t, struct limit *limit);
/* The rate, the limit of this name; NULL: there is none. */
struct rate *rate_find(const struct limit_table *t, const struct tenant *tenant, struct span name);
struct limit *limit_find(const struct limit_table *t, const struct tenant *tenant,
                         struct span name);
/* The line of the holds of this limit, which is made with so many permits if there is none; the
 * caller has a reference.  NULL without memory. */
struct line *line_of_holds(struct limit_table *t, struct tenant *tenant, struct span name,
                           uint32_t max);
/* The line of the same limit and rate for another pool, made if there is none; the caller has a
 * reference to that, too.  NULL without memory. */
struct line *line_of_pool(struct limit_table *t, const struct line *line, uint32_t pool);
/* Gives the reference back.  The last one frees the line, and its limit with the last line of that;
 * the rate stays, also without lines, until rate_drop(). */
void line_unref(struct limit_table *t, struct line *line);
/* The rate of this name, made if there is none, without a reference; NULL without memory. */
struct rate *rate_get(struct limit_table *t, struct tenant *tenant, struct span name,
                      struct start_rate of, ao_time now);
/* Takes a rate that nothing refers to out of the table; its memory stays until rate_free(). */
void rate_drop(struct limit_table *t, struct rate *r);
void rate_free(struct rate *r); /* its timer is finished */
size_t rate_bytes(const struct rate *r);

#endif
