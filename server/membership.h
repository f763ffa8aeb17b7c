/* This process as a node of its cluster: joins the cluster's room (server/cluster/cluster.h) with
 * store, jobs, health and the audit log.
 *
 * Thread: main, but where another is named.  Strings of the configuration are copied or borrowed
 * until membership_free(), as the configuration's first version lasts (a reload changes no key of
 * the cluster). */
#ifndef ERGON_MEMBERSHIP_H
#define ERGON_MEMBERSHIP_H

#include "server/cluster/cluster.h"
#include "server/config/config.h"
#include "server/jobs/jobs.h"
#include "server/store/store.h"
#include "server/system/health.h"

struct membership;

/* Finds the engine of the configured store, which is a database.  NULL and a text: its package is
 * not installed, no name of this node, no memory. */
struct membership *membership_new(const struct config *c, char *error, size_t size);
void membership_free(struct membership *m); /* NULL is fine */

struct cluster *membership_cluster(struct membership *m); /* NULL of NULL */
void membership_set_store(const struct membership *m, struct store_options *options);
const struct jobs_cluster *membership_jobs(struct membership *m);

/* Before a node serves it waits for its database, for some seconds, and has nothing to stop.
 * Between the two calls SIGTERM and SIGINT, which are blocked otherwise, end the process with
 * status 0.  NULL is fine. */
void membership_wait_begins(const struct membership *m);
void membership_wait_ends(const struct membership *m);

/* Where other nodes reach this one, in place of cluster.address or cluster.listen: before the
 * start; copied. */
void membership_set_address(struct membership *m, const char *address);

/* Publishes a hash of what all nodes have to have in common: roles, tenants, lease and patience.
 * At the start, and after each reload that was applied.  NULL is fine. */
void membership_note_settings(struct membership *m, const struct config *c);

/* `ended` is called on the cluster's thread when the process has to end; then membership_ended()
 * has a bit for each enum cluster_end that has happened (any thread).  Before the start. */
void membership_on_end(struct membership *m, void (*ended)(void *arg), void *arg);
uint32_t membership_ended(const struct membership *m);
/* `health` says from now on whether the tasks can be reached.  Before the start; NULL: nothing. */
void membership_watch(struct membership *m, struct health *health);

/* Joins, and starts the cluster's thread: when the jobs have started.  0, or -1 and a text:
 * cluster_start() says which. */
int membership_start(struct membership *m, struct store *store, struct jobs *jobs, char *error,
                     size_t size);
/* When the jobs have stopped: the node leaves.  NULL is fine. */
void membership_stop(struct membership *m);

#endif
