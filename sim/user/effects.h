/* Records the effects that handlers report: changes of the world outside the server. */
#ifndef ERGON_SIM_USER_EFFECTS_H
#define ERGON_SIM_USER_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_EFFECT_NAME = 48, SIM_TASK_ID = 40 };

struct sim_effect {
    uint64_t at; /* sim_now() */
    char name[SIM_EFFECT_NAME];
    uint64_t key;
    char task[SIM_TASK_ID]; /* "": the effect has no known task */
    uint32_t attempt;       /* of the task */
    uint32_t times_before;  /* the same effect with the same key */
};

extern struct sim_effect *sim_effects; /* in the order in which they happened */
extern uint32_t sim_effect_count;

void sim_effect_add(const char *task, uint32_t attempt, const char *name, uint64_t key);
uint32_t sim_effect_times(const char *name, uint64_t key);
bool sim_effect_happened(const char *name); /* with some key */

#endif
