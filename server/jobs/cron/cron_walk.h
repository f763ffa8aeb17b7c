/* Somebody goes through all crons that are in place, step by step, while others come and go: those
 * that go are passed over, and those that come may be.  crons.h has what is done with it. */
#ifndef ERGON_JOBS_CRON_WALK_H
#define ERGON_JOBS_CRON_WALK_H

struct cron;

struct cron_walk {
    struct cron_walk *next; /* that are under way */
    struct cron *at;        /* the next; NULL: that was all */
};

#endif
