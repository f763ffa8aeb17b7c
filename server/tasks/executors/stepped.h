/* The stepped executor: lives on a loop that also serves connections, and runs cooperative
 * handlers.
 *
 * Brief tasks run one after the other; one that parks makes room for the next, and so does one that
 * has used up its quantum and goes on: see the head of stepped.c.
 *
 * Thread: the loop's, for all of it.  A task that is passed in is borrowed for the call, but what
 * lives on after stepped_run_in_place() is the executor's. */
#ifndef ERGON_TASKS_EXECUTOR_STEPPED_H
#define ERGON_TASKS_EXECUTOR_STEPPED_H

#include <ergon/port.h>

#include "server/tasks/executors/executor.h"

struct behind;
struct home;

struct stepped {
    struct executor base;     /* first */
    struct lane in, *out;     /* its own */
    struct home **homes;      /* all, by index; borrowed */
    struct home *home;        /* of its loop */
    struct ao ao;             /* receives what the manager gives, and starts it */
    uint32_t active;          /* started tasks that neither wait nor take turns */
    ao_time held_since;       /* when `active` left 0; valid while it is not */
    uint64_t round;           /* the last one in which it looked how much it has run; from 1 */
    uint64_t turned;          /* the last one in which a task began to take turns */
    uint64_t busy_before;     /* its busy_ns, as that round began */
    struct round_hook rested; /* armed while its home takes no call itself */
    struct behind **parties;  /* of tasks that take turns, by their account's index; owned */
    uint32_t party_room;
    struct task_list started; /* all that live on, but for those in home's `unwanted` */
    struct task_list checked; /* those of them at which it has looked already, while `checks` */
    bool checks;              /* it looks at all, a few a step: which are flagged? */
    bool check_again;         /* and, since one was flagged meanwhile, once more */
};

/* Set-up.  0, or -1 without memory: then nothing is left to take apart. */
int stepped_init(struct stepped *s, struct tasks_shared *shared, uint32_t index,
                 struct home **homes);
void stepped_fini(struct stepped *s);

/* Makes its class: what is said of a task of this method names the method. */
void stepped_make_class(struct method *m);

/* Nothing runs, nothing waits to, and there is room to park: a task of this method can be run in
 * place.  Beside tasks that take turns only one that is known to be brief: another may be better
 * off elsewhere. */
bool stepped_idle(const struct stepped *s, const struct method *m);

/* Runs the first step of a task of this loop's home, here and now.  True: it is over, and the
 * caller's again.  False: it lives on here, and will go home; the caller may still touch it until
 * it returns to its activator. */
bool stepped_run_in_place(struct stepped *s, struct task *t);

/* Any thread, for itself, in a signal handler too: the task whose step is under way, or NULL. */
const struct task *stepped_running_here(void);

/* A task that was run in place lives on, and has its tally from now on. */
void stepped_charge(struct task *t);

/* Ends a task that lives on here, as if it had been cancelled. */
void stepped_drop(struct stepped *s, struct task *t);

/* After the activator's run has ended: tasks that live on here are cleaned up, and freed. */
void stepped_clear(struct stepped *s);

/* The executor as the tasks know it. */
static inline struct stepped *stepped_of(struct executor *e)
{
    return ao_of(e, struct stepped, base);
}

#endif
