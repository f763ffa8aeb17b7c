/* Runs the server on fibers of its own, from topology_build() on. */
#ifndef ERGON_SIM_NODE_H
#define ERGON_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>

struct registry;
struct sim_link;

enum sim_end { SIM_STOP, SIM_KILL, SIM_POWER };

/* Call once, before the first start.  `flags` come after those of node.c, and end with NULL.  `add`
 * adds modules to the registry, as module_add() does.  Returns false if the flags are wrong: *error
 * says why. */
bool sim_node_configure(const char *const *flags,
                        int (*add)(struct registry *r, char *error, size_t size), char *error,
                        size_t size);
/* A module may keep memory until the process ends. */
void sim_node_leaves_memory(void);

/* On a fiber of the world.  Starts the node, and returns when it serves.  Returns false if the
 * power went during the start, or memory was short; then call sim_node_end(). */
bool sim_node_start(void);
bool sim_node_up(void); /* the node serves, and the power is on */
struct sim_link *sim_node_connect(void);
struct sim_link *sim_node_connect_guest(void); /* where only SIM_GUEST_MAY of guest.h is allowed */
/* Ends the node by SIGTERM, by SIGKILL, or by a power cut.  Returns once that is complete. */
void sim_node_end(enum sim_end how);

#endif
