/* The limits that tasks of workers share, with the number of permits that clients asked for.
 * The permits of one are those of the semaphore of its name, but for a limit whose number
 * changes. */
#ifndef ERGON_SIM_LIMITS_H
#define ERGON_SIM_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_burst;
struct sim_request;

struct sim_limit {
    const char *key;
    uint64_t max;
};

const struct sim_limit *sim_limit_any(void); /* whose number does not change */
/* For a submission of this client. */
const struct sim_limit *sim_limit_for(uint32_t client);
/* The number that a submission says, whose answer it will hear of. */
uint64_t sim_limit_ask(const struct sim_limit *l, struct sim_request *r);
/* A submission of a script says this number for the limit whose number changes. */
#define SIM_LIMIT_MOVING "moving"
void sim_limit_asked(uint64_t max, struct sim_request *r);
/* How many permits an attempt may find at most that began at this time, or earlier if its request
 * was held.  UINT64_MAX: nobody knows. */
uint64_t sim_limit_at(const char *key, uint64_t time, bool held);
/* After a start: asks how many there are of the one whose number changes. */
void sim_limit_explain(struct sim_burst *b);

#endif
