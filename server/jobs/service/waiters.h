/* Who waits for which job: operations that stand at jobs until something happens to these.
 *
 * An operation that waits stands in the list of each job that it waits for, once, until it leaves
 * all of them to be answered; so none of these jobs is forgotten before.  What an event means to
 * an operation its class says (operation.h): nothing here knows the kinds.
 *
 * All on the jobs' thread.  The operation that is waiting is owned by the jobs. */
#ifndef ERGON_JOBS_WAITERS_H
#define ERGON_JOBS_WAITERS_H

#include <ergon/ao.h>

#include "server/store/store.h"

struct job;
struct jobs;
struct operation;

/* An operation at a job: one in a list of the job's, and in one of the operation's. */
struct waiter {
    struct operation *op;
    struct job *job;
    struct waiter *prev_of_job, *next_of_job;
    struct waiter *next_of_op;
    uint32_t outcome; /* of a submission: the last outcome that names the job, plus 1; 0: none */
    bool told;        /* of a submission: its outcomes know how the row of the job was written */
};

/* A place in the list of operations that are to be answered; zeroed: it stands in none. */
struct waiters_due {
    struct waiters_due *prev, *next;
};

/* The part of an operation that waits; zeroed. */
struct waiting {
    struct waiters_due due;
    struct waiter *at; /* the operation's list; the first is its `first_waiter` */
    uint32_t open;     /* how many of what it waits for have not come */
    bool held;         /* the operation waits for something */
    bool over;         /* its time is over, or the server stops */
};

/* The waiters of a job learn that its history grew, in as many steps as it takes: thousands may
 * follow one job.  Zeroed: no pass is under way. */
struct waiters_pass {
    struct job *job;
    struct waiter *next; /* the first that has not learned of it */
    bool again;          /* it grew again meanwhile: another pass follows */
};

/* The part of one that waits for a limited time; zeroed. */
struct long_poll {
    struct jobs *jobs;
    struct ao timer;
};

/* --- For operations --- */

/* Makes the operation stand at the job, if it does not yet.  It joins all that it waits for in one
 * go; the first takes no memory.  False without memory: it stands where it stood before. */
bool waiters_join(struct operation *op, struct job *job);

/* The operation stands at no job any more, and its time does not run. */
void waiters_leave(struct operation *op);

/* Starts the time of a long poll that has joined; AO_NEVER: it has no end.  False: the time is 0 or
 * the server stops, and the operation is to be answered now. */
bool waiters_poll(struct jobs *jobs, struct operation *op, ao_time timeout);

/* Has the `due` of a long poll called: now, if there is time in this step, and otherwise in one of
 * the next; in between, it may be told more that has happened.  So a thousand that wait for the
 * same job hold nobody else up. */
void waiters_due(struct jobs *jobs, struct operation *op);

/* A `dropped` of operation classes: leaves, and answers CANCELLED. */
void waiters_drop(struct jobs *jobs, struct operation *op);

/* --- For the jobs' object --- */

void waiters_init(struct jobs *jobs);
/* Goes on with the pass, and calls `due`, while there is time in this step.  True: nothing is left.
 */
bool waiters_go_on(struct jobs *jobs);

/* --- What has happened: the operations that it concerns learn it, and most are answered --- */

/* The job has ended, and everybody may see it. */
void waiters_job_ended(struct jobs *jobs, struct job *job);

/* The first row of the job came back.  With an error the caller drops the job itself. */
void waiters_job_saved(struct jobs *jobs, struct job *job, enum store_error error);

/* The row that says that it is cancelled came back, or could not be made. */
void waiters_cancel_saved(struct jobs *jobs, struct job *job, enum store_error error);

/* In this step and the next ones, where many wait; at once, if another job's pass is under way. */
void waiters_history_grew(struct jobs *jobs, struct job *job);

/* The job is forgotten now: who still waits for it in a long poll is answered as things stand. */
void waiters_job_goes(struct jobs *jobs, struct job *job);

/* The server stops: long polls are answered as things stand; with `cancel` operations that wait
 * for what is being cancelled are refused. */
void waiters_server_stops(struct jobs *jobs, bool cancel);

/* Nothing happens any more: whoever still waits is answered DRAINING. */
void waiters_dismiss(struct jobs *jobs);

#endif
