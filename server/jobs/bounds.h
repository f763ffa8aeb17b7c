/* The limits of the jobs that a reload may change: tasks.max, tasks.bytes, tasks.tenant_share,
 * tasks.kept_bytes, tasks.keep_failed.
 *
 * Whoever reloads writes them down here, and posts an object on the jobs' activator, which takes
 * them over in a step of its own: so no operation goes by two of them.  What is beyond a limit that
 * was lowered stays: nothing is taken until there is less again, but tasks that have ended are
 * forgotten, in small steps.  The least that a kept task counts for (core/kept.h) stays that of the
 * start: it only orders which tenant gives way first. */
#ifndef ERGON_JOBS_BOUNDS_H
#define ERGON_JOBS_BOUNDS_H

#include <stdbool.h>

#include <ergon/ao.h>

#include "base/counter.h"

struct jobs;
struct jobs_options;
struct jobs_info;

/* What was wished last; any thread reads it.  The post orders it before the step that takes it
 * over; of two that come at once a step may see a part of the second, and the next one all. */
struct bounds {
    counter tasks_max, bytes_max, kept_bytes_max, tenant_share, keep_failed;
    struct ao ao;
    struct ao_handle *handle;
};

/* Those of jobs->options; the thread that builds.  False without memory: bounds_fini() may follow
 * all the same. */
bool bounds_init(struct jobs *jobs);
void bounds_fini(struct jobs *jobs);
void bounds_show(const struct jobs *jobs, struct jobs_info *out); /* any thread */

#endif
