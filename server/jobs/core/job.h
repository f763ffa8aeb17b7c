/* One job: a submitted task, from its submission until it is forgotten; and the lists that it can
 * be in.  Thread: the jobs'.  Nothing here blocks.
 *
 * A million jobs wait on a normal day.  So what most jobs do not have is in `more`, which exists
 * only when one of its fields is needed. */
#ifndef ERGON_JOBS_JOB_H
#define ERGON_JOBS_JOB_H

#include <ergon/ao.h>

#include "base/blob.h"
#include "base/hash_table.h"
#include "base/list.h"
#include "base/span.h"
#include "proto/traceparent.h"
#include "server/jobs/core/claim.h"
#include "server/jobs/core/job_spec.h"

struct board_place;
struct job;
struct history;
struct message;
struct job_queue;
struct job_table;
struct waiter;
struct task;
struct task_sends;
struct tenant;

/* The state of a job before its first transition. */
enum { JOB_NEW = JOB_STATE_COUNT };

/* Intrusive, doubly linked, first in first out. */
struct job_list {
    struct job *first, *last;
    uint32_t count;
};

void job_list_push(struct job_list *list, struct job *job); /* at the end */
/* By arrival, behind those that arrived as early; searched from `near`, or from the first. */
void job_list_insert(struct job_list *list, struct job *job, struct job *near);
struct job *job_list_pop(struct job_list *list); /* NULL when empty */
void job_list_remove(struct job *job);           /* from its list; in none a no-op */

/* What depends on what: one edge per id of `after` and `after_any` that is still open. */
struct dependency {
    struct job *waits;
    struct job *on;             /* NULL: it has ended */
    struct dependency *prev_on; /* edges to the same job; before the first: the last */
    struct dependency *next_on; /* NULL: it is the last */
    bool any;                   /* however it ends */
};

/* All that one job waits for, in one block: so each edge goes without a look at the others. */
struct dependencies {
    uint32_t count, room;
    uint32_t open; /* those with `on`: at least one */
    struct dependency of[];
};

/* A name that a job is found by, in one of the tables of keys; see keys.h. */
struct key_link {
    struct hash_link link; /* first */
    struct job *job;
    struct span tenant, scope, name; /* in memory that the job owns, or its tenant */
    const void *of;                  /* the actor within which it counts; NULL: none */
};

/* How an attempt, or the whole, ended. */
struct job_result {
    struct blob *result; /* raw, a reference; NULL: none, or too large to keep, see `cut` */
    bool cut;
    char *code; /* malloc'ed, together with the text; NULL: no error */
    char *text;
};

/* The trace that a job belongs to, as it was submitted with it: it is passed on to what runs its
 * attempts, shown to clients, and written with its options.  What a running attempt was given of it
 * stays as it is until that has returned. */
struct job_trace {
    struct trace_link link;
    struct trace_link passed;    /* what the current attempt was given */
    uint64_t queued;             /* Unix ns: when it joined its queue; 0: that wait was traced */
    bool ended;                  /* the span of its end was made, or an earlier process did */
    char text[TRACEPARENT_SIZE]; /* its context */
    char state[];                /* its tracestate */
};

