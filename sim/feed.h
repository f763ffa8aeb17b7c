/* A follower of task.events.
 *
 * feed: the numbers of events go up by one; where some are missing, the page says how many, or that
 * the server was started anew.  After the end of a task its only events are that it was retried,
 * that others joined it, that a late attempt came back, and that it was forgotten (tasks.md,
 * "Follow all tasks", "The promise"). */
#ifndef ERGON_SIM_FEED_H
#define ERGON_SIM_FEED_H

struct sim_link;

void sim_feed_spawn(void);
/* Of several nodes: NULL while none is up. */
void sim_feed_spawn_at(struct sim_link *(*connect)(void));
void sim_feed_wake(void); /* the node has come up, or has gone */

#endif
