/* Simulates connections, each with two queues of bytes in memory, and the poller that serves them.
 *
 * The server gets connections by net_adopt().  It reads and writes them by a stream class of the
 * simulation, which replaces plain sockets.  The bytes of a connection keep their order.  Chance
 * cuts reads and writes into pieces.  A window bounds the bytes that wait for the client. */
#ifndef ERGON_SIM_NET_H
#define ERGON_SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "sim/schedule.h"

struct acceptor;
struct sim_link;

/* --- A client's end; on a fiber of the world --- */

struct sim_link *sim_net_connect(enum sim_owner node, struct acceptor *acceptor, uint32_t listener);
/* At most so many bytes wait for the client at a time. */
void sim_net_narrow(struct sim_link *l, size_t window);
/* Sends the bytes in pieces, with pauses. */
void sim_net_send(struct sim_link *l, struct span bytes);
/* Waits for bytes, at most until `until`.  Returns 0 if none came, or the connection has ended. */
size_t sim_net_receive(struct sim_link *l, uint8_t *buffer, size_t size, uint64_t until);
/* Returns when the server wrote the byte of this number (from 0), which must have been received.
 * *held: an earlier write found no room, so the server may have had the byte for longer. */
uint64_t sim_net_written_at(const struct sim_link *l, uint64_t byte, bool *held);
bool sim_net_ended(const struct sim_link *l); /* no more bytes will come */
/* Returns when the server stopped sending; now, if it still sends. */
uint64_t sim_net_ended_at(const struct sim_link *l);
void sim_net_leave(struct sim_link *l);

/* --- Faults --- */

/* Resets one open connection, which `chance` selects.  Bytes on their way are lost, and both ends
 * see a reset. */
void sim_net_reset(uint64_t chance);
void sim_net_reset_one(struct sim_link *l);
/* Bytes stop in these directions until sim_net_go(): on all connections, new ones too; or on one
 * open connection, which `chance` selects. */
enum sim_way { SIM_TO_SERVER = 1, SIM_TO_CLIENT = 2 };
void sim_net_stop_all(unsigned ways);
void sim_net_stop(unsigned ways, uint64_t chance);
void sim_net_go(void);

void sim_net_died(enum sim_owner node); /* the node has died, so its connections have ended */

/* From now on time passes for a thread that looks at its inputs again and again without a wait:
 * fewer looks in vain, which cost a run most of its time.  Scripts count them: not for these. */
void sim_net_spin_rarely(void);

#endif
