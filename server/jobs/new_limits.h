/* Limits that a reload brought, until the jobs take them up.
 *
 * jobs_set_limits() writes them down here, and posts an object on the jobs' activator, which takes
 * them over in a step of its own: so no operation goes by two of them.  What is beyond a limit that
 * was lowered stays: nothing is taken until there is less again, but tasks that have ended are
 * forgotten, in small steps.  The least that a kept task counts for (core/kept.h) stays that of the
 * start: it only orders which tenant gives way first. */
#ifndef ERGON_JOBS_NEW_LIMITS_H
#define ERGON_JOBS_NEW_LIMITS_H

#include <stdbool.h>

#include <ergon/ao.h>

#include "base/counter.h"
#include "server/jobs/settings.h"

struct jobs;
struct jobs_info;

enum { NEW_LIMITS_WORDS = sizeof(struct jobs_limits) / sizeof(uint64_t) };
_Static_assert(sizeof(struct jobs_limits) % sizeof(uint64_t) == 0, "it is copied by words");

/* What was wished last, word by word; any thread reads it.  The post orders it before the step that
 * takes it over; of two that come at once a step may see a part of the second, and the next one
 * all. */
struct new_limits {
    counter words[NEW_LIMITS_WORDS];
    struct ao ao;
    struct ao_handle *handle;
};

/* Those of jobs->options; the thread that builds.  False without memory: new_limits_fini() may
 * follow all the same. */
bool new_limits_init(struct jobs *jobs);
void new_limits_fini(struct jobs *jobs);
void new_limits_show(const struct jobs *jobs, struct jobs_info *out); /* any thread */

#endif