/* What few tasks have.  Spans lie in the job's body, or in its message. */
struct job_more {
    struct block message;          /* in which the body lies, too; none: it has memory of its own */
    struct key_link key, coalesce; /* name.len 0: none */
    struct claim claim;            /* of its limit and its rate; `arrived`: for this attempt */
    LIST_ENTRY(job_more) late;     /* of its limit, while an orphan of it has permits of that */
    uint32_t limit_max, rate;      /* as its spec has them */
    ao_time rate_per;
    struct dependencies *after; /* NULL: it waits for nothing, or for nothing more */
    struct dependency *dependents;
    struct job *next_releasing; /* while `releasing`: in the scheduler's list */
    uint64_t *after_ids;        /* as its spec has them, for the store: `after`, then `after_any` */
    uint64_t after_failed;      /* the first of them that did not end well; 0: none */
    uint32_t after_count, after_any_count;
    bool is_late;   /* it is in `late` of its limit */
    bool releasing; /* it has ended, and its dependents are being released */
    bool settled;   /* `after` counts no more: it was tried again by hand; so in the file, too */
    bool names_results;      /* its parameters do: sched/result_refs.h */
    bool holds_results;      /* those tasks count it in `readers` */
    bool checkpoint_unsaved; /* no write of its row has it yet */
    bool sends_refused;      /* by the store: its end is written without them */
    uint8_t losses;   /* of workers that had it, one after another, as outcome.h counts them */
    uint8_t lost;     /* how many workers they were; both at most 255, 0: its last was not lost */
    uint8_t hardens;  /* JOB_HARDENING: the enum job_durable that it is to have */
    uint32_t waiters; /* submissions and calls that share a coalesced run */
    uint32_t calls;   /* of these, calls: they end with the process */
    uint32_t readers; /* open jobs that name its result, once for each time: it is not forgotten */
    struct blob *checkpoint; /* of its attempts, for the next one; raw; NULL: none was kept */
    struct task_sends *sent; /* by its last attempt, to be written with its end; NULL: nothing */
    struct blob *filled;   /* the parameters with the results that they name; NULL: not made yet */
    struct job_keep joins; /* what submissions want of which the write is under way; 0: nothing */
    struct job_policy policy;
    uint64_t progress_done, progress_total;
    char *progress_text; /* malloc'ed */
    uint64_t watchers;
    struct job_trace *trace; /* NULL: it belongs to none */
};

enum job_flag {
    JOB_HAS_PERMIT = 1,     /* it has the permits that it wants of its limit */
    JOB_HAS_TOKEN = 2,      /* it has a token of its rate, and no start has used it yet */
    JOB_AWAITS_ROW = 4,     /* it goes on when the end of its last attempt is on disk */
    JOB_SUBMITTING = 8,     /* its first row is being committed */
    JOB_ENDING = 16,        /* its end is being committed: nobody sees it yet */
    JOB_CANCEL = 32,        /* it is to be cancelled when its attempt returns */
    JOB_CRON = 64,          /* a cron made it */
    JOB_FOREGROUND = 128,   /* task.call made it: it ends with its last waiter */
    JOB_ENQUEUED = 256,     /* it is in the fair queue of its pool */
    JOB_DIRTY = 512,        /* it has changed since the write that is on its way was made */
    JOB_UNSAVED = 1024,     /* its last write failed, and is tried again */
    JOB_QUARANTINED = 2048, /* it has the one place that there is for suspects */
    /* It was read back after its end, and its history lacks what its row tells: see
     * history_complete(). */
    JOB_NOT_REPLAYED = 4096,
    /* A write is to make it as durable as `hardens` says, and submissions that joined it wait for
     * that: see harden() in submit.c. */
    JOB_HARDENING = 8192,
    JOB_FROM_MEMORY = 16384, /* while it hardens: before, it was in no file */
    JOB_REWRITE = 32768      /* its options have changed since a write of them was made */
};

/* What has happened to a job, and is still to be acted upon.  job_set_state() and its neighbours
 * record effects; effects_apply() (effects.h) applies them, in this order. */
enum job_effect {
    EFFECT_HISTORY = 1,      /* events were added: they are stored, and its watchers see them */
    EFFECT_WRITE = 2,        /* its row is to say something else than the last write */
    EFFECT_SAVED = 4,        /* its first row came back: its submitters are answered */
    EFFECT_CANCEL_SAVED = 8, /* a write that may hold its cancel came back: that is answered */
    EFFECT_ENDED = 16,       /* waiters are answered, dependants released, it is kept for a time */
    EFFECT_TIMER = 32,       /* its next time may be another */
    EFFECT_FORGET = 64,      /* nobody knows of it: it is forgotten as soon as it may be */
    EFFECT_GONE = 128        /* it has left the table: its row and its memory go */
};

