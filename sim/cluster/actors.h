/* Clients of a cluster that call actors of the module demo by key, until they know the outcome.
 *
 * once: the sum of all counters is that of the calls whose answers came, whatever was lost
 * meanwhile, and the same call has the same answer.  A counter gives to another one by a turn that
 * changes both or none. */
#ifndef ERGON_SIM_CLUSTER_ACTORS_H
#define ERGON_SIM_CLUSTER_ACTORS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_burst;
struct sim_request;

enum { SIM_COUNTERS = 4, SIM_CALLS_OPEN = 64 };

/* Calls of one client whose outcome it does not know. */
struct sim_open_calls {
    uint64_t numbers[SIM_CALLS_OPEN];
    uint32_t count;
};

/* Adds a call, or one that was answered before; false: there are too many. */
bool sim_cluster_call_actor(struct sim_burst *b, struct sim_open_calls *open);
/* Adds those that are open again, while fewer than `most` requests are in the burst. */
void sim_cluster_call_again(struct sim_burst *b, struct sim_open_calls *open, uint32_t most);
/* The answer of one of these (SIM_CALL), or that there was none. */
void sim_cluster_called(struct sim_open_calls *open, const struct sim_request *r);

/* --- In calm --- */
void sim_cluster_read_counters(struct sim_burst *b, uint64_t from);
/* Is the sum what it has to be?  `last`: it is a finding if not. */
bool sim_cluster_check_counters(const struct sim_burst *b, bool last);

#endif
