/* Operations that wait for jobs, and the events of the jobs that they wait for.
 *
 * A waiting operation is in the list of each job that it waits for, until it leaves all of them to
 * be answered; no job is forgotten while its list has an operation.  The class of an operation
 * decides what an event means to it (operation.h): no code here knows the kinds.
 *
 * Thread: the jobs'.  The jobs own a waiting operation. */
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
    bool saved;       /* of a submission: job_saved() has set its outcomes */
};

/* A link in the list of operations whose `due` is to be called; zeroed: it is in no list. */
struct waiters_due {
    struct waiters_due *prev, *next;
};

/* What an operation waits for; begins zeroed. */
struct waiting {
    struct waiters_due due;
    struct waiter *at; /* the operation's list; its last element is `first_waiter` */
    uint32_t open;     /* how many of the awaited events have not happened */
    bool held;         /* the operation waits for something */
    bool over;         /* its time is over, or the server stops */
    bool postponed;    /* it was not served yet, see channel_postpone(); `due` links it */
};

/* A pass notifies the waiters of a job that its history grew, in as many steps as that takes, since
 * thousands may follow one job.  Zeroed: no pass is under way. */
struct waiters_pass {
    struct job *job;
    struct waiter *next; /* the first that was not notified yet */
    bool again;          /* the history grew again meanwhile: another pass follows */
};

/* The part of a long poll that limits its time; begins zeroed. */
struct long_poll {
    struct jobs *jobs;
    struct ao timer;
};

/* --- For operations --- */

/* Adds the operation to the job's list, unless it was the last to join it.  Its first job takes no
 * memory.  False: no memory, and nothing changed. */
bool waiters_join(struct operation *op, struct job *job);

/* Removes the operation from the lists of all its jobs, and stops its timer. */
void waiters_leave(struct operation *op);

/* Starts the timer of a long poll that has joined; AO_NEVER: it has no limit.  False: the time is 0
 * or the server stops, and the caller has to answer the operation now. */
bool waiters_poll(struct jobs *jobs, struct operation *op, ao_time timeout);

/* Calls the `due` of a long poll: now, if this step has time, and otherwise in a later step, before
 * which more events may be passed to it.  So a thousand operations that wait for the same job do
 * not delay the others. */
void waiters_due(struct jobs *jobs, struct operation *op);

/* The usual `dropped` of an operation class: leaves, and answers CANCELLED. */
void waiters_drop(struct jobs *jobs, struct operation *op);

/* --- For the jobs' object --- */

struct waiters_due *jobs_due(struct jobs *jobs); /* the head of the list of operations */
struct waiters_pass *jobs_pass(struct jobs *jobs);

void waiters_init(struct jobs *jobs);
/* Continues the pass, and calls `due` of the listed operations, while this step has time.  True:
 * nothing is left. */
bool waiters_go_on(struct jobs *jobs);

/* --- Events of jobs: each is passed to the operations that wait for the job --- */

/* The job ends soon: an operation that waits for it is brought into the processor's caches. */
void waiters_near(const struct job *job);
/* The job has ended, and its end may be shown to clients. */
void waiters_job_ended(struct jobs *jobs, struct job *job);

/* The first row of the job was written, or failed.  On an error the caller drops the job itself. */
void waiters_job_saved(struct jobs *jobs, struct job *job, enum store_error error);

/* The job's cancellation was written, or failed. */
void waiters_cancel_saved(struct jobs *jobs, struct job *job, enum store_error error);

/* The job's history grew.  Its waiters are notified in this step and the next ones; all at once, if
 * the pass of another job is under way. */
void waiters_history_grew(struct jobs *jobs, struct job *job);

/* The job is about to be forgotten: long polls that still wait for it are answered with what is
 * known. */
void waiters_job_goes(struct jobs *jobs, struct job *job);

/* The server stops: long polls are answered with what is known.  `cancel`: operations whose jobs
 * are being cancelled are refused, as by waiters_dismiss(). */
void waiters_server_stops(struct jobs *jobs, bool cancel);

/* Answers all operations that still wait, since no more events will come: DRAINING; UNSURE a call
 * whose job has begun, or may go on under the next server. */
void waiters_dismiss(struct jobs *jobs);

#endif
