/* What people change of a job that waits: its priority and its time.  Thread: the jobs'.  Nothing
 * here blocks. */
#ifndef ERGON_JOBS_CHANGE_H
#define ERGON_JOBS_CHANGE_H

#include "server/jobs/sched/queueing.h"

enum { CHANGE_NO_PRIORITY = UINT8_MAX };

struct job_change {
    uint8_t priority; /* CHANGE_NO_PRIORITY: it stays */
    bool timed;       /* the next two count, and else it stays */
    ao_time delay;    /* from now; 0: at once.  `at` goes before it */
    uint64_t at;      /* Unix ns; 0: none */
};

/* Does the job wait, so that it can be changed?  Not while an attempt is out, nor when it has ended
 * or is to be cancelled. */
bool job_waits(const struct job *job);

/* Changes a job that waits, and sends it where it belongs: one whose time has come to its queue, or
 * to the line of its limit or rate, behind those of its new priority. */
void job_change(struct scheduler *s, struct job *job, const struct job_change *change);

/* One that waits for a time waits for it no more.  False: it does not wait for a time, and nothing
 * has changed. */
bool job_run_now(struct scheduler *s, struct job *job);

#endif
