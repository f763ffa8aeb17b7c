/* A census: a request that is answered by a walk through the connections of all loops (walk.h).  It
 * lists them, closes them, or seeks a worker.
 *
 * It is a call of the connection that asked: when that has gone, there is no answer.
 *
 * Thread: the asking loop's, but for `visit`.  A census is its class's until census_start(), and
 * freed by it at the end. */
#ifndef ERGON_RPC_CENSUS_H
#define ERGON_RPC_CENSUS_H

#include "server/net/connection/walk.h"
#include "server/rpc/method.h"

struct census;

struct census_class {
    bool closes; /* its walk is there to close connections */
    /* On the thread of the loop that it is on; as that of a walk. */
    uint32_t (*visit)(struct census *n, struct connection *c);
    /* It has been everywhere, or seen enough.  Does it go once more, from where n->walk says now?
     * NULL: never. */
    bool (*again)(struct census *n);
    /* Answers n->call, where `msgid` is not empty; returns the outcome. */
    enum ergon_error (*end)(struct census *n, struct span msgid);
    void (*free)(struct census *n); /* it has ended, or the server does */
};

/* First in what its class makes of it.  Fields are the asking loop's all the time, but for `walk`.
 */
struct census {
    struct conn_walk walk;
    const struct census_class *cls;
    struct rpc_loop *loop;
    struct call call;
    struct act *act;
    uint64_t holds; /* bytes that its connection is charged for it */
    bool gone;      /* no client waits for the answer */
};

/* Of a loop at a time: each may hold a page of answers; beyond these, of such as do not list. */
enum { CENSUSES_MAX = 8, CENSUSES_MORE = 8 };

/* May one begin that will hold so many bytes?  False: the request was answered BUSY; or, of one
 * that lists, it waits for room in its account, and comes again. */
bool census_may_start(struct rpc_request *rq, bool lists, uint64_t bytes);

/* A zeroed one becomes that of this request; its walk is set, but where it begins. */
void census_init(struct census *n, const struct rpc_request *rq, const struct census_class *cls);

/* Where a list goes on that could not show all: an option's reader into its walk, and what says it.
 */
bool census_read_cursor(struct reader *r, void *walk);
void census_pack_next(struct pack *p, const struct census *n);

/* It goes. */
void census_start(struct census *n, struct rpc_request *rq, uint64_t bytes);

/* Of a connection's list of calls.  No client waits for the answer any more; or it is CANCELLED. */
bool call_is_census(const struct call *call);
void census_give_up(struct call *call);
void census_cancel(struct call *call);

#endif
