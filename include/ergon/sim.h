/* Lets a handler report its effects to a simulation (`ergon sim`, docs/simulation.md).  In a server
 * a report does nothing, and costs one comparison.
 *
 * A module may also export `const char *ergon_sim_check(void)`.  A simulation calls it once
 * everything is over: NULL, or what is wrong, in words.  Stand-ins include this header alone. */
#ifndef ERGON_SIM_H
#define ERGON_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ergon_task;

/* Of the simulation; NULL in a server. */
__attribute__((weak)) void ergon_sim_effect_done(struct ergon_task *task, const char *name,
                                                 uint64_t key);

/* Reports that the caller has just changed the world outside: `name`, for `key`, as "charge" for
 * order 17.  `task`: NULL if the task is unknown, as in a stand-in.  Thread: the handler's own. */
static inline void ergon_sim_effect(struct ergon_task *task, const char *name, uint64_t key)
{
    if (ergon_sim_effect_done)
        ergon_sim_effect_done(task, name, key);
}

#ifdef __cplusplus
}
#endif

#endif
