/* The starts of rates: to the store and back, so that a rate holds across a restart and a crash.
 *
 * A rate has one row.  It is written before starts come about, and says how many are promised; a
 * second after the last of them, with their times; and when the server stops, with nothing
 * promised.  After a crash what was promised is taken for starts of this moment: they cannot have
 * been later.  A store that fails holds nobody back: until it has been written again, a crash
 * forgets the starts of that time.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_RATES_H
#define ERGON_JOBS_RATES_H

#include <stdbool.h>

#include "server/store/store.h"

struct jobs;

/* Tells the store of those limits and rates that are listed for it. */
void rates_write(struct jobs *jobs);
/* Before the store stops: the last word of every rate. */
void rates_flush(struct jobs *jobs);

/* A row becomes a rate.  False without memory. */
bool rates_recover(struct jobs *jobs, const struct store_rate *row);

#endif
