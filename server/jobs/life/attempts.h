/* Attempts: picked, given to the manager, and what comes back.
 *
 *   queue --> assigned --> running --> returned        (between the last three: sched/out.h)
 *
 * An attempt that does not count any more is an orphan: its job is somewhere else, and only waits
 * for it to come home before it is forgotten.
 *
 * Thread: the jobs'.  Nothing here blocks or fails.  struct job_source (server/tasks/job_source.h)
 * says what the first seven functions mean, what their arguments hold, and what false says. */
#ifndef ERGON_JOBS_ATTEMPTS_H
#define ERGON_JOBS_ATTEMPTS_H

#include "server/jobs/sched/queueing.h"
#include "server/tasks/job_source.h"

bool attempts_ready(const struct scheduler *s, uint32_t pool, uint32_t room);
bool attempts_take(struct scheduler *s, uint32_t pool, struct attempt_spec *run);
void attempts_given(struct scheduler *s, struct job *job, struct task *t,
                    const struct attempt_mark *mark);
void attempts_returned(struct scheduler *s, const struct attempt_end *r);
void attempts_noted(struct scheduler *s, const struct attempt_note *note);
void attempts_full(struct scheduler *s, uint32_t pool, bool full);
void attempts_stop(struct scheduler *s, bool cancel);

/* The activators' runs have ended: nothing is begun any more, and nothing returns.  What is out
 * goes on with the next start, so that it is no crash. */
void attempts_end(struct scheduler *s);

#endif
