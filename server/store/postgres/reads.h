/* Rows that are read by their keys, as operations of a unit.  They are numbered in it, from 1 on,
 * and their rows come in this order, each with the number before its columns.
 *
 * Thread: the writer's. */
#ifndef ERGON_STORE_POSTGRES_READS_H
#define ERGON_STORE_POSTGRES_READS_H

#include "server/store/postgres/driver_parts.h"

/* Is it one?  Then its error is its own, though its unit is committed: STORE_REFUSED, of a row that
 * holds what it cannot hold, STORE_MEMORY, or STORE_AWAY. */
bool read_is(const struct store_op *op);
/* It is sent, and has no answer yet.  False without memory. */
bool read_begin(struct store_op *op);
bool read_is_answer(const PGresult *result);
/* The reads of the oldest unit get these rows. */
void read_take(struct postgres_store *s, const PGresult *result);
/* The unit was committed, and what it read did not come: its reads are STORE_AWAY. */
void read_lose(const struct unit *unit);

#endif
