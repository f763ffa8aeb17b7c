/* The starts of rates and the sizes of limits: to the store and back, so that both hold across a
 * restart and a crash.
 *
 * A rate has one row.  It is written before starts come about, and says how many are promised; a
 * second after the last of them, with their times; and when the server stops, with nothing
 * promised.  After a crash what was promised is taken for starts of this moment: they cannot have
 * been later.  A store that fails holds nobody back: until it has been written again, a crash
 * forgets the starts of that time.
 *
 * A limit has a row once its `max` was changed while a durable job or hold used it, and as long as
 * anything uses it.  Until then each job that names it says the same.  The row is one of the rates,
 * with a `per` that no rate has.  Servers of earlier versions take it for a rate without starts,
 * and remove it.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_RATES_H
#define ERGON_JOBS_RATES_H

#include <stdbool.h>

#include "server/store/store.h"

struct jobs;

/* Writes the rows of the limits and rates that are listed for it. */
void rates_write(struct jobs *jobs);
/* Before the store stops: the last word of every rate. */
void rates_flush(struct jobs *jobs);

/* A row becomes a rate, or a limit.  False without memory. */
bool rates_recover(struct jobs *jobs, const struct store_rate *row);

#endif
