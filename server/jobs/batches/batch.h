/* Batches: tasks that belong together, and what is submitted when they have ended.
 *
 *     OPEN --> CLOSED --> ENDING --> ENDED
 *        \        \          ^
 *         +--------+--> CANCELLING
 *
 * A batch ends when it is closed and none of its members is open: then what it is to submit is
 * submitted (calls.h), and with a durable batch one group of the store has the first rows of that
 * and the row that says so (batch_rows.h).  Until its end members may be added, also to one that is
 * closed, as long as a member is open; but not to one that is being cancelled.
 *
 * From ENDING on its counts stay as they are: a member that is retried by hand then changes
 * nothing.  A batch may be a member of another one, its parent: it is counted there as one that is
 * open, and then as done, failed or cancelled.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_BATCH_H
#define ERGON_JOBS_BATCH_H

#include "base/counter.h"
#include "base/hash_table.h"
#include "base/list.h"
#include "server/jobs/core/refusal.h"
#include "server/jobs/core/walk.h"
#include "server/jobs/sched/scheduler.h"
#include "server/store/store.h"

struct jobs;
struct operation;

enum { BATCHES_MAX = 100000 };

#define BATCH_STATES(X)                                                                            \
    X(OPEN, "open")                                                                                \
    X(CLOSED, "closed") X(CANCELLING, "cancelling") X(ENDING, "ending") X(ENDED, "ended")
enum batch_state {
#define X(name, text) BATCH_##name,
    BATCH_STATES(X)
#undef X
        BATCH_STATE_COUNT
};

/* Its callbacks, in the order in which they are submitted. */
#define BATCH_CALLS(X) X(SUCCESS, "on_success") X(FAILURE, "on_failure") X(END, "on_end")
enum batch_call {
#define X(name, text) BATCH_ON_##name,
    BATCH_CALLS(X)
#undef X
        BATCH_CALL_COUNT
};
extern const char *const batch_state_names[BATCH_STATE_COUNT],
    *const batch_call_names[BATCH_CALL_COUNT];

enum { BATCH_ENDS = JOB_DEAD - JOB_DONE + 1 };
_Static_assert((int)BATCH_ENDS == (int)STORE_BATCH_ENDS, "a row has each");

/* What it has submitted. */
struct batch_sent {
    struct hash_link by_task; /* first; the hash is the id of the task; 0: not yet */
    struct batch *batch;
};

/* An operation that waits for its end. */
struct batch_watcher {
    struct batch_watcher *prev, *next;
    struct batch *at;
};

/* A member whose row goes with the next write of the batch. */
struct batch_leaver {
    uint64_t id;
    uint8_t end; /* below BATCH_ENDS */
};

struct batch {
    struct hash_link by_id;    /* first; the hash is its id */
    struct batch *prev, *next; /* all, by id */
    struct jobs *jobs;
    struct tenant *tenant;
    struct batch *parent;                /* NULL: none */
    uint32_t children;                   /* in memory: it stays as long */
    struct span calls[BATCH_CALL_COUNT]; /* behind this, in its memory; empty: none */
    size_t bytes;                        /* that it takes */
    uint64_t created, ended_at;          /* Unix ns; 0: it has not ended */
    ao_time keep;
    uint8_t state;   /* enum batch_state; batch_set_state() */
    uint8_t durable; /* enum job_durable */
    bool arrives;    /* its first row is not on disk: nobody knows it */
    bool cancelled;

    uint64_t open, ended[BATCH_ENDS]; /* members */
    uint64_t gone[BATCH_ENDS]; /* of these: they have no row any more, and the file says so */
    uint64_t forgotten;        /* members that have left the memory */
    uint64_t child_open, child_ended; /* of the members those that are batches */
    uint64_t audit_open, audit_ended; /* members as an audit that is under way counts them */

    struct batch_sent sent[BATCH_CALL_COUNT]; /* batch_set_sent() */
    struct job *held[BATCH_CALL_COUNT];       /* of these: their rows go with the next write */
    struct refusal *trouble; /* why something could not be submitted; malloc'ed; NULL */

    /* Until what was refused, here or by the store, is tried again; after its end: until it goes.
     */
    struct ao timer;
    bool due; /* it is in the list of those to be looked at */
    struct batch *next_due;

    /* --- batch_rows.h --- */
    struct batch_leaver *leaving;
    uint32_t leaving_count, leaving_room;
    uint32_t leaving_now; /* the first so many go with the write that is under way */
    uint8_t held_now;     /* bits of those of `held` that do */
    bool under_way, dirty, unsaved;
    uint8_t refused; /* writes in a row that the store refused for what they are */
    ao_time save_at; /* when such a one is tried again; 0: there is none */
    LIST_ENTRY(batch) by_unsaved;
    struct operation *riding, *waiting; /* for the write under way; for the next one; by `next` */

    struct batch_watcher *watchers;
};

struct batches {
    const struct ao_class *timer_class; /* of each batch */
    /* What OP changed of the batch is on disk, or could not be written: then one that arrives is
     * freed. */
    void (*answer)(struct batch *b, struct operation *op, enum store_error error);
    struct hash_table ids, sent; /* `sent`: what they have submitted */
    struct batch *first, *last;
    struct batch *due, *due_last;
    LIST_HEAD(, batch) unsaved;
    /* Cancels: first the children of what is cancelled, then the members. */
    bool cancels, again;
    struct batch *cancel_at;
    struct job_walk walk;
    bool walks; /* `walk` is in the list of the table */
    counter shown;
};

/* NULL: there is none of this id, or nobody knows it yet. */
struct batch *batch_find(const struct jobs *jobs, uint64_t id);

static inline uint64_t batch_sent(const struct batch *b, enum batch_call which)
{
    return b->sent[which].by_task.hash;
}
/* It was not sent before. */
void batch_set_sent(struct batch *b, enum batch_call which, uint64_t task);
/* The batch that has submitted this task; of several, which share it by its key, one; NULL: none
 * that is kept. */
const struct batch *batch_that_sent(const struct jobs *jobs, uint64_t task);

/* A new one is made of this; spans are copied. */
struct batch_spec {
    uint64_t id;
    struct span tenant;
    struct span calls[BATCH_CALL_COUNT];
    struct batch *parent;
    ao_time keep;
    uint64_t created;
    uint8_t durable;
};
/* Makes one that is open and counted at its parent.  NULL without memory. */
struct batch *batch_new(struct jobs *jobs, const struct batch_spec *spec);
/* It leaves its parent, and is freed; nothing of it is under way. */
void batch_free(struct batch *b);

/* The one function that changes its state. */
void batch_set_state(struct batch *b, enum batch_state state);

/* Sets that nothing but handlers of members adds to it; that it is cancelled. */
void batch_close(struct batch *b);
void batch_cancel(struct batch *b);

/* Its counts, or something else that it may go on by, have changed: it is looked at in a step that
 * comes soon. */
void batch_look(struct batch *b);
/* Everybody may see that it has ended. */
void batch_over(struct batch *b);
/* It was read back, and had ended; its counts are set. */
void batch_recovered_ended(struct batch *b);

/* As its parent counts it, and people see it: JOB_DONE, JOB_FAILED or JOB_CANCELLED. */
enum job_state batch_outcome(const struct batch *b);
static inline bool batch_is_frozen(const struct batch *b)
{
    return b->state >= BATCH_ENDING;
}
static inline uint64_t batch_failures(const struct batch *b)
{
    uint64_t sum = 0;
    for (unsigned end = JOB_FAILED - JOB_DONE; end < BATCH_ENDS; end++)
        sum += b->ended[end];
    return sum;
}

#endif
