/* An event-driven simulator of a task system: tasks of a load on a number of servers.
 *
 * A server stands for an executor and runs its tasks one after the other, in order.  Unit of all
 * times: the mean time of service. */
#ifndef ERGON_BENCH_SCHED_SIM_H
#define ERGON_BENCH_SCHED_SIM_H

#include "tests/bench/sched/load.h"

enum policy {
    POLICY_CENTRAL,     /* one queue, and no hand-over costs time: M/G/n, the bound */
    POLICY_JBSQ,        /* one queue; each server has at most `bound` tasks outstanding */
    POLICY_RANDOM,      /* a queue for each server, chosen blindly */
    POLICY_ROUND_ROBIN, /* the same, in turn */
};

struct sim {
    enum policy policy;
    uint32_t servers;
    uint32_t bound; /* JBSQ: tasks, the running one included */
    /* JBSQ: that in force as each task arrives, none above `bound`; NULL: always `bound`. */
    const uint32_t *bounds;
    /* JBSQ: from the choice, made with a completion known at once, until the server can begin. */
    double hand_over;
    uint64_t seed;          /* RANDOM */
    const double *slowness; /* of each server: so many times the service; NULL: 1 of each */
    uint32_t *given;        /* written: tasks that each server was given; NULL: nobody asks */
};

/* Writes for each task of the load the time from its arrival to its end.  0, or -1 without memory.
 */
int simulate(const struct sim *sim, const struct load *load, double *sojourns);

#endif
