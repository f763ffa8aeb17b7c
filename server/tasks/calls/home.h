/* The insides of a home, for the files of this folder. */
#ifndef ERGON_TASKS_HOME_PARTS_H
#define ERGON_TASKS_HOME_PARTS_H

#include "base/counter.h"
#include "base/slab.h"
#include "server/tasks/calls/call_records.h"
#include "server/tasks/task.h"

struct stepped;
struct tasks;

struct home {
    struct tasks *tasks;
    struct activator *activator;
    struct stepped *own; /* the stepped executor of this loop; NULL: there is none */
    uint32_t index;
    bool short_cut;         /* may this home take calls itself? */
    bool draining;          /* takes no new calls */
    uint32_t stop_requests; /* of the whole, that it has obeyed */
    uint64_t numbers;       /* tasks made */
    call_ended_fn *ended;
    void *arg;
    struct slab slab;
    struct calls calls;

    struct ao intake; /* takes what comes home */
    struct ao_handle *handle;
    struct ao_port *port;   /* of this activator, for the semaphores and mailboxes of modules */
    struct lane to_manager; /* unused by the manager's own home */
    struct lane **inlets;   /* the lanes that lead here */
    uint32_t inlet_count;
    struct snapshot *snapshots; /* of the stepped executors, for the choice; NULL: not needed */

    alignas(CACHE_LINE) counter short_cuts;
    counter managed, done, failed, cancelled, late, busy;
    /* Release: the drained home's last call is over; acquire in the manager's look. */
    _Atomic bool quiet;
};

/* A call with everything that its owner may not choose. */
struct call_order {
    const struct call_request *request;
    call_ended_fn *ended;
    void *arg;
    const struct task *parent; /* of a nested call; else NULL */
};

int home_init(struct home *h, struct tasks *tasks, uint32_t index, struct activator *activator,
              uint32_t inlets);
void home_fini(struct home *h);

/* Sends a call through the manager.  ERGON_OK, or why not: then nobody is told. */
enum ergon_error home_order(struct home *h, struct method *m, const struct call_order *order);

uint64_t home_next_number(struct home *h);

/* A task of this home without a call record; `params` stays borrowed.  NULL without memory. */
struct task *home_make_task(struct home *h, struct method *m, struct span params, ao_time deadline);

/* Opens a record for a task that will end later.  False: no memory, or too many calls. */
bool home_open_call(struct home *h, struct task *t, const struct call_order *order, bool managed);

/* Accepts a submitted task that the manager took from its inbox: a record is made, or its owner is
 * told at once and false returned. */
bool home_adopt(struct home *h, struct task *t);

/* A task is back: its call is answered unless it was already, and the task is freed. */
void home_receive(struct home *h, struct task *t);

/* The call is over; its owner is told, its record void. */
void home_end(struct home *h, struct call_record *record, struct outcome *outcome);

/* Its call is answered, unless it was already; the task stays the caller's. */
void home_answer(struct home *h, struct task *t);

/* The outcome of an error that is not a task's own. */
void outcome_of(enum ergon_error error, struct outcome *out);

/* Asks a home from any thread to look at what tasks_drain() and tasks_cancel_all() want. */
void home_ask(struct home *h);

extern const struct ao_class home_intake_class, home_timer_class;

/* What a home is called in traces: "loop 0", "manager". */
const char *home_name(const struct home *h, char *buf, size_t size);

#endif
