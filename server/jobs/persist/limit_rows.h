/* The sizes of limits: to the store and back.
 *
 * A limit has a row once its `max` was changed while a durable job or hold used it, and as long as
 * anything uses it.  Until then each job that names it says the same.  The row is one of the rates:
 * of a rate whose starts never come back, since a rate has no such `per`.  Servers of earlier
 * versions take it for a rate without starts, and remove it.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_LIMIT_ROWS_H
#define ERGON_JOBS_LIMIT_ROWS_H

#include <stdbool.h>

#include "server/store/store.h"

struct jobs;

#define LIMIT_ROW_PER AO_NEVER

/* The time of a row that is written now, Unix ns: of two numbers of a limit or a rate, that of the
 * row counts unless a task was created later (sched/numbers.c).  So it is not before the last task
 * was created, though the clock was set back since. */
uint64_t limit_rows_time(const struct jobs *jobs);
/* Writes the rows of the limits that are listed for it, if the store works. */
void limit_rows_write(struct jobs *jobs);
/* A row becomes a limit.  False without memory. */
bool limit_rows_recover(struct jobs *jobs, const struct store_rate *row);

#endif
