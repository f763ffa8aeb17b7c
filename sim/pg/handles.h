/* The model of PostgreSQL as the driver of a store and as the engine of a cluster: in the place of
 * the shared object postgresql.so.  Each handle belongs to the node that its setup names. */
#ifndef ERGON_SIM_PG_HANDLES_H
#define ERGON_SIM_PG_HANDLES_H

#include "sim/pg/model.h"

extern const struct store_driver pg_store_driver;
extern const struct cluster_engine pg_cluster_engine;

/* Handles that are opened from now on are of this model. */
void pg_handles_of(struct pg *pg);

#endif
