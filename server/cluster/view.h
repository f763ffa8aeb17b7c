/* The owner of the tasks, as this process knows it: loops, jobs and the admin listener act by it.
 * Written by the cluster's thread (members.c); read by any.
 *
 * Without a cluster there is no struct cluster, and cluster_role(NULL) is CLUSTER_ALONE: all is
 * served here. */
#ifndef ERGON_CLUSTER_VIEW_H
#define ERGON_CLUSTER_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <ergon/ao.h>

#include "server/cluster/engine.h"

struct cluster;

enum cluster_role {
    CLUSTER_ALONE,   /* there is no cluster: this process has the tasks */
    CLUSTER_FRONT,   /* another node owns them, or nobody does */
    CLUSTER_LOADING, /* this one has taken over, and reads the rows */
    CLUSTER_OWNER,   /* this one owns them */
    CLUSTER_DEPOSED  /* it did, and another does: it ends */
};

struct cluster_view {
    enum cluster_role role;
    char cluster[CLUSTER_NAME_MAX], node[CLUSTER_NAME_MAX];
    char owner[CLUSTER_NAME_MAX];      /* empty: nobody, or not known */
    char address[CLUSTER_ADDRESS_MAX]; /* of the owner's cluster listener */
    uint64_t epoch;
    char moving_from[CLUSTER_NAME_MAX]; /* no owner, or one that loads: the one before */
    uint64_t moving_since;              /* Unix ns; 0: nothing moves */
    uint64_t renewed_at; /* CLOCK_BOOTTIME ns: when the last acknowledged renewal was sent */
    uint64_t takeovers;  /* by this process */
    char note[CLUSTER_NOTE_MAX];
};

/* One atomic load (relaxed, then acquire where it differs from before): for hot paths. */
enum cluster_role cluster_role(const struct cluster *c);
/* Changes with each change of owner, epoch or role: compare, then call cluster_view(). */
uint64_t cluster_version(const struct cluster *c);
void cluster_view(const struct cluster *c, struct cluster_view *out);

/* The self-fence: may an owner give attempts, grant permits and answer reads now?  True without a
 * cluster.  One comparison of CLOCK_BOOTTIME with an atomic.  Jobs' thread, loops. */
bool cluster_may_act(const struct cluster *c);

/* `changed(arg)` is called on the cluster's thread after each change; at most CLUSTER_LISTENERS are
 * registered, before the start. */
void cluster_on_change(struct cluster *c, void (*changed)(void *arg), void *arg);

#endif
