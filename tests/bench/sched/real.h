/* A load on the real task manager and its blocking executors, inside this process.
 *
 * The calling thread is the generator: it submits each task when it is due, whatever became of
 * those before (open loop), and a sojourn counts from the time at which the task was due. */
#ifndef ERGON_BENCH_SCHED_REAL_H
#define ERGON_BENCH_SCHED_REAL_H

#include <ergon/activator.h>

#include "tests/bench/sched/load.h"

enum real_work {
    REAL_BURNS, /* a task burns processor time until its service is over */
    REAL_WAITS  /* a task sleeps */
};

struct real_options {
    enum real_work work;
    uint32_t executors;
    ao_time service; /* ns: mean time of service */
    uint32_t queue;  /* hard cap of an executor's queue */
    enum idle_mode idle;
    ao_time spin; /* of the manager's activator; IDLE_SPIN */
};

/* Times in mean times of service. */
struct real_result {
    double hand_over; /* median time from a submission to its handler, when all are idle */
    double bound;     /* mean of the tasks that an executor might have outstanding */
    double lag;       /* p99 of what the generator was late */
    double stretch;   /* services as they came out over those of the load */
};

/* Writes for each task its sojourn, and the bound in force when it was submitted (mean over the
 * executors, rounded).  Blocks until all have ended.  0, or -1 after a word on stderr:
 * the task system cannot be started, or refuses a task. */
int real_run(const struct real_options *options, const struct load *load, double *sojourns,
             uint32_t *bounds, struct real_result *result);

#endif
