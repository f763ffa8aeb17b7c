/* How clients see jobs: as MessagePack, and by a filter.  Thread: the jobs'. */
#ifndef ERGON_JOBS_VIEW_H
#define ERGON_JOBS_VIEW_H

#include "proto/pack.h"

struct history_event;
struct job;
struct jobs;
struct operation;
struct task_filter; /* arguments.h */

enum view_part { VIEW_RESULT = 1, VIEW_HISTORY = 2 };

/* One map, for the principal of `op`; `parts` of enum view_part.  A failure is remembered by the
 * pack. */
void view_job(struct jobs *jobs, const struct operation *op, struct job *job, unsigned parts,
              struct pack *p);
/* May what is said of `job` to the principal of `op` name `other`?  Tasks of other tenants are
 * never named, nor are tasks in queues or with keys that the role does not name. */
bool view_may_name(const struct operation *op, const struct job *job, const struct job *other);
/* A task that `job` had to come after, and for which it failed.  NULL: there is none that may be
 * named. */
const struct job *view_after_failed(const struct jobs *jobs, const struct operation *op,
                                    const struct job *job);
void view_event(const struct history_event *event, struct pack *p); /* one map */

/* An array that is packed in parts, at the front of a pack: how many it has is known at the end,
 * and its head is written then. */
void view_list_begin(struct pack *p);
void view_list_end(struct pack *p, uint32_t count);

/* A pair of a map: milliseconds; nil for 0. */
void view_ms(struct pack *p, const char *key, uint64_t unix_ns);

/* A pair of a map: a name; nil for none. */
void view_name(struct pack *p, const char *key, struct span name);

/* Sets the state of a job whose attempt is out to where the executor says that it is: assigned,
 * running or parked.  To be called before anybody is shown the job; of another a no-op. */
void view_stage(struct jobs *jobs, struct job *job);

/* --- What a filter means --- */

/* Is it the name that is wanted?  An empty one stands for all. */
static inline bool filter_fits_name(struct span wanted, struct span name)
{
    return wanted.len == 0 || span_equal(wanted, name);
}

/* Does the filter mean the job, and may the operation know of it?  `now`: Unix ns. */
bool filter_fits(struct jobs *jobs, const struct operation *op, const struct task_filter *filter,
                 struct job *job, uint64_t now);

#endif
