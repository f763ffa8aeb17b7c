/* What somebody wants of a cron: a job spec, and when it is to be submitted.  Pure data. */
#ifndef ERGON_JOBS_CRON_SPEC_H
#define ERGON_JOBS_CRON_SPEC_H

#include "server/jobs/core/job_spec.h"

enum cron_overlap { CRON_SKIP, CRON_ALLOW, CRON_REPLACE };
enum cron_catch_up { CRON_CATCH_NONE, CRON_CATCH_ONE, CRON_CATCH_ALL };

/* The spans are borrowed. */
struct cron_spec {
    struct span name, schedule, zone; /* zone empty: UTC */
    struct span made_by;              /* the principal that put it; empty: not known */
    struct span options;              /* raw map as it came; kept for cron.list and the store */
    uint8_t overlap, catch_up;        /* enum cron_overlap, enum cron_catch_up */
    ao_time jitter;                   /* ns: what chance adds to each time at most */
    struct job_spec task;             /* delay, at, key and after are not given */
};

#endif
