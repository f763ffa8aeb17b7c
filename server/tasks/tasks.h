/* The task system: manager, executors and homes, put together from a plan, started, asked from any
 * thread, and stopped.
 *
 * Thread: set-up and tear-down on one thread while no activator runs; what may be called meanwhile
 * says "any thread".  What a plan points to is borrowed until tasks_free(). */
#ifndef ERGON_TASKS_TASKS_H
#define ERGON_TASKS_TASKS_H

#include <ergon/activator.h>

#include "server/accounts/account.h"
#include "server/tasks/call.h"
#include "server/tasks/method_times.h"
#include "server/tasks/registry.h"

struct executor;
struct tasks;
struct tracer; /* server/tracing/tracer.h */
struct worker_system;

enum { WORKERS_MAX = 10000 };

/* What the choice of an executor goes by; see placement.h. */
enum placement_policy {
    PLACEMENT_OCCUPANCY,
    PLACEMENT_LENGTH,
    PLACEMENT_PRIORITY,
    PLACEMENT_WEIGHT,
    PLACEMENT_COMPLETION
};

struct executor_plan {
    enum ergon_kind kind;
    uint32_t queue;  /* tasks: hard cap of its queue */
    bool fixed;      /* that many at a time, whatever was measured */
    uint32_t parked; /* stepped: cap of tasks that are parked or take turns */
    uint32_t turns;  /* stepped: where so many attempts of jobs take turns no more begin; 0: any */
    uint32_t loop;   /* stepped: index of the loop that it lives on */
    int core;        /* blocking: processor, -1 any */
    int priority;    /* blocking: nice of the thread; PLACEMENT_PRIORITY prefers the lower */
    uint32_t weight; /* PLACEMENT_WEIGHT: share */
    bool spare; /* blocking: at work only while it stands in for another; these are listed last */
};

struct tasks_plan {
    struct registry *registry; /* with all that modules bring */
    struct activator **loops;  /* one home each */
    uint32_t loop_count;
    struct activator *manager; /* where the manager lives: a loop, or an activator of its own */
    const struct executor_plan *executors;
    uint32_t executor_count;
    enum placement_policy policy;
    bool short_cut;
    uint32_t queue_max;                  /* tasks in the common queue, all kinds together */
    uint32_t workers_max;                /* registrations of workers; 0: WORKERS_MAX */
    uint64_t message_max;                /* bytes of a result */
    ao_time step_limit;                  /* of a handler's step; 0 none */
    bool dev;                            /* handlers are checked for more: see dev_checks.h */
    call_ended_fn *ended;                /* of the loops' homes */
    call_opened_fn *opened;              /* the same; NULL: nobody asks */
    const struct ao_clock *clock;        /* the activators'; NULL: ao_clock_monotonic */
    struct accounts *accounts;           /* of all principals; NULL: none are kept */
    struct tracer *tracer;               /* it is notified of spans; NULL: nothing is */
    const struct worker_system *workers; /* worker_system.h; NULL: there are none */
};

/* NULL, and a text in `error`: a plan without a loop or without room in the queue, an executor
 * without a queue or on a loop that is not there, no memory.  A
 * method whose kind has no executor is named in the log, and answers NO_EXECUTOR. */
struct tasks *tasks_new(const struct tasks_plan *plan, char *error, size_t size);

/* What `ended` and `opened` are given for calls of this loop's home. */
void tasks_set_owner(struct tasks *t, uint32_t loop, void *arg);
struct home *tasks_home(struct tasks *t, uint32_t loop);
/* The executor by which tasks go to the workers of this loop. */
struct executor *tasks_worker_loop(struct tasks *t, uint32_t loop);

/* Starts the threads of blocking executors, but for the spares.  0, or -1 and errno of
 * pthread_create(). */
int tasks_start(struct tasks *t);

/* The thread that called tasks_start(), about once a second while any activator is awake: names in
 * the log the blocking handlers that have outlived their tasks, and lets spares work in place of
 * their executors.  True: go on looking, even if all sleep. */
bool tasks_look(struct tasks *t);

/* Before the activators run: `crowded(arg)` is called on the manager's thread, at most every 20 ms,
 * while a principal that holds no blocking executor waits for one and a spare rests.  The thread
 * that called tasks_start() is then to call tasks_spare_called() at once: a spare begins to take
 * tasks of such principals.  True: as tasks_look(). */
