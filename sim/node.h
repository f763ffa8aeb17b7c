/* The server: topology_build() and what follows, on fibers of its own. */
#ifndef ERGON_SIM_NODE_H
#define ERGON_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>

struct registry;
struct sim_link;

enum sim_end { SIM_STOP, SIM_KILL, SIM_POWER };

/* Once, before the first start, with flags beside our own (NULL behind the last), and with what
 * adds modules to its registry as module_add() does.  False: *error says what is wrong with the
 * flags. */
bool sim_node_configure(const char *const *flags,
                        int (*add)(struct registry *r, char *error, size_t size), char *error,
                        size_t size);
/* A module may keep memory until the process ends. */
void sim_node_leaves_memory(void);

/* On a fiber of the world.  Starts it, and returns when it serves.  False: the power went in the
 * start, or it had no memory; sim_node_end() follows. */
bool sim_node_start(void);
bool sim_node_up(void); /* serves, and the power is on */
struct sim_link *sim_node_connect(void);
struct sim_link *sim_node_connect_guest(void); /* where only SIM_GUEST_MAY of guest.h is allowed */
/* By SIGTERM, by SIGKILL, or by the power; SIM_STOP returns when the stop is complete. */
void sim_node_end(enum sim_end how);

#endif
