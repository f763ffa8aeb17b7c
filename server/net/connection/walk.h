/* A walk: it looks at all connections of a server one by one, for a request that lists or closes
 * them.
 *
 * Each loop owns its connections, so a walk goes from loop to loop, and on each through its
 * connections in bounded steps, newest first, between which the loop does its work.  What comes
 * meanwhile is not seen; what closes is left out.  Walks on one loop take turns, and half of the
 * turns are for those that close connections.  So repeated listing delays nothing for long.  It
 * delays closing at most by the time that other closings take, and once again that.  A loop that is
 * away (net_loop_set_away()) is passed over; one that hangs while the walk is on it, or before
 * anybody has noticed, holds the walk up until it is back.
 *
 * Thread: as each function says.  Whose: the walk is the network's from conn_walk_start() until
 * `end` or `drop` was called, which is one of them, and once.  Nothing here fails. */
#ifndef ERGON_NET_WALK_H
#define ERGON_NET_WALK_H

#include "base/list.h"
#include "server/net/connection/loop_message.h"

struct connection;

enum {
    WALK_COST_A_STEP = 512, /* of what one step of a loop looks at; see `visit` */
    WALK_COST_A_TURN = 64   /* of one walk, but for what its last look costs */
};

struct conn_walk {
    struct loop_message message;
    TAILQ_ENTRY(conn_walk) link; /* of the walks that are on one loop */
    struct connection *next;     /* there; NULL: the last was looked at */

    /* --- The starter's, before it starts --- */
    struct net_loop **loops; /* borrowed until it has ended */
    uint32_t loop_count;
    uint32_t home;  /* index of the loop that starts it, and where it ends */
    uint32_t at;    /* index of the first that it goes to; then: where it is */
    uint64_t below; /* of that first loop only connections with a smaller id; 0: all */
    bool closes;    /* it is there to close connections, not to show them */
    /* One connection that is not CLOSED, on its loop's thread; it may be closed by conn_kill().
     * Returns what this has cost, 1 (a look) to WALK_COST_A_STEP.  It may set `enough`. */
    uint32_t (*visit)(struct conn_walk *w, struct connection *c);
    void (*end)(struct conn_walk *w);  /* on the home's thread: all were looked at, or enough */
    void (*drop)(struct conn_walk *w); /* the server ends: frees it, when no loop runs any more */

    /* --- Its outcome, for `end` --- */
    bool enough;   /* `visit` ended the walk early: on loop `at`, at connection `last` */
    uint32_t away; /* loops that were passed over */
    uint64_t last; /* id of the connection that was looked at last, on the loop `at` */
};

/* The walks on one loop: in turn. */
struct walks {
    TAILQ_HEAD(walk_turns, conn_walk) looking, closing;
    bool looks; /* the next turn is that of one that only looks */
};

/* On the home's thread; `end` may be called before it returns, if every loop is away. */
void conn_walk_start(struct conn_walk *w);

/* --- For the loop; on its thread --- */

/* None yet.  Set-up. */
void walks_init(struct walks *w);
/* Goes on with the walks on this loop, as far as a step may.  True: there is more to do. */
bool walks_run(struct net_loop *l);
/* A walk came here: LOOP_WALK. */
void walks_take(struct net_loop *l, struct loop_message *message);
/* A connection is about to be freed. */
void walks_leave(struct net_loop *l, const struct connection *c);
/* The loop ends: those that are here are dropped. */
void walks_drop(struct net_loop *l);

#endif
