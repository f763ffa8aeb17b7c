/* The manager's side of the port by which jobs come; its face is job_source.h.
 *
 * Thread: the manager's, but attempt_post() is for the thread of the handler. */
#ifndef ERGON_TASKS_JOB_SOURCE_PARTS_H
#define ERGON_TASKS_JOB_SOURCE_PARTS_H

#include "server/tasks/manager/manager.h"

/* Asks the source whether it has something for `room` places.  It is asked again after a no when it
 * says job_source_wake(), or one of its attempts has returned. */
bool job_source_ready(struct manager *m, struct pool *p, uint32_t room);

/* The next attempt, the manager's, to be given at once; NULL: none after all, or no memory. */
struct task *job_source_take(struct manager *m, struct pool *p);

/* Calls full() of the source when it is another value than the last. */
void job_source_tell_full(struct manager *m, struct pool *p, bool full);

/* A worker, which has no attempt: before the first, and after the last has returned. */
void job_source_worker_joined(struct executor *e, const struct source_label *label);
void job_source_worker_left(struct executor *e);

/* A task with TASK_MESSAGE has come: it goes to the source, and not into a queue. */
void job_source_call(struct manager *m, struct task *t);

void job_source_stop(struct manager *m, bool cancel); /* nothing is taken from now on */

/* What handlers said goes to the source, then the attempts that are back, which are freed. */
void job_source_take_returns(struct manager *m);

void job_source_free_notes(struct manager *m); /* after all threads have ended */

/* Sends a note to the source; it is copied.  False, and it was not sent: there is no memory, it is
 * too long for a message, or more than a limit of bytes are on their way. */
bool attempt_post(struct task *t, const struct attempt_note *note);

#endif
