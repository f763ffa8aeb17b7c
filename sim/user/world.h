/* Runs a scenario: load and faults, then calm, then the check of the expectations. */
#ifndef ERGON_SIM_USER_WORLD_H
#define ERGON_SIM_USER_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_scenario;

/* Call before the first run.  False: *error says what is wrong with the server's configuration. */
bool sim_user_configure(const struct sim_scenario *s, char *error, size_t size);

/* Runs the scenario with this seed.  Returns if all expectations were met, and otherwise ends the
 * process.  `remote`: handlers run in workers behind the pipe of remote.h. */
void sim_user_run(const struct sim_scenario *s, bool remote, uint64_t seed);

/* Starts the server.  Only faults.c calls it, on a fiber of the world. */
void sim_user_start(void);
void sim_user_node_changed(void); /* the server has come up, or has gone */

#endif
