/* The task manager: owner of the common queue, it gives each task to an executor.
 *
 * One active object; where it lives is topology.  It never blocks and does no I/O.
 *
 * Thread: the manager's activator, for all of it but set-up.  What others may ask of it is in
 * manager_inbox.h. */
#ifndef ERGON_TASKS_MANAGER_H
#define ERGON_TASKS_MANAGER_H

#include "server/tasks/calls/home.h"
#include "server/tasks/manager/task_queue.h"
#include "server/tasks/shared.h"

struct share;

/* What is given: executors have room for the one where they have none for the other. */
/* GIVE_PLACE: a call that is likely to park or to take turns, where somewhere the places for such
 * are scarce. */
enum giving { GIVE_CALL, GIVE_NESTED, GIVE_JOB, GIVE_PLACE };

/* The executors of one kind, as the manager sees them. */
struct manager_kind {
    enum ergon_kind kind;
    struct task_queue queue;
    struct executor **executors; /* borrowed */
    struct snapshot *snapshots;  /* one each, of the current pass */
    struct share *shares;        /* one each; PLACEMENT_WEIGHT, else NULL */
    uint32_t *holders;     /* whose task each was given last; of the blocking kind, else NULL */
    ao_time crowded_since; /* since when somebody waits who holds none; 0: nobody does */
    uint32_t count;
    uint32_t common;      /* so many of them take anybody's; the rest: holders.h */
    uint32_t shared;      /* so many of `shares` were looked at last */
    int last;             /* who was chosen last */
    bool source_has_work; /* the source of jobs may have one */
    bool job_next;        /* its turn, when both have tasks */
    bool full;            /* what the source's full() was called with last */
    bool places_full; /* somewhere there is no place to park or to take turns but the reserve; or
                       * holders.h has a say */
    bool passed_over; /* of the blocking kind: who comes now is behind one who found no room */
    bool turns_full;  /* somewhere so many jobs take turns that no more are to begin there */
    bool cut;         /* a pass goes on in the next step: it has set lines aside */
    bool second_look; /* which began behind the announcement */
    enum giving bounds_for; /* for what the bounds in `snapshots` are */
};

struct manager {
    struct tasks_shared *shared; /* borrowed */
    struct activator *activator;
    struct home **homes; /* by index; borrowed.  The manager's own is the last */
    uint32_t home_count;
    struct ao ao;
    struct ao
        patience;     /* asks when an executor has been awaited for long enough; PLACEMENT_WEIGHT */
    struct home home; /* of jobs' attempts, and of the tasks of outside threads */
    struct lane **inlets; /* from the homes of loops */
    uint32_t inlet_count;
    struct lane *out; /* by index of home: tasks that need not run */
    struct manager_kind kinds[KINDS];
    uint32_t stop_requests; /* that it has seen to */

    /* Of jobs. */
    bool source_woken;               /* the source said so since the last look */
    bool jobs_stopped;               /* nothing is taken from the source any more */
    uint32_t attempts_out;           /* given and not returned */
    bool jobs_drained_told;          /* that none is out any more */
    void (*jobs_drained)(void *arg); /* set before STOP_DRAIN_JOBS */
    void *jobs_drained_arg;
};

/* Set-up, in two steps: first the object, so that the homes' lanes can lead here; then, once homes
 * and executors stand, the rest.  0, or -1 without memory: then too manager_fini() must follow. */
int manager_init(struct manager *m, struct tasks_shared *shared);
int manager_connect(struct manager *m, struct home **homes, uint32_t count);
void manager_fini(struct manager *m); /* tasks that are left in its queues are freed */

#endif
