/* Runs the clients of a scenario.  Each row of `load` has one client, which submits a task whenever
 * one is due.  Crons are created at the start.
 *
 * A client submits again after BUSY, MEMORY or DRAINING, and when the server was down.  When a
 * connection ends before the answer, the client submits again only if the task has a key. */
#ifndef ERGON_SIM_USER_LOAD_H
#define ERGON_SIM_USER_LOAD_H

#include <stdbool.h>

#include "sim/user/scenario.h"

void sim_load_spawn(const struct sim_scenario *s);
void sim_load_wake(void); /* the node has come up, or has gone */
bool sim_load_over(void); /* all tasks have been submitted */

/* Sleeps for the time that a message needs to arrive. */
void sim_latency(const struct sim_scenario *s);

struct sim_link;
/* Creates the crons.  Returns false if the connection ended before all answers, or if no worker
 * offers a method yet. */
bool sim_crons_put(const struct sim_scenario *s, struct sim_link *l);

#endif