/* The rows of a job in the store, by the last write that came back. */
enum job_saved {
    JOB_SAVED_NOTHING,
    JOB_SAVED_GONE, /* it has ended, and has none any more */
    JOB_SAVED_ENDED,
    JOB_SAVED_OPEN,
    JOB_SAVED_FIRST /* it is open, and has no row of its life */
};

struct job {
    struct ao timer; /* sleeps until the next time that counts: due, deadline, timeout, keep */
    struct job *prev, *next;           /* in `list` */
    struct job_list *list;             /* the list that it is in; NULL: none */
    uint64_t arrival;                  /* its number among all that joined a queue; 0: before all */
    struct job *all_prev, *all_next;   /* all jobs, by id */
    struct job *open_prev, *open_next; /* open: those of its queue, by id; open_jobs.h */
    union {
        struct hash_link by_id; /* in the table; an id is its own hash */
        struct {
            struct hash_link *id_next;
            uint64_t id;
        };
    };
    struct job *next_effect; /* in the table's list of jobs with effects */
    struct job_queue *queue; /* of its method, in the same table */
    struct tenant *tenant;
    uint8_t *body;              /* parameters, then the names of `more`: behind it, or malloc'ed */
    struct job_more *more;      /* NULL: nothing of it */
    struct history *history;    /* NULL: nothing but its submission */
    struct job_result *end;     /* of the last attempt, or of the whole; NULL: none */
    struct waiter *waits;       /* operations that wait for it; the service's */
    struct task *attempt_task;  /* of the current attempt, while it is out; else NULL */
    struct board_place *places; /* of its attempts on the board; NULL: none */
    uint64_t created;           /* Unix ns */
    /* DELAYED: when it is queued; queued: since when it may go on, 0: since its submission, or
     * before all others; ended: when it is forgotten */
    ao_time due;
    ao_time deadline;     /* of the whole, while it is open; AO_NEVER */
    uint64_t deadline_at; /* the same as Unix ns, which is shown and stored; 0: none */
    ao_time timeout;      /* of one attempt, ns; AO_NEVER */
    /* Out: the timeout of that attempt, or, until its begin is known, when it is looked for that;
     * AO_NEVER. */
    ao_time until;
    uint64_t started; /* Unix ns; 0: not yet */
    union {
        uint64_t ended; /* Unix ns; of a job that has ended, or is ending (JOB_ENDING) */
        /* Of others: since when the next attempt could begin but for its turn, a pause, executors,
         * limits and rates; 0: it could not, or has begun. */
        ao_time ready;
    };
    uint32_t params_len, body_len;
    uint32_t attempt;       /* the number of the last attempt that has begun */
    uint32_t row_attempt;   /* what the last write says of that */
    uint32_t saved_attempt; /* up to this one each is over, and the file knows it */
    uint32_t failures;      /* that the retries are counted by */
    uint32_t retries;
    uint16_t orphans; /* attempts that are out and do not count any more */
    uint16_t flags;   /* enum job_flag */
    uint16_t ran_by;  /* worker of the attempt `attempt`: its slot in the table's worker_labels */
    uint8_t pending;  /* writes on their way that point into it: 0 or 1; 2 at a stop */
    uint8_t effects;  /* enum job_effect; 0: it is in no list of effects */
    uint8_t state;    /* enum job_state, or JOB_NEW; only job_set_state() writes it */
    uint8_t reason;   /* enum job_reason; likewise */
    uint8_t priority;
    uint8_t level;   /* queued: its priority; out: the highest one that it went before */
    uint8_t durable; /* enum job_durable: what its spec wants, as far as it can be had */
    uint8_t ending;  /* JOB_ENDING: the state that is being committed */
    uint8_t row;     /* what the last write says of its state, see job_row_state(); JOB_NEW: none */
    uint8_t saved;   /* enum job_saved */
    uint8_t counted; /* what the file counts it as, with what is on its way; JOB_NEW: not yet */
    uint8_t save_error;   /* EFFECT_SAVED, EFFECT_CANCEL_SAVED: enum store_error, of that write */
    uint8_t crashes;      /* of the server while it ran; at most 255 */
    uint8_t looks : 4;    /* times that the attempt that is out was found not to have begun */
    uint8_t in_batch : 1; /* it is a member of a batch: member.h */
    uint8_t is_followed : 1; /* an operation has joined that wants its history as it grows */
    uint8_t is_message : 1;  /* to an actor: struct message is behind it (message.h) */
    uint8_t is_held : 1;     /* its first row goes with others: journal_hold() */
};

