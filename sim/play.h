/* A run by a script. */
#ifndef ERGON_SIM_PLAY_H
#define ERGON_SIM_PLAY_H

#include "sim/script.h"

/* Once in a process.  A broken promise ends it; see trace.h. */
void sim_play(const struct sim_script *s);

#endif
