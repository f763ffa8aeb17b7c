/* FILE-running of each node's store (server/store/board_file.c): memory that outlives a kill. */
#ifndef ERGON_SIM_RUNNING_H
#define ERGON_SIM_RUNNING_H

#include <stdbool.h>

#include "sim/schedule.h"

void sim_running_died(enum sim_owner node, bool power); /* a power cut loses it */

#endif
