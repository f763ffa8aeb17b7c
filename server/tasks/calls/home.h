/* The inside of a home, for the files of this folder; its face is call.h.
 *
 * Thread: the home's activator, but where a function says otherwise.  A home owns the cells of its
 * tasks and the records of its calls. */
#ifndef ERGON_TASKS_HOME_H
#define ERGON_TASKS_HOME_H

#include "base/counter.h"
#include "base/slab.h"
#include "server/tasks/calls/call_records.h"
#include "server/tasks/task.h"

struct recorder;
struct snapshot;
struct stepped;
struct tasks_shared;

struct home {
    struct tasks_shared *shared; /* borrowed */
    struct activator *activator;
    struct stepped *own; /* the stepped executor of this loop; NULL: there is none */
    uint32_t index;
    bool short_cut; /* may this home take calls itself? */
    /* What is run in place, or was last: valid while a task has no record of its call. */
    const struct call_request *serving;
    uint32_t stop_requests;    /* that it has seen to */
    uint64_t numbers;          /* tasks made */
    struct recorder *recorder; /* of its activator, which owns it */
    call_ended_fn *ended;
    call_opened_fn *opened; /* NULL: nobody asks */
    void *arg;
    struct slab slab;
    struct calls calls;
    struct task_list unwanted; /* live on here, and were flagged since their executor's last step */
    /* Attempts of jobs that are back, by next: the manager takes them. */
    struct task *returned, **returned_end;

    struct ao intake; /* takes what comes home */
    struct ao_handle *handle;
    struct ao_port *port;   /* of this activator, for the semaphores and mailboxes of modules */
    struct lane to_manager; /* not open in the manager's own home */
    struct lane **inlets;   /* the lanes that lead here */
    uint32_t inlet_count;
    struct snapshot *snapshots; /* of the stepped executors, for the choice; NULL: not needed */

    alignas(CACHE_LINE) counter short_cuts;
    counter managed, done, failed, cancelled, late, busy;
};

/* A call with everything that its owner may not choose. */
struct call_plan {
    const struct call_request *request;
    call_ended_fn *ended;
    void *arg;
    const struct task *parent;      /* of a nested call; else NULL */
    bool message;                   /* nested: it has TASK_MESSAGE */
    const struct trace_link *trace; /* of one that is not nested: that it belongs to; or NULL */
};

/* Set-up; `own`, `ended` and the lanes are for the caller, which knows the others.  0, or -1
 * without memory: then too home_fini() must follow. */
int home_init(struct home *h, struct tasks_shared *shared, uint32_t index,
              struct activator *activator, uint32_t inlets);
void home_fini(struct home *h); /* tasks that are left in its lane are freed */

/* A lane that leads here is opened: `l` is borrowed.  0, or -1 without memory. */
int home_add_inlet(struct home *h, struct lane *l, uint32_t capacity, struct activator *producer);

/* --- How a call begins (call.c) --- */

/* Sends a call through the manager.  ERGON_OK, or BUSY (the common queue is full; never of a nested
 * call), NO_EXECUTOR, NO_WORKER, MEMORY: then `ended` is not called. */
enum ergon_error home_send(struct home *h, struct method *m, const struct call_plan *plan);

/* A task of this home without a call record, the caller's; `params` stays borrowed.  NULL without
 * memory. */
struct task *home_make_task(struct home *h, struct method *m, struct span params, ao_time deadline);

/* Accepts a task of an outside thread, which the manager took from its inbox: a record is made.
 * False: there was no memory, its owner was answered MEMORY, and the task is gone. */
bool home_adopt(struct home *h, struct task *t);

/* --- How it ends (home.c) --- */

/* A task is back: its call is answered unless it was already, and the task is freed.  An attempt of
 * a job is put into `returned`, and the manager goes on. */
void home_receive(struct home *h, struct task *t);

/* Its call is answered, unless it was already; the task stays the caller's. */
void home_answer(struct home *h, struct task *t);

void home_free_task(struct home *h, struct task *t);

/* The same of one that is no other's than this home's, from its slab. */
static inline void home_free_own(struct home *h, struct task *t)
{
    assert(t->owner == TASK_OF_HOME);
    task_end(t);
    slab_give(&h->slab, t);
}

/* A task that lives on at this loop's executor was flagged: its next step finds it at once. */
void home_unwant(struct home *h, struct task *t);

/* The next of `returned`, the caller's; NULL: none. */
struct task *home_take_returned(struct home *h);

/* Any thread: look at the stop requests. */
void home_ask(struct home *h);

extern const struct ao_class home_timer_class; /* of the records' timers */

#endif
