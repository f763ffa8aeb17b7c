/* Clients send bursts of requests.  Each client waits until all requests of a burst are answered,
 * and then sends the next burst.  A client that lost its connection opens another one. */
#ifndef ERGON_SIM_CLIENT_H
#define ERGON_SIM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct sim_request;

void sim_clients_shape(void); /* how many, and what they like to ask for: by the seed */
void sim_clients_spawn(void);

/* True: clients complete their burst and send no other.  False: they go on. */
void sim_clients_quiet(bool quiet);
bool sim_clients_idle(void); /* all have completed their burst */
void sim_clients_wake(void); /* the node has come up, or has gone */

/* Takes note of an answer to a client of a script, or of its absence.  Call in the order of the
 * requests, which is the order in which the server serves them. */
void sim_client_heed(uint32_t client, struct sim_request *r);

#endif
