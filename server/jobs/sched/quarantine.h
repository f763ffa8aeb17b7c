/* Suspects: jobs that the next crash of the server would make dead.
 *
 * Whatever ran at a crash may have caused it.  So that the one that did dies alone, and takes no
 * neighbours along, at most one suspect of the whole server is out at a time; what is no suspect
 * runs beside it.  A suspect has the place from its pick until its attempt has really returned,
 * also when that outlived its timeout; then the next one gets it, in order of arrival.
 *
 * Thread: the jobs'.  Nothing here blocks or fails. */
#ifndef ERGON_JOBS_QUARANTINE_H
#define ERGON_JOBS_QUARANTINE_H

#include "server/jobs/sched/scheduler.h"

/* Takes the place for a job that is about to start.  True: it has it, or needs none.  False: the
 * job waits for it, and has given back permit and token. */
bool quarantine_take(struct scheduler *s, struct job *job);

/* The job does not start, or its attempt is over; of a job without the place a no-op.  While an
 * orphan of it is out, that one keeps the place, until quarantine_returned() says that it is back.
 */
void quarantine_leave(struct scheduler *s, struct job *job);
void quarantine_returned(struct scheduler *s, const struct job *job);

/* Grants the place, if it is free, to the job that has waited for it longest. */
void quarantine_grant(struct scheduler *s);

#endif
