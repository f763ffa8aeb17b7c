/* What every executor is, whatever its class: a lane that the manager fills, lanes that lead home,
 * and counters.  It knows neither manager nor home: it posts to the manager's inbox, and a task
 * that has ended goes into a lane.
 *
 * outstanding = given - left.  The manager alone writes `given`; the executor alone writes `left`,
 * the number of tasks that have ended, wait parked, or take turns (it goes down again when one
 * resumes).
 *
 * Thread: the executor's, but where a function says otherwise.  A task that is passed in is the
 * executor's; after executor_give_back() and executor_send_home() it is not. */
#ifndef ERGON_TASKS_EXECUTOR_H
#define ERGON_TASKS_EXECUTOR_H

#include <time.h>

#include "base/counter.h"
#include "server/tasks/attempt.h"
#include "server/tasks/manager/placement.h"
#include "server/tasks/method_times.h"

struct pool;
struct tasks_shared;

enum {
    EXECUTOR_LANE_IN = 64, /* tasks; more overflow on the manager's side */
    EXECUTOR_BESIDE = UINT32_MAX
};

/* Which tasks an executor takes. */
enum executor_accepting {
    ACCEPTS_ALL,
    ACCEPTS_NESTED, /* blocking: its handler waits, and its thread runs nested calls of others */
    ACCEPTS_NONE    /* blocking: its handler waits for a nested call, or for permits */
};

/* Of one method, at one executor; for people.  Its executor writes them. */
struct method_figures {
    counter living;  /* tasks that have begun and live on */
    counter parked;  /* of those, that wait for something */
    counter steps;   /* or, of a blocking handler, runs that have begun */
    counter busy_ns; /* in the handler */
    counter cpu_ns;  /* processor time of that; of a blocking handler */
    counter done, failed;
    struct times_slot times;
};

struct executor;

/* What differs between executors, for code that has any of them. */
struct executor_class {
    const char *name;    /* "blocking" */
    ao_time turns_after; /* a task holds it for so long at most, and only takes turns then */
    /* Any thread: ns that the next task that it is given is expected to take; 0: not known. */
    uint64_t (*expects)(const struct executor *e);
    /* Any thread: the task of that number, which this one may run, was flagged.  NULL: the object
     * that it is looks at all its tasks. */
    void (*notify)(struct executor *e, uint64_t number);
    /* The manager's thread: an attempt that it was given has returned, or never will.  NULL: it
     * need not know. */
    void (*attempt_back)(struct executor *e);
    /* The thread that takes apart, in this order.  It is to begin nothing more; NULL: it runs on an
     * activator, whose run has ended. */
    void (*stop)(struct executor *e);
    /* Has it come to an end, within `limit` ns?  NULL with `stop`. */
    bool (*join)(struct executor *e, ao_time limit);
    /* What lives on there is cleaned up and freed; NULL: nothing does. */
    void (*clear)(struct executor *e);
    void (*fini)(struct executor *e); /* all but its memory */
};

struct executor {
    /* Read-only once started. */
    const struct executor_class *cls;
    struct tasks_shared *shared; /* borrowed */
    uint32_t index;              /* in the plan */
    struct executor_plan plan;
    struct pool *pool;           /* whose group lists it; borrowed */
    struct activator *activator; /* of a stepped one; NULL: a plain thread */
    struct ao_handle *handle;    /* of a stepped one's object, which owns it */
    struct waker *waker;         /* of a blocking one's thread, which owns it; else NULL */
    struct trace *trace;         /* NULL: no trace */
    /* The lanes belong to the maker of the executor, which may use them for others, too. */
    struct lane *in;     /* from the manager */
    struct lane *out;    /* by index of home; not open where home is on the same thread */
    uint32_t home_count; /* of `out` */

    struct mpsc returns; /* of a blocking one: nested calls that come home */

    /* Manager's side. */
    /* Orders nothing: the manager's own count, which others read for a choice (relaxed). */
    alignas(CACHE_LINE) _Atomic uint32_t given;
    uint16_t label;  /* of a worker: what the source of jobs calls it; 0: nothing */
    counter bound;   /* in force */
    counter stalled; /* `left` and 1, while it is stalled; else 0 or an older number (stalls.h) */
    uint64_t seen;   /* the same as of the last look; 0: it had no task */

