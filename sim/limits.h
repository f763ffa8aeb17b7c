/* The limits that tasks of workers share, with the number of permits that clients asked for.
 *
 * One limit is moving: clients change its number of permits.  The permits of each other limit are
 * those of the semaphore of the same name. */
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

const struct sim_limit *sim_limit_any(void); /* never the moving one */
/* Returns a limit for a submission of this client. */
const struct sim_limit *sim_limit_for(uint32_t client);
/* Returns the number that a submission has to name.  Its answer updates the limit. */
uint64_t sim_limit_ask(const struct sim_limit *l, struct sim_request *r);
#define SIM_LIMIT_MOVING "moving"
/* Call when a submission of a script sets this number for the moving limit. */
void sim_limit_asked(uint64_t max, struct sim_request *r);
/* Returns the largest number of permits that an attempt may find which began at this time, or
 * earlier if its request was held.  UINT64_MAX: unknown. */
uint64_t sim_limit_at(const char *key, uint64_t time, bool held);
/* After a start: asks for the number of the moving limit. */
void sim_limit_explain(struct sim_burst *b);

#endif