void tasks_on_crowd(struct tasks *t, void (*crowded)(void *arg), void *arg);
bool tasks_spare_called(struct tasks *t);

/* Any thread: the loop does not finish its round, or does again.  While it is away, its executors
 * are given no task. */
void tasks_set_away(struct tasks *t, uint32_t loop, bool away);

/* Any thread: no attempt of a job is begun any more; `drained(arg)` is called once, on the
 * manager's thread, when none is out.  Calls go on. */
void tasks_drain_jobs(struct tasks *t, void (*drained)(void *arg), void *arg);

/* Any thread: every open call is answered CANCELLED, every running task gets the flag. */
void tasks_cancel_all(struct tasks *t);

/* After the activators' runs have ended: joins the blocking threads, waiting at most `limit` ns in
 * all, but ten seconds more for those that run no handler, in all.  Returns how many did not come
 * back; each is named in the log, with its method and how long it has run, if any.  Such a system
 * cannot be freed. */
uint32_t tasks_stop(struct tasks *t, ao_time limit);

/* After tasks_stop(), once nobody cancels a call any more: handlers with work in flight clean up.
 * From then on nothing of the source of jobs is read. */
void tasks_clear(struct tasks *t);

/* Before the activators are closed; no call is answered any more. */
void tasks_free(struct tasks *t);

/* Any outside thread of the process: adds a task; the parameters are copied.  `ended` is called on
 * the manager's thread, once; the outcome is valid during the call.  ERGON_OK, or BUSY (the
 * common queue is full), NO_METHOD, NO_EXECUTOR, NO_WORKER, MEMORY: then `ended` is not called.
 * Never blocks.
 */
enum ergon_error tasks_add(struct tasks *t, struct span method, struct span params,
                           ao_time deadline,
                           void (*ended)(void *arg, const struct outcome *outcome), void *arg);

/* --- Counters; any thread, each number by itself --- */
struct executor_info {
    char name[24]; /* "stepped 0", "blocking 3" */
    enum ergon_kind kind;
    uint32_t queue, bound, outstanding, parked, turning, weight;
    int32_t loop, core, priority;
    uint64_t done, failed, busy_ns;
    /* The method that a blocking executor runs now; of a loop's executor one whose step does not
     * return; or NULL. */
    const char *running;
    /* "ready"; "away": its loop does not finish its round; "outlived": its handler runs though
     * nobody wants the result; "stands in", "rests": a spare.  Constant. */
    const char *state;
};
/* Of a method since the start. */
struct method_info {
    const char *name;
    uint64_t running; /* tasks that have begun and do not wait, but for those in their first step */
    uint64_t parked;  /* tasks that wait for something */
    uint64_t steps; /* of brief stepped handlers an estimate; of blocking ones, and workers, runs */
    uint64_t busy_ns; /* in its handler, the runs under way included; the same.  At workers: from
                       * the request until the answer, of all slots together */
    uint64_t done, failed;
    uint64_t busy_refused; /* calls that were answered BUSY */
    bool at_workers;       /* they alone run it: */
    bool no_worker;        /* the same: none offers it now */
    uint64_t service_ns;   /* mean time of a task; 0: not known */
    /* Processor time of that: of a blocking handler by its thread's clock, without what nested
     * calls use; of brief ones an estimate.  A stepped one never waits in a step: busy_ns. */
    uint64_t cpu_ns;
    uint64_t cpu_ended_ns; /* the same of runs that have ended; it never goes down */
};
struct tasks_info {
    /* Spares that were never wanted are listed behind these. */
    uint32_t executors, queued, queue_max;
    uint64_t calls, short_cut, through_manager, done, failed, cancelled, late, busy_refused;
    enum placement_policy policy;
    bool short_cut_on;
    bool manager_on_loop;
};
void tasks_info(const struct tasks *t, struct tasks_info *out);
void tasks_executor_info(const struct tasks *t, uint32_t index, struct executor_info *out);
/* How long tasks of the method waited and ran since the start, wherever that was. */
void tasks_method_times(const struct tasks *t, uint32_t index, struct times_sum *out);
/* Those that have most tasks in the queue, or parked and taking turns: accounts_top(). */
uint32_t tasks_top(const struct tasks *t, struct account_top *out, uint32_t most);
void tasks_method_info(const struct tasks *t, uint32_t index, struct method_info *out);

#endif