    /* Executor's side. */
    /* Release in executor_publish(), so that what the task did is before it; pairs with the acquire
     * in executor_outstanding().  With the fence there it is half of the argument in manager.c. */
    alignas(CACHE_LINE) _Atomic uint32_t left;
    /* Tasks that wait, and that take turns; of the latter, attempts of jobs. */
    counter parked, turning, turning_jobs;
    /* The method whose handler runs.  At its end it is stored with release, behind the figures of
     * the run, and add_running() (tasks_info.c) reads it with acquire.  Elsewhere it orders nothing
     * (relaxed): a name for reports; methods live as long as the process. */
    _Atomic(struct method *) running;
    counter running_since; /* ns; of a blocking executor, as those that follow */
    /* ns: the handler has used what its thread's processor time is above this; 0: not measured. */
    counter cpu_mark;
    /* Of its thread's processor time, or 0 while it has none.  Orders nothing (relaxed): it is set
     * once, and read for people. */
    _Atomic clockid_t cpu_clock;
    /* Number of the task whose handler runs, or 0.  Its executor stores it before it looks at the
     * task's flags; a thread that flags a task does so before it looks here.  All four are
     * sequentially consistent, so at least one sees the other. */
    counter running_number;
    counter running_job; /* id of the submitted task that it is an attempt of, or 0 */
    /* Number of a task that ran here as it was flagged; any thread writes it.  Orders nothing
     * (relaxed). */
    counter unwanted_number;
    /* enum executor_accepting.  Orders nothing (relaxed): what is given to one that accepts nothing
     * is given back. */
    _Atomic uint8_t accepting;
    /* The watchdog has seen that its loop does not finish its round: it is given nothing. Orders
     * nothing (relaxed), as `accepting`. */
    _Atomic bool away;
    /* Of one that is an object: release in executors_notify(), acquire in its step: flags set
     * before are seen. */
    _Atomic bool notified;
    counter busy_ns, service_ns, hand_over_ns, long_steps;
    uint32_t runs;                  /* executor's own: picks the tasks that are measured */
    struct method_figures *figures; /* by index of the method, of modules; its own */
};

struct executor_group {
    struct executor **list; /* borrowed by its readers */
    uint32_t count;
};

/* Set-up, once `cls`, `in` and `out` are set: all but `handle` and `waker`, and the opening of the
 * lanes.  `activator` NULL: it runs on a plain thread.  0, or -1 without memory: then too
 * executor_fini() must follow.  EXECUTOR_BESIDE: it is in no plan, has no pool and no figures; that
 * takes no memory. */
int executor_init(struct executor *e, struct tasks_shared *shared, uint32_t index,
                  struct activator *activator);
void executor_fini(struct executor *e); /* all but the lanes */

/* --- Any thread --- */

uint32_t executor_outstanding(const struct executor *e);
void executor_snapshot(const struct executor *e, struct snapshot *out);
/* It has a task that has not ended for long: manager/stalls.h. */
bool executor_is_stalled(const struct executor *e);
void executor_name(const struct executor *e, char *buf, size_t size); /* "blocking 3" */
ao_time executor_clock(const struct executor *e);                     /* read now */

/* Tells the executors of the group that task `number`, which one of them may run, was flagged.  The
 * caller has set the flag with a sequentially consistent operation before.  Each executor then
 * checks whether what its tasks wait for is still wanted; a blocking one does so only if it runs a
 * task of that number. */
void executors_notify(const struct executor_group *group, uint64_t number);

/* A nested call comes home to the blocking executor whose handler made it. */
void executor_return(struct executor *caller, struct task *t);

/* --- Its own thread --- */

/* `left` changes by `n`, and a manager that waits for room hears of it; with 0 of another change
 * that makes room. */
void executor_publish(struct executor *e, int n);

/* A task that was not started goes back to the manager, where it is the first in its queue; that
 * there is room for another is published before. */
void executor_give_back(struct executor *e, struct task *t);

/* A task goes to its home, which is on another thread: by lane, or to the caller's thread. */
void executor_send_home(struct executor *e, struct task *t);

/* May this task, which was taken from the lane, be run?  No: nobody wants it any more; or it is an
 * attempt that was withdrawn. */
static inline bool executor_begin(const struct executor *e, struct task *t)
{
    if (task_flagged(t))
        return false;
    return __builtin_expect(!task_is(t, TASK_ATTEMPT), 1) || attempt_claim(t, executor_clock(e));
}

/* The time of its round; of one that runs on a plain thread, read now. */
static inline ao_time executor_now(const struct executor *e)
{
    return e->activator ? activator_now(e->activator) : executor_clock(e);
}

/* "executor 2 run task 7" */
void executor_trace_line(const struct executor *e, const char *what, const struct task *t);

static inline void executor_trace(const struct executor *e, const char *what, const struct task *t)
{
    if (__builtin_expect(e->trace != NULL, 0))
        executor_trace_line(e, what, t);
}

#endif
