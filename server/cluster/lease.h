/* Deaths of nodes, and the choice of the next owner: what one node concludes from the rows that it
 * has seen and from its own clock.
 *
 * A node is dead when its `renewals` did not change for the length of the lease.  Times are the
 * observer's own (CLOCK_BOOTTIME): no two clocks are compared.  All counts begin anew when the
 * observer's own renewals have paused, and nothing is counted for a while after it had to connect
 * to the engine again, so an outage of the engine deposes nobody.
 *
 * Pure: no clock, no engine, no thread. */
#ifndef ERGON_CLUSTER_LEASE_H
#define ERGON_CLUSTER_LEASE_H

#include <ergon/ao.h>

#include "server/cluster/engine.h"

#define LEASE_PAUSE AO_S(2)  /* of the own renewals: all counts begin anew */
#define LEASE_BLIND AO_S(15) /* after a reconnect nothing is counted for so long */
#define LEASE_RANK  AO_S(1)  /* between two candidates */
/* For so long a node that has just joined leaves a free place to others. */
#define LEASE_SETTLE AO_S(2)

enum { LEASE_TRIES = 2 }; /* then nobody takes over until `ergon cluster retry` */

struct lease_seen {
    struct engine_node node; /* as it was seen last */
    ao_time since;           /* when its incarnation or its renewals changed last */
    ao_time joined;          /* when this incarnation was seen first; 0: at the first look */
};

struct lease {
    char node[CLUSTER_NAME_MAX]; /* this one */
    uint64_t incarnation;
    ao_time lease;
    bool may_own; /* else it never takes over */
    uint64_t
        board; /* epoch of a board that proves that this node's last process is dead; 0: none */

    ao_time joined_at, renewed_at;
    ao_time counts_from; /* nobody was silent before */

    uint64_t vacant_epoch; /* of the owner that is gone, while `vacant` */
    bool vacant;
    ao_time vacant_since;
    bool replaced; /* the owner's row of nodes has another incarnation than the owner had */
    uint64_t replaced_epoch;
    ao_time replaced_since;

    struct lease_seen seen[CLUSTER_NODES_MAX];
    uint32_t count;
};

enum lease_choice {
    LEASE_STAY,  /* another node owns the tasks, or has a chance before this one */
    LEASE_TAKE,  /* take over */
    LEASE_TRIED, /* nobody owns them, and nobody may try again */
    LEASE_OWNED  /* the rows name this process: a take-over of unknown outcome has happened */
};

/* This node has joined, and was answered at `now`; `l` is zeroed first. */
void lease_join(struct lease *l, const char *node, uint64_t incarnation, ao_time lease,
                ao_time now);
/* The engine was away, and was reached again at `now`. */
void lease_reconnect(struct lease *l, ao_time now);
/* A renewal that was sent at `now` was acknowledged. */
void lease_renewed(struct lease *l, ao_time now);

/* Notes the rows that were read at `now`, and chooses.  LEASE_TAKE fills *take, but for
 * keeps_board; *at is when to look again at the latest, unless the next renewal is due before. */
enum lease_choice lease_look(struct lease *l, const struct engine_view *view, ao_time now,
                             struct engine_take_over *take, ao_time *at);

/* When a node of the last view was heard last; 0: it is not in the view. */
ao_time lease_heard(const struct lease *l, const char *node);
/* Has it been silent for the length of the lease? */
bool lease_is_dead(const struct lease *l, const struct engine_node *node, ao_time now);

#endif
