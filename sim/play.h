/* Runs a script. */
#ifndef ERGON_SIM_PLAY_H
#define ERGON_SIM_PLAY_H

#include "sim/script.h"

/* Call once in a process, which a broken promise ends; see trace.h. */
void sim_play(const struct sim_script *s);

#endif
