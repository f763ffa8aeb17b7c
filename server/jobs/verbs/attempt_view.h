/* The attempts of a job, as clients see them.  Thread: the jobs'. */
#ifndef ERGON_JOBS_ATTEMPT_VIEW_H
#define ERGON_JOBS_ATTEMPT_VIEW_H

#include "proto/pack.h"

struct history_event;
struct job;
struct job_table;

/* Packs a pair of a map: `attempts`, an array of maps, oldest first, made of the job's history; the
 * last one is there even if the history does not have it.  `sees`: enum operation_sight.  The
 * history is complete (history_complete()), and the job's state is that of its executor. */
void attempts_pack(const struct job_table *table, const struct job *job, unsigned sees,
                   struct pack *p);

/* The text of the traceback of a failure; empty: none. */
struct span attempt_traceback(const struct history_event *event);

/* Packs a pair of a map: `traceback`, nil for none or where the caller may not see it. */
void attempt_pack_traceback(struct pack *p, struct span traceback, unsigned sees);

#endif
