/* Jobs as MessagePack, for people and programs.  Thread: the jobs'. */
#ifndef ERGON_JOBS_VIEW_H
#define ERGON_JOBS_VIEW_H

#include "proto/pack.h"

struct history_event;
struct job;
struct jobs;

enum view_part { VIEW_RESULT = 1, VIEW_HISTORY = 2 };

/* One map; `parts` of enum view_part.  A failure is remembered by the pack. */
void view_job(struct jobs *jobs, struct job *job, unsigned parts, struct pack *p);
void view_event(const struct history_event *event, struct pack *p); /* one map */

/* A pair of a map: milliseconds; nil for 0. */
void view_ms(struct pack *p, const char *key, uint64_t unix_ns);

/* A pair of a map: a name; nil for none. */
void view_name(struct pack *p, const char *key, struct span name);

/* Sets the state of a job whose attempt is out to where the executor says that it is: assigned,
 * running or parked.  To be called before anybody is shown the job; of another a no-op. */
void view_stage(struct jobs *jobs, struct job *job);

#endif
