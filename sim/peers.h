/* Connections between nodes.  Either end of one is an end of a link of net.c.
 *
 * Nodes listen at unix:///sim/N, for the N-th: to the server that is a Unix socket, and here it is
 * a network.  Bytes take time, in both directions; connections are established later, or refused if
 * the other process is dead.  A network that is cut carries nothing, also no end of a connection
 * and no new one, until it is whole again.  A machine without power leaves its connections silent
 * for a while. */
#ifndef ERGON_SIM_PEERS_H
#define ERGON_SIM_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/schedule.h"

#define SIM_PEER_PATH "/sim/" /* and the number of the node */

/* ns that bytes are on their way, at most. */
void sim_peers_shape(uint64_t delay);
/* Nothing passes from one node to the other; the other direction is not concerned. */
void sim_peers_cut(enum sim_owner from, enum sim_owner to, bool on);
void sim_peers_whole(void);
/* The connections of this node stay silent when it dies next. */
void sim_peers_power(enum sim_owner node);
void sim_peers_reset(uint64_t chance); /* resets one of them */

#endif
