#include "sim/user/effects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/schedule.h"
#include "sim/trace.h"

struct sim_effect *sim_effects;
uint32_t sim_effect_count;
static uint32_t room;

/* From the newest on: keys go up. */
uint32_t sim_effect_times(const char *name, uint64_t key)
{
    for (uint32_t n = sim_effect_count; n-- > 0;)
        if (sim_effects[n].key == key && strcmp(sim_effects[n].name, name) == 0)
            return sim_effects[n].times_before + 1;
    return 0;
}

bool sim_effect_happened(const char *name)
{
    for (uint32_t n = 0; n < sim_effect_count; n++)
        if (strcmp(sim_effects[n].name, name) == 0)
            return true;
    return false;
}

void sim_effect_add(const char *task, uint32_t attempt, const char *name, uint64_t key)
{
    uint32_t before = sim_effect_times(name, key);
    if (sim_effect_count == room) {
        room = room * 2 + 64;
        sim_effects = realloc(sim_effects, room * sizeof *sim_effects);
        require(sim_effects != NULL, "no memory for effects");
    }
    struct sim_effect *e = &sim_effects[sim_effect_count++];
    *e = (struct sim_effect){
        .at = sim_now(), .key = key, .attempt = attempt, .times_before = before};
    snprintf(e->name, sizeof e->name, "%s", name);
    snprintf(e->task, sizeof e->task, "%s", task);
    sim_tell("effect %s(%" PRIu64 ") of attempt %" PRIu32 " of %s", name, key, attempt, task);
}
