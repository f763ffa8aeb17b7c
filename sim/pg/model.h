/* A model of PostgreSQL with standbys, as the driver of the store and the engine of a cluster meet
 * it: what commits do, row locks, snapshots, connections that break, a primary that dies.
 *
 * There are machines: one is the primary, the others follow it.  A *link* is a connection of a node
 * to the machine that it found to be the primary; a *backend* is the process at its other end,
 * which takes the messages of the link in turn, and outlives it: what has arrived is run.  Each
 * message is a statement (struct pg_call).  One that is no part of a transaction is one of its own.
 *
 * What is like PostgreSQL, level READ COMMITTED:
 * - an UPDATE finds its row by what is committed, waits for the row's lock in the order of arrival,
 *   and evaluates its condition once more;
 * - a commit is written, waits for a synchronous standby, and only then becomes visible and gives
 *   its locks back: also when its client has gone.  A transaction that changed and locked nothing
 *   waits for nobody;
 * - a cancelled wait commits with the notice 01000;
 * - a primary that starts again has all that it wrote; a standby that becomes the primary has what
 *   came to it, and a primary that nobody stopped goes on beside it.
 *
 * Pure of threads: time and chance come from struct pg_env, and nothing happens but in calls, up to
 * the time of the call.  One thread. */
#ifndef ERGON_SIM_PG_MODEL_H
#define ERGON_SIM_PG_MODEL_H

#include "server/cluster/engine.h"
#include "server/store/driver.h"

enum { PG_MACHINES = 3 };
#define PG_NEVER UINT64_MAX

struct pg;
struct pg_link;
struct pg_call;

struct pg_env {
    void *arg;
    uint64_t (*now)(void *arg);               /* ns, monotonic */
    uint64_t (*wall)(void *arg);              /* ns since 1970, of the engine's machines */
    uint64_t (*below)(void *arg, uint64_t n); /* 0 to n - 1, by chance; n > 0 */
    /* Those that wait for the engine look again; NULL is fine. */
    void (*changed)(void *arg);
    /* Sleeps until then at most, until changed(), or until `wake` (a descriptor; -1: none) is
     * readable; for the handles (handles.h). */
    void (*wait)(void *arg, int wake, uint64_t until);
};

/* What the run is like; ns, at most. */
struct pg_shape {
    uint64_t net;   /* for a message */
    uint64_t work;  /* for a statement */
    uint64_t flush; /* for the primary's disk */
    uint64_t lag;   /* until a standby has what was written */
    bool synchronous;
};

struct pg *pg_new(const struct pg_env *env, const struct pg_shape *shape, const char *cluster);
void pg_free(struct pg *pg);
void pg_set_shape(struct pg *pg, const struct pg_shape *shape);
const struct pg_env *pg_env(const struct pg *pg);
uint64_t pg_next(struct pg *pg); /* when something happens by itself; PG_NEVER: nothing does */

/* --- Rows, as everybody sees them --- */
void pg_see_owner(struct pg *pg, struct engine_owner *owner);
/* False: there is none. */
bool pg_see_node(struct pg *pg, const char *name, struct engine_node *node);
/* Without its texts.  False: there is none. */
bool pg_see_task(struct pg *pg, uint64_t id, struct store_task *task);

/* --- Links: the client's side --- */
/* NULL: no primary can be reached.  Takes no time; see pg_connect_takes(). */
struct pg_link *pg_connect(struct pg *pg, const char *node);
uint64_t pg_connect_takes(struct pg *pg); /* ns, by chance */
void pg_close(struct pg_link *link);      /* NULL is fine */
/* Takes the call.  False: the link is broken. */
bool pg_send(struct pg_link *link, struct pg_call *call);
/* The oldest call that was answered, which the caller frees by pg_call_free(); NULL: none yet. */
struct pg_call *pg_receive(struct pg_link *link);
/* Calls that were sent get no answer any more. */
bool pg_is_broken(const struct pg_link *link);
/* Of a link that is broken: the engine said why it ended it, and the client reads that first, and
 * the end when it reads again. */
bool pg_said_why(const struct pg_link *link);
bool pg_is_ready(const struct pg_link *link); /* an answer is there, or it is broken */

#endif
