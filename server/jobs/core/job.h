/* One kept task, and the lists that it can stand in.  Ledger's thread.
 *
 * A million of them wait on a normal day: what most tasks do not have stands in `more`, which is
 * there only when one of its fields is. */
#ifndef ERGON_JOBS_JOB_H
#define ERGON_JOBS_JOB_H

#include <ergon/ao.h>

#include "base/span.h"
#include "server/jobs/core/job_spec.h"

struct operation;
struct job;
struct history;
struct jobs;
struct job_queue;
struct operation_wait;
struct limit;
struct bucket;
struct task;
struct tenant;

/* Intrusive, doubly linked, first in first out. */
struct job_list {
    struct job *first, *last;
    uint32_t count;
};

void job_list_push(struct job_list *list, struct job *job); /* at the end */
void job_list_push_front(struct job_list *list, struct job *job);
struct job *job_list_pop(struct job_list *list); /* NULL when empty */
void job_list_remove(struct job *job); /* from the list that it stands in; of none a no-op */

/* What depends on what: one edge per id of `after` that is still open. */
struct dependency {
    struct job *waits, *on;
    struct dependency *next_of_waits;     /* edges of who waits */
    struct dependency *prev_on, *next_on; /* edges of who is waited for */
};

/* A name in one of the key tables; see keys.h. */
struct key_link {
    struct job *entry;
    struct key_link *next; /* in its bucket */
    uint64_t hash;
    struct span tenant, scope, name; /* in memory that the job owns, or its tenant */
};

/* How an attempt, or the whole, ended. */
struct job_result {
    uint8_t *result; /* raw; NULL: none, or too large to keep, see `cut` */
    size_t result_len;
    bool cut;
    char *code; /* malloc'ed, together with the text; NULL: no error */
    char *text;
};

/* What few tasks have.  Spans lie in the job's body. */
struct job_more {
    struct key_link key, coalesce; /* name.len 0: none */
    struct limit *limit;
    struct bucket *bucket;
    uint32_t limit_max, rate; /* as ordered */
    ao_time rate_per;
    struct dependency *after; /* still open */
    struct dependency *dependents;
    struct job *next_releasing; /* while `releasing`: in the ledger's list */
    uint64_t *after_ids;        /* as ordered, for task.get and the store */
    uint64_t after_failed;      /* the first of them that did not end well; 0: none */
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

enum job_flag {
    JOB_HAS_PERMIT = 1,     /* of its limit */
    JOB_HAS_TOKEN = 2,      /* of its bucket: taken, and not yet used by a start */
    JOB_STARTING = 4,       /* its start is being committed */
    JOB_SUBMITTING = 8,     /* its row is being committed; not given to anybody before, if fsync */
    JOB_ENDING = 16,        /* its end is being committed: nobody sees it yet */
    JOB_CANCEL = 32,        /* to be cancelled when its attempt returns */
    JOB_CRON = 64,          /* made by a cron */
    JOB_FOREGROUND = 128,   /* task.call: ends with its last waiter */
    JOB_ENQUEUED = 256,     /* stands in the pick of its kind */
    JOB_DIRTY = 512,        /* changed since the operation that is on its way was made */
    JOB_UNSAVED = 1024,     /* its last operation failed: it is tried again */
    JOB_SUSPECT = 2048,     /* has the one place that there is for suspects */
    JOB_NOT_REPLAYED = 4096 /* read back, ended: what its row tells is not in its history yet */
};

struct job {
    struct ao timer; /* sleeps until the next time that counts: due, deadline, timeout, keep */
    struct job *prev, *next;         /* in `list` */
    struct job_list *list;           /* where it stands: queue, wait list, starting; NULL: none */
    struct job *older, *younger;     /* queued: in the order in which its level was entered */
    struct job *all_prev, *all_next; /* all jobs, by id */
    struct job *id_next;             /* in its bucket of the id table */
    uint64_t id;
    struct jobs *jobs;
    struct job_queue *queue; /* of its method */
    struct tenant *tenant;
    uint8_t *body;           /* parameters, then the names of `more`: behind it, or malloc'ed */
    struct job_more *more;   /* NULL: nothing of it */
    struct history *history; /* NULL: nothing but its submission */
    struct job_result *end;  /* of the last attempt, or of the whole; NULL: none */
    struct operation_wait *waits; /* asks that wait for it */
    struct task *attempt_task;    /* of the current attempt, while it is out; else NULL */
    uint64_t created;             /* Unix ns */
    ao_time due;                  /* DELAYED: when it is queued */
    ao_time deadline;             /* of the whole; AO_NEVER */
    ao_time timeout;              /* of one attempt, ns; AO_NEVER */
    ao_time until;                /* of the attempt that is out: its timeout; AO_NEVER */
    uint64_t started, ended;      /* Unix ns; 0: not yet */
    ao_time entered;              /* when it came to its level of the queue */
    uint32_t params_len, body_len;
    uint32_t attempt;  /* the number of the last attempt */
    uint32_t failures; /* that the retries are counted by */
    uint32_t retries;
    uint16_t strays;  /* attempts that are out and do not count any more */
    uint16_t pending; /* store operations on their way that point into it: 0 or 1 */
    uint16_t flags;   /* enum job_flag */
    uint8_t state;    /* enum job_state, JOB_NEW; only job_set_state() writes it */
    uint8_t reason;   /* enum job_reason; likewise */
    uint8_t priority;
    uint8_t level;   /* queued: its priority with ageing */
    uint8_t durable; /* enum job_durable, that was asked for and can be had */
    uint8_t ending;  /* JOB_ENDING: the state that is being committed */
    uint8_t counted; /* by the file, with what is on its way: JOB_NEW not, QUEUED open, an end */
    uint8_t crashes; /* of the server while it ran; at most 255 */
};

/* Bodies of up to so many bytes stand behind the job, in steps of so many. */
enum {
    JOB_BODY_STEP = 32,
    JOB_BODY_IN_PLACE = 512,
    JOB_CELLS = JOB_BODY_IN_PLACE / JOB_BODY_STEP + 1
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

/* Bytes that it takes, everything that hangs on it included. */
size_t job_bytes(const struct job *job);

#endif
