/* What is watched over time of a connection with workers: is its peer there, and does it end what
 * nobody wants any more?  Either closes the connection.
 *
 * Thread: the loop's.  Both may be begun again while they watch. */
#ifndef ERGON_WORKERS_WATCH_H
#define ERGON_WORKERS_WATCH_H

struct worker_link;

/* One of its registrations has a lease that it did not have: it is looked after. */
void worker_lease_begin(struct worker_link *link);

/* Nobody wants one of its tasks any more: it is looked after, where the configuration says so. */
void worker_late_begin(struct worker_link *link);

#endif
