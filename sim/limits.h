/* The limits that tasks of workers share, with the number of permits that clients asked for.
 * The permits of one are those of the semaphore of its name. */
#ifndef ERGON_SIM_LIMITS_H
#define ERGON_SIM_LIMITS_H

#include <stdint.h>

struct sim_limit {
    const char *key;
    uint64_t max;
};

const struct sim_limit *sim_limit_any(void);
uint64_t sim_limit_at(const char *key, uint64_t time); /* permits there are at most */

#endif
