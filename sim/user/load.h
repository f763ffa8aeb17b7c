/* The clients of a scenario: one for each row of `load`, who submits a task whenever it is due; and
 * the crons.
 *
 * A client that is told BUSY, MEMORY or DRAINING, or comes to no server, asks again.  One whose
 * connection ends before its answer asks again if the task has a key, and else leaves it: it may be
 * there or not. */
#ifndef ERGON_SIM_USER_LOAD_H
#define ERGON_SIM_USER_LOAD_H

#include <stdbool.h>

#include "sim/user/scenario.h"

void sim_load_spawn(const struct sim_scenario *s);
void sim_load_wake(void); /* the node has come up, or has gone */
bool sim_load_over(void); /* all has been submitted */

/* Sleeps as long as a message is on its way. */
void sim_latency(const struct sim_scenario *s);

struct sim_link;
/* False: the connection ended before all was answered. */
bool sim_crons_put(const struct sim_scenario *s, struct sim_link *l);

#endif
