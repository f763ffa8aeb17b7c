/* Draws chance from a seed, in streams: one more draw in a stream leaves the others as they were.
 */
#ifndef ERGON_SIM_CHANCE_H
#define ERGON_SIM_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

enum sim_stream {
    SIM_SHAPE,    /* what the run is like: weights, clients, how long a fiber stays away */
    SIM_SCHEDULE, /* which fiber runs next, and where it is preempted */
    SIM_NET,      /* pieces and delays of bytes */
    SIM_DISK,     /* how long a commit takes, when the power goes */
    SIM_DEEDS,    /* what clients ask for */
    SIM_WORK,     /* what workers do */
    SIM_FAULTS,   /* faults that come at any moment */
    SIM_MEMORY,   /* which allocations of the server fail */
    SIM_SERVER,   /* what the server gets from chance_bytes() */
    SIM_ENGINE,   /* PostgreSQL: how long it takes, and its faults */
    SIM_STREAMS
};

void sim_chance_seed(uint64_t seed);
void sim_chance_again(uint64_t future); /* seeds all streams anew, by this number */
/* Used for scripts.  From now on nothing happens by chance, each draw from a range returns its
 * middle, and chance_bytes() of the server returns the same bytes in each run.  A schedule other
 * than 0 is a seed for the rest: which fiber runs, where it is preempted, pieces, delays. */
void sim_chance_plain(uint64_t schedule);
/* Makes what workers do, and the faults of faults.c, depend on chance again. */
void sim_chance_of_others(uint64_t seed);
bool sim_chance_is_plain(enum sim_stream stream);
uint64_t sim_chance(enum sim_stream stream);
uint64_t sim_below(enum sim_stream stream, uint64_t n); /* 0 to n - 1; n > 0 */
bool sim_one_in(enum sim_stream stream, uint64_t n);

#endif
