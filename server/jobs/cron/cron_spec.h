/* What operations have of crons.  Pure data. */
#ifndef ERGON_JOBS_CRON_SPEC_H
#define ERGON_JOBS_CRON_SPEC_H

#include "server/jobs/core/job_spec.h"

struct cron;

enum cron_overlap { CRON_SKIP, CRON_ALLOW, CRON_REPLACE };
enum cron_catch_up { CRON_CATCH_NONE, CRON_CATCH_ONE, CRON_CATCH_ALL };

/* A job spec, and when it is to be submitted.  The spans are borrowed. */
struct cron_spec {
    struct span name, schedule, zone; /* zone empty: UTC */
    struct span made_by;              /* the principal that put it; empty: not known */
    struct span options;              /* raw map as it came; kept for cron.list and the store */
    uint8_t overlap, catch_up;        /* enum cron_overlap, enum cron_catch_up */
    ao_time jitter;                   /* ns: what chance adds to each time at most */
    struct job_spec task;             /* delay, at, key and after are not given */
};

/* A walk through all crons that are in place, in small steps, while others come and go (crons.h):
 * it passes over those that go, and may miss those that come. */
struct cron_walk {
    struct cron_walk *next; /* that are under way */
    struct cron *at;        /* the next; NULL: that was all */
};

#endif
