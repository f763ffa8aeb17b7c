/* The stepped executor: lives on a loop that also serves connections, and runs cooperative
 * handlers.
 *
 * One task runs at a time; one that asks to be stepped again goes on in the next round, and one
 * that parks makes room for the next.  All on the loop's thread, but for stepped_notify(). */
#ifndef ERGON_TASKS_EXECUTOR_STEPPED_H
#define ERGON_TASKS_EXECUTOR_STEPPED_H

#include <ergon/port.h>

#include "server/tasks/executors/executor.h"

struct stepped {
    struct executor base;
    struct home *home; /* of its loop */
    struct ao ao;      /* receives what the manager gives, and starts it */
    struct ao_handle *handle;
    struct ao_port *port;  /* of its activator, for handlers */
    uint32_t active;       /* started tasks that do not wait */
    struct task *started;  /* all that were started and live on; by next and prev */
    struct task *unwanted; /* those of them that were flagged since the last step */
    /* Release in stepped_notify(), acquire in its step: the flags set before are seen. */
    _Atomic bool notified;
};

int stepped_init(struct stepped *s, struct tasks *tasks, uint32_t index,
                 const struct executor_plan *plan, struct home *home);
void stepped_fini(struct stepped *s);

extern const struct ao_class stepped_class; /* of the object that receives */

/* Makes its class: what is said of a task of this method names the method. */
void stepped_make_class(struct method *m);

/* Nothing runs, nothing waits to, and there is room to park: a task can be run in place. */
bool stepped_idle(const struct stepped *s);

/* Runs the first step of a task of this loop's home, here and now.  True: it is over, and the
 * caller's again.  False: it lives on here, and will go home; the caller may still touch it until
 * it returns to its activator. */
bool stepped_run_in_place(struct stepped *s, struct task *t);

/* The executor as the tasks know it. */
static inline struct stepped *stepped_of(struct executor *e)
{
    return ao_of(e, struct stepped, base);
}

/* Ends a task that lives on here, as if it had been cancelled. */
void stepped_drop(struct stepped *s, struct task *t);

/* A task of this loop's home, which lives on here, was flagged: it is found without a search. */
void stepped_unwant(struct stepped *s, struct task *t);

/* Any thread: there may be parked tasks whose result nobody wants any more. */
void stepped_notify(struct stepped *s);

/* After the activator's run has ended: tasks that live on here are cleaned up. */
void stepped_clear(struct stepped *s);

#endif
