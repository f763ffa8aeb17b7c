/* When tasks are due in an open loop: a Poisson process, so that they come as those of many users
 * do. */
#ifndef ERGON_PEERS_ARRIVALS_H
#define ERGON_PEERS_ARRIVALS_H

#include <stdint.h>

struct arrivals {
    double gap; /* mean, ns; 0: there are none, the loop is closed */
    double due; /* the next, ns of the clock */
    uint64_t seed;
};

void arrivals_init(struct arrivals *a, double per_second);
void arrivals_start(struct arrivals *a, uint64_t now);

/* On to the one after the next. */
void arrivals_advance(struct arrivals *a);

#endif
