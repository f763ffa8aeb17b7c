/* What the owner gave this node to run.  To the task manager each call is an attempt, as those of
 * the jobs of this process, of which a front has none: so a handler has the same functions, limits
 * and executors, whichever node's task it runs.
 *
 *   node worker, on its loop             the manager's thread
 *     node_calls_run() ----------------> waits in the queue of its pool
 *                                        is given to an executor
 *     noted() <------------------------- its handler reported progress, or a part of its result
 *     ended() <------------------------- it has returned
 *     node_calls_cancel() -------------> is withdrawn, or flagged
 *     node_calls_drop() ---------------> the same of all; nothing of them is passed on any more
 *
 * It replaces the source of jobs (server/tasks/job_source.h), and passes to that source what is
 * about other attempts.
 *
 * Thread: the loop's, but for what says otherwise.  Nothing blocks. */
#ifndef ERGON_FRONT_NODE_CALLS_H
#define ERGON_FRONT_NODE_CALLS_H

#include <ergon/ao.h>

#include "proto/traceparent.h"
#include "server/tasks/job_source.h"

struct activator;
struct call_board; /* server/tasks/call_board.h */
struct node_calls;
struct tasks;

/* One request of the owner.  Spans are borrowed during the call. */
struct node_call_request {
    uint64_t number; /* of the request; the answer has it */
    struct method *method;
    uint32_t count;                 /* of its parameters, but the context */
    struct span values;             /* these, raw, one behind the other */
    uint64_t shared_at, shared_len; /* or where they are in memory that is shared; 0: nowhere */
    struct span params; /* these: an array, which stays there until the answer; else empty */
    uint64_t id;        /* of the task; 0: a plain call */
    struct attempt_batches batches;
    uint32_t attempt;        /* 1 or more */
    ao_time deadline;        /* absolute; AO_NEVER */
    struct trace_link trace; /* without a context: it belongs to none */
    struct span checkpoint;  /* raw; empty: there is none */
};

/* Valid during the call. */
struct node_call_note {
    uint64_t number;
    enum note_kind kind;  /* `bytes`: of progress its text, else a raw value */
    uint64_t done, total; /* of progress; total 0: not known */
    struct span bytes;
};

/* Called on the loop's thread, never from within a function of this header. */
struct node_calls_port {
    /* The submissions of the attempt, as they go to the owner before its response: whole messages,
     * valid during the call.  False: the owner would not know what they are; then the attempt fails
     * with `too_old`. */
    bool (*sends)(void *arg, struct span message);
    const char *too_old;
    /* The response to the request, whole: `head` and `tail`, valid during the call. */
    void (*ended)(void *arg, struct span head, struct span tail);
    void (*noted)(void *arg, const struct node_call_note *note);
    /* The server stops, and no call begins any more; then: no attempt runs any more. */
    void (*stops)(void *arg);
    void (*drained)(void *arg);
};

struct node_calls_options {
    struct tasks *tasks;         /* outlives it; has its source of jobs */
    struct activator *activator; /* of the loop */
    const struct registry *registry;
    uint32_t most; /* calls at a time */
    /* Of a process of a module: the place of each call; borrowed.  NULL: none. */
    struct call_board *board;
    const struct node_calls_port *port;
    void *arg; /* of the port */
};

/* NULL without memory.  Set-up, before the manager runs. */
struct node_calls *node_calls_new(const struct node_calls_options *options);
/* After tasks_clear(); NULL is fine. */
void node_calls_free(struct node_calls *c);

/* False without memory.  It ends with `ended`, unless it is dropped before; at once with AGAIN
 * while there are as many as may be. */
bool node_calls_run(struct node_calls *c, const struct node_call_request *rq);
/* Nobody waits for it any more.  `late`: since its deadline passed.  A number that is not known is
 * ignored.  False without memory. */
bool node_calls_cancel(struct node_calls *c, uint64_t number, bool late);
/* The session is lost.  Those that begin from now on are of the next one. */
void node_calls_drop(struct node_calls *c);

/* The manager's thread: for tasks_drain_jobs(), whose `drained` it becomes. */
void node_calls_drained(void *calls);

/* Calls of this session that have not ended, and what they hold, in bytes. */
uint32_t node_calls_count(const struct node_calls *c);
uint64_t node_calls_bytes(const struct node_calls *c);

#endif