/* Bodies of up to so many bytes are behind the job, in steps of so many. */
enum {
    JOB_BODY_STEP = 32,
    JOB_BODY_IN_PLACE = 512,
    JOB_CELLS = JOB_BODY_IN_PLACE / JOB_BODY_STEP + 3 /* a message has a step more, or two */
};

/* The kind of cell for a job with such a body behind it. */
static inline uint32_t job_cells(size_t body)
{
    return (uint32_t)((body + JOB_BODY_STEP - 1) / JOB_BODY_STEP);
}

static inline struct span job_params(const struct job *job)
{
    return span_of(job->body, job->params_len);
}

static inline bool job_is(const struct job *job, unsigned flags)
{
    return (job->flags & flags) != 0;
}

static inline void job_mark(struct job *job, unsigned flags)
{
    job->flags = (uint16_t)(job->flags | flags);
}

static inline void job_unmark(struct job *job, unsigned flags)
{
    job->flags = (uint16_t)(job->flags & ~flags);
}

/* Its options, or the number of those that share its run, have changed: the next write has it. */
static inline void job_rewrite(struct job *job)
{
    if (job->durable != DURABLE_NONE)
        job_mark(job, JOB_REWRITE);
}

/* Is it open, with no end under way? */
static inline bool job_is_open(const struct job *job)
{
    return (job->state == JOB_NEW || job_state_open((enum job_state)job->state)) &&
           !job_is(job, JOB_ENDING);
}

/* What its row is to say of its state: RUNNING while an attempt is out and known to have begun, the
 * end that is under way, or QUEUED for all else that is open, since the place of
 * that is found again when it is read back. */
static inline enum job_state job_row_state(const struct job *job)
{
    if (job_is(job, JOB_ENDING))
        return (enum job_state)job->ending;
    if (job->state == JOB_RUNNING || job->state == JOB_PARKED)
        return JOB_RUNNING;
    return job_state_open((enum job_state)job->state) || job->state == JOB_NEW
               ? JOB_QUEUED
               : (enum job_state)job->state;
}

/* How often workers that had it were lost since one answered, as life/outcome.h counts. */
static inline uint32_t job_losses(const struct job *job)
{
    return job->more ? job->more->losses : 0;
}

/* After a power cut an attempt that the file knows nothing of may have begun; it is one at most,
 * and of a job that the file says is open, if none begins unless this is so.  While it hardens its
 * row may say so already. */
static inline bool job_may_begin(const struct job *job)
{
    return (!durable_is_awaited(job->durable) && !job_is(job, JOB_HARDENING)) ||
           (job->saved_attempt >= job->attempt && job->saved >= JOB_SAVED_OPEN);
}

/* How many bytes the job takes, with everything that hangs on it. */
size_t job_bytes(const struct job *job);

/* "CODE: text" of how it ended, or its last attempt; empty without an error. */
void job_end_text(const struct job *job, char text[JOB_LINE_MAX]);

/* Frees `end`. */
void job_result_free(struct job *job);

/* The extras of a job, made with their defaults when it has none; NULL without memory. */
struct job_more *job_more(struct job *job);

/* Sets the part of a spec that the extras hold. */
void job_more_set(struct job_more *more, const struct job_spec *spec);
/* What the job was submitted with, the defaults included. */
struct job_policy job_policy(const struct job *job);

#endif
