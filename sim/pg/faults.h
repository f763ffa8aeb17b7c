/* Faults of the model of PostgreSQL (model.h). */
#ifndef ERGON_SIM_PG_FAULTS_H
#define ERGON_SIM_PG_FAULTS_H

#include "sim/pg/model.h"

enum pg_way { PG_TO_ENGINE = 1, PG_TO_NODE = 2 };
/* Nothing passes between the node and that machine (-1: all of them) in these ways; 0: all does. */
void pg_cut(struct pg *pg, const char *node, int machine, unsigned ways);
/* All links of the node break now (NULL: of all nodes).  Of what is under way some arrives. */
void pg_break(struct pg *pg, const char *node);
/* `on`: the node's messages from now on are under way until pg_release(), also if their link has
 * ended by then.  Not `on`: later messages are not held. */
void pg_hold(struct pg *pg, const char *node, bool on);
/* The messages that were held arrive now; `batches`: only those that write a batch.  The links on
 * which they were sent break. */
void pg_release(struct pg *pg, const char *node, bool batches);
/* The process of the node has died, or its machine (then the engine is not notified). */
void pg_node_died(struct pg *pg, const char *node, bool power);
void pg_kill(struct pg *pg, int machine);  /* its PostgreSQL dies */
void pg_start(struct pg *pg, int machine); /* again: as the primary, if it was */
void pg_freeze(struct pg *pg, int machine, bool on);
void pg_separate(struct pg *pg, int machine, bool on); /* from the other machines */
int pg_primary(const struct pg *pg);                   /* the one that was promoted last */
int pg_most_advanced(const struct pg *pg);             /* of the standbys; -1: none runs */
void pg_promote(struct pg *pg, int machine);
void pg_follow(struct pg *pg, int machine); /* becomes a standby of the primary, a copy of it */
/* An operator ends all backends of the node.  Transactions that wait for a standby are committed,
 * and their clients are not notified.  A client that has asked nothing sends once more before it
 * notices (pg_said_why()). */
void pg_terminate(struct pg *pg, const char *node);
/* Before the first link: so many owners were there before, each of which lost its board. */
void pg_age(struct pg *pg, uint32_t owners);
/* How many unknown outcomes were settled. */
uint64_t pg_settlings(const struct pg *pg);
/* The node that is in the middle of a take-over, and, `taken`, has changed the owner's row; NULL:
 * none is. */
const char *pg_taker(struct pg *pg, bool taken);
void pg_cancel_waits(struct pg *pg); /* commits wait for no standby any more */
/* Each statement fails with this SQLSTATE by one chance in so many; 0: none does. */
void pg_fail(struct pg *pg, const char *state, uint64_t one_in);

#endif
