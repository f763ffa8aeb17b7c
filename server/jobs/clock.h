/* The wall clock, when it leaps.
 *
 * Delays and deadlines sleep by the activator's clock, which no one sets and which stops
 * while the machine is suspended.  What the wall clock is set forward, or goes on in a suspended
 * machine, counts as time that has passed: what is due is moved ahead.  When it is set back, what
 * is left of a delay stays; in the store, where due times are those of the wall clock, all are
 * set back with it.  Crons go by the wall clock as it is.
 *
 * The table looks at the clock whenever it turns a time of the one into one of the other
 * (core/table.h), so no time is ever taken for one of before the leap, or after it, wrongly.  While
 * tasks are open or there are crons, jobs_watch_clock() sees to it that it looks twice a second.
 *
 * Thread: the jobs'.  Nothing here blocks but clock_recover(). */
#ifndef ERGON_JOBS_CLOCK_H
#define ERGON_JOBS_CLOCK_H

#include <ergon/ao.h>

#include "server/jobs/core/table.h"

struct jobs;

extern const struct ao_class clock_watch_class; /* of jobs->clock_watch */

/* For job_table_options: what follows from a leap by so many ns, forward or back. */
void clock_leapt(struct job_table *table, int64_t by);

/* While the store is read back, and until it takes writes, times are converted by the wall clock as
 * it stood when that began.  A leap meanwhile is noticed at the first look after that. */
void clock_hold(struct jobs *jobs, bool held);

/* Call it with the clock held, before the store is read back and started.  A clock that is earlier
 * than the store's last commit was set back while no server ran: due times are set back with it. */
void clock_recover(struct jobs *jobs);

#endif
