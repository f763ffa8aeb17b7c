/* What a handler says to a simulation (`ergon sim`, docs/simulation.md); in a server it says
 * nothing, and costs a look at an address.
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

/* Just now the world outside was changed: `name`, for `key`, as "charge" for order 17.  `task`
 * NULL: whoever did it does not know for which task.  Thread: the handler's own. */
static inline void ergon_sim_effect(struct ergon_task *task, const char *name, uint64_t key)
{
    if (ergon_sim_effect_done)
        ergon_sim_effect_done(task, name, key);
}

#ifdef __cplusplus
}
#endif

#endif
