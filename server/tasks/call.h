/* Calls at their home: where the tasks of one activator are made, come back to, and are freed.
 *
 * A request becomes a task.  Home keeps a small call record for it (raw message id, whose it is);
 * the task names the record by index and generation, so the answer can come before the end: the
 * first of result, deadline, cancel and shutdown is the answer, and what comes later is freed in
 * silence.
 *
 * Thread: the home's activator, for all of it.  The records are the home's; what a request points
 * to is borrowed for the call of home_call(), its `owner` and `list` until the call has ended. */
#ifndef ERGON_TASKS_CALL_H
#define ERGON_TASKS_CALL_H

#include <ergon/ao.h>

#include "proto/envelope.h"
#include "proto/errors.h"
#include "server/tasks/registry.h"

struct home;
struct tally; /* server/accounts/tally.h */
struct task;
struct trace_context; /* proto/traceparent.h */
struct trace_link;

/* How a call ended. */
struct outcome {
    enum ergon_error error; /* ERGON_OK: result; else code and text */
    /* Raw MessagePack; nil when a handler set none.  Of a failed attempt of a job: the traceback
     * that its worker sent, cleaned text; empty: none. */
    struct span result;
    const char *code; /* the handler's own code, or the error's name */
    struct span text; /* for people */
    /* Of a large result: the malloc'ed block that `result` lies in.  A receiver that keeps it sets
     * this to NULL and frees it with free().  NULL: the result is valid during the call only. */
    void *block;
};

/* A call in flight: the record.  The owner may read all of it and may write `tag`. */
struct call {
    struct call *prev, *next; /* the owner's list of calls in flight */
    struct call **list;       /* its head, the owner's; NULL: it is in none */
    void *owner;
    struct task *task; /* its own until call_ended_fn has returned; NULL: it never had one */
    const char *name;  /* of its method, where it never has a task: constant, the owner's */
    ao_time began;     /* of one that does not end at once */
    uint32_t index, generation;
    uint64_t held; /* bytes; 0 where nobody is charged */
    uint8_t msgid[MSGID_MAX];
    uint8_t msgid_len; /* 0: a notification */
    uint8_t tag;       /* the owner's */
};

struct call_request {
    void *owner;
    struct call **list; /* head of the owner's list; new calls are put at its front */
    struct span msgid;  /* copied */
    struct span params; /* raw; copied unless the task ends within home_call() */
    ao_time deadline;   /* absolute, of the home's clock; AO_NEVER */
    /* The account that it is charged to; of this loop, borrowed during the call.  NULL: none. */
    struct tally *tally;
    const struct trace_link *trace; /* that it belongs to, with what it calls; NULL: to none */
    uint8_t tag;
};

/* Called exactly once for every accepted call, possibly within home_call() (then `call` is not in
 * the list any more, as always here).  The record is freed afterwards. */
typedef void call_ended_fn(void *arg, struct call *call, struct outcome *outcome);

/* Called within home_call() for a call that does not end there: call->held says what it holds until
 * it ends, of what its tally is charged.  The call is in no list yet. */
typedef void call_opened_fn(void *arg, struct call *call);

/* ERGON_OK: the call is accepted, and `ended` has been or will be called.  Else it is refused, and
 * `ended` is not called: BUSY (the common queue is full), NO_EXECUTOR, NO_WORKER (no worker offers
 * it now), MEMORY. */
enum ergon_error home_call(struct home *h, struct method *m, const struct call_request *request);

/* Has this principal (NULL: nobody) as many calls in flight as it may?  Then home_call() answers
 * BUSY to all but what is over at once. */
bool home_calls_full(const struct tally *whose);

/* The number of the task that is made here next, if none is refused before it. */
uint64_t home_next_number(const struct home *h);

/* Calls of this home that begin from now on end by this function. */
void home_end_by(struct home *h, call_ended_fn *ended);

/* Within call_ended_fn: the number of its task, as traces and the flight recorder have it, and the
 * name of its method; 0 and NULL where it has none. */
uint64_t call_task_number(const struct call *call);
const char *call_method_name(const struct call *call);
/* Likewise the trace that it belongs to; NULL: none. */
const struct trace_context *call_trace(const struct call *call);

/* Answers CANCELLED to the owner now, and the record is void; the task is dropped if it still
 * waits, flagged if it runs. */
void home_cancel(struct home *h, struct call *call);

/* The owner wants no answer any more: the same, but the outcome is CANCELLED for book-keeping only.
 */
void home_abandon(struct home *h, struct call *call);

/* A call into the list that it names, and out of it; those of calls that never come to a home are
 * linked by their owner. */
void call_link(struct call *c);
void call_unlink(struct call *c);

#endif
