/* PostgreSQL of the world: the model of sim/pg/ in the place of the shared object postgresql.so,
 * for stores whose name is a URL; and what goes wrong with it.
 *
 * durable: what the engine's own promises say of a commit holds for tasks, too: see the promises of
 * promises.h and attempts.h, which are the same with each store. */
#ifndef ERGON_SIM_POSTGRES_H
#define ERGON_SIM_POSTGRES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/pg/faults.h"

#define SIM_POSTGRES         "postgresql://model/ergon"
#define SIM_POSTGRES_CLUSTER "ergon"

/* Call before the first node is built: draws what the engine is like from SIM_SHAPE. */
void sim_postgres_open(void);
struct pg *sim_postgres(void); /* NULL: there is none */

/* The processes of the node have died: its calls were given up in the middle.  `power`: nobody says
 * so to the engine. */
void sim_postgres_died(const char *node, bool power);

/* Spawns a fiber whose faults leave the engine away for less than a second, in some runs: links
 * break, statements fail for reasons that pass, waits for the standby are cancelled, a standby
 * takes the place of the primary. */
void sim_postgres_spawn(void);
bool sim_postgres_falters(void); /* there are such faults in this run */
/* From now on records take so long to standbys, at most (ns); 0: as the seed has it. */
void sim_postgres_lag(uint64_t ns);
void sim_postgres_calm(void); /* no fault begins from now on */
/* No fault begins meanwhile: a node that waits for the end of a lease counts anew after each.  And
 * where two take-overs have failed, for want of memory, somebody runs `ergon cluster retry`. */
void sim_postgres_spare(bool on);

#endif
