/* Jobs as clients see them: packed as MessagePack, and selected by a filter.  Thread: the jobs'. */
#ifndef ERGON_JOBS_VIEW_H
#define ERGON_JOBS_VIEW_H

#include <ergon/ao.h>

#include "server/jobs/verbs/contents.h"

struct history_event;
struct job;
struct jobs;
struct operation;
struct task_filter; /* arguments.h */

/* Packs the job as one map, for the principal of `op`; `parts` of enum view_part.  A failure is
 * remembered by the pack. */
void view_job(struct jobs *jobs, const struct operation *op, struct job *job, unsigned parts,
              struct pack *p);
/* The task that `job` had to run after and whose failure made it fail.  NULL: there is none, or the
 * answer may not name it. */
const struct job *view_after_failed(const struct jobs *jobs, const struct operation *op,
                                    const struct job *job);
/* One map; `sees` of enum operation_sight. */
void view_event(const struct history_event *event, unsigned sees, struct pack *p);

/* An array at the begin of a pack, packed in parts: view_list_end() writes the number of elements
 * into its head when it is known. */
void view_list_begin(struct pack *p);
void view_list_end(struct pack *p, uint32_t count);

/* The same within a pack: the head of the array, whose place is returned. */
size_t view_array_begin(struct pack *p);
void view_array_end(struct pack *p, size_t at, uint32_t count);

/* Packs a pair of a map: milliseconds; nil for 0. */
static inline void view_ms(struct pack *p, const char *key, uint64_t unix_ns)
{
    pack_str(p, key);
    if (unix_ns == 0)
        pack_nil(p);
    else
        pack_uint(p, unix_ns / AO_MS(1));
}

/* Packs a pair of a map: a name; nil for none. */
static inline void view_name(struct pack *p, const char *key, struct span name)
{
    pack_str(p, key);
    if (name.len == 0)
        pack_nil(p);
    else
        pack_span(p, name);
}

/* Sets the state of a job whose attempt is in flight to what the executor reports: assigned,
 * running or parked.  Called before a client is shown a job; does nothing to other jobs. */
void view_stage(struct jobs *jobs, struct job *job);

/* The reason that is shown of a job. */
enum job_reason view_reason(const struct job *job);

/* --- Filters --- */

/* An empty `wanted` fits all names. */
static inline bool filter_fits_name(struct span wanted, struct span name)
{
    return wanted.len == 0 || span_equal(wanted, name);
}

/* Does the filter select the job, and may the caller know of it?  `now`: Unix ns. */
bool filter_fits(struct jobs *jobs, const struct operation *op, const struct task_filter *filter,
                 struct job *job, uint64_t now);

#endif
