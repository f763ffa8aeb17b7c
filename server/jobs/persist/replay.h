/* Histories read back from the store; core/history_reload.h says what the row of a job tells by
 * itself. Thread: the jobs'.  Nothing here fails: without memory an event is lost, as in
 * core/history.h. */
#ifndef ERGON_JOBS_REPLAY_H
#define ERGON_JOBS_REPLAY_H

#include "server/jobs/jobs_parts.h"

/* Adds an event of the file; the events of a job come in order, after its row. */
void replay_event(struct jobs *jobs, const struct store_event *row);
/* The job ran when the server died: what its handler said last may not have been stored. */
void replay_crash(struct jobs *jobs, struct job *job);

#endif
