/* Connections: two queues of bytes in memory each, and the poller that serves them.
 *
 * The server gets them by net_adopt(), and reads and writes them by a stream class of ours, which
 * stands in the place of plain sockets.  Order within a connection is kept.  Reads and writes are
 * cut into pieces by chance; what waits for the client is bounded by a window. */
#ifndef ERGON_SIM_NET_H
#define ERGON_SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct acceptor;
struct sim_link;

/* --- A client's end; on a fiber of the world --- */

struct sim_link *sim_net_connect(struct acceptor *acceptor, uint32_t listener);
/* So many bytes, and no more, wait for the client at a time. */
void sim_net_narrow(struct sim_link *l, size_t window);
/* In pieces, with pauses. */
void sim_net_send(struct sim_link *l, struct span bytes);
/* Waits for bytes, at most until `until`; 0: none came, or the connection has ended. */
size_t sim_net_receive(struct sim_link *l, uint8_t *buffer, size_t size, uint64_t until);
/* When the server wrote the byte of this number (from 0), which has been received.  *held: there
 * was no room when it tried before, so it may have had the byte for longer. */
uint64_t sim_net_written_at(const struct sim_link *l, uint64_t byte, bool *held);
bool sim_net_ended(const struct sim_link *l); /* nothing will come any more */
/* Since when the server sends nothing more; now, if it does. */
uint64_t sim_net_ended_at(const struct sim_link *l);
void sim_net_leave(struct sim_link *l);

/* --- Faults --- */

/* Of the connections that stand, one that `chance` says: what is on its way is lost, and both ends
 * see a reset. */
void sim_net_reset(uint64_t chance);
void sim_net_reset_one(struct sim_link *l);
/* Bytes stop in these directions until sim_net_go(): on all connections, new ones too; or on one
 * open connection, which `chance` selects. */
enum sim_way { SIM_TO_SERVER = 1, SIM_TO_CLIENT = 2 };
void sim_net_stop_all(unsigned ways);
void sim_net_stop(unsigned ways, uint64_t chance);
void sim_net_go(void);

void sim_net_died(void); /* the node did: all connections have ended */

#endif
