/* Clients: each sends bursts of requests on a connection, waits until all are answered, and sends
 * the next; one that lost its connection comes again. */
#ifndef ERGON_SIM_CLIENT_H
#define ERGON_SIM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct sim_request;

void sim_clients_shape(void); /* how many, and what they like to ask for: by the seed */
void sim_clients_spawn(void);

void sim_clients_quiet(bool quiet); /* they end their burst, and ask for nothing more; or go on */
bool sim_clients_idle(void);        /* all have */
void sim_clients_wake(void);        /* the node has come up, or has gone */

/* What an answer says, or that none came, to a client of a script.  In the order in which it asked:
 * so it is served. */
void sim_client_heed(uint32_t client, struct sim_request *r);

#endif
