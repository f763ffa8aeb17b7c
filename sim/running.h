/* FILE-running of the node's store (server/store/running.c): memory that outlives a kill. */
#ifndef ERGON_SIM_RUNNING_H
#define ERGON_SIM_RUNNING_H

#include <stdbool.h>

void sim_running_died(bool power); /* a power cut loses it */

#endif
