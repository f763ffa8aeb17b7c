/* Runs the server on fibers of its own, from topology_build() on: once, or as several nodes. */
#ifndef ERGON_SIM_NODE_H
#define ERGON_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct acceptor;
struct registry;
struct sim_link;

#define SIM_NODE_NAME "a" /* in a cluster */

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

/* --- The same for the n-th of several nodes, from 0; the functions above are about the first.
 * Without modules beside those that are built in, unless `add` is given. --- */

bool sim_nth_configure(uint32_t n, const char *const *flags,
                       int (*add)(struct registry *r, char *error, size_t size), char *error,
                       size_t size);
bool sim_nth_start(uint32_t n);
bool sim_nth_up(uint32_t n);
struct sim_link *sim_nth_connect(uint32_t n);
void sim_nth_end(uint32_t n, enum sim_end how);
/* Why the process wants to end, as bits of enum cluster_end; 0: it does not.  Then it stops by
 * itself, as lifecycle.c has it, and sim_nth_up() is false: sim_nth_end() with SIM_STOP waits for
 * the end. */
uint32_t sim_nth_leaves(uint32_t n);
/* Where other nodes connect.  False: it serves none now. */
bool sim_nth_listens(uint32_t n, struct acceptor **acceptor, uint32_t *listener);

#endif
