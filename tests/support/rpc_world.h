/* The whole server of one loop on the virtual clock, but for its sockets: connections over scripted
 * streams, the rpc layer, and a task system with one stepped executor and one blocking one, which
 * is stepped by hand between the rounds.
 *
 * Methods are those of tasks_handlers.h, and `large` [bytes]: a bin of that size.  The narrative
 * holds the lines of connections, manager and executors. */
#ifndef ERGON_TESTS_RPC_WORLD_H
#define ERGON_TESTS_RPC_WORLD_H

#include "server/net/connection/conn_private.h"
#include "server/rpc/rpc.h"
#include "server/tasks/tasks_parts.h"
#include "tests/support/scripted_stream.h"

struct rpc_world {
    struct virtual v;
    void (*record)(void *arg, const char *line);
    struct activator *activator;
    struct listener_rules rules; /* change these before rpc_world_open() */
    struct net_limits limits;
    bool short_cut;
    struct registry *registry;
    struct tasks *tasks;
    struct jobs *jobs; /* without a store */
    struct net_loop *net;
    struct activator *loops[1];
    struct net_loop *nets[1];
    struct rpc_shared shared;
    struct rpc_loop rpc;
    uint64_t next_id;
    char said[8192];
};

void rpc_world_init(struct rpc_world *w);
void rpc_world_open(struct rpc_world *w);
void rpc_world_fini(struct rpc_world *w);

struct connection *rpc_world_connect(struct rpc_world *w, struct script *k);

/* A request, a notification; `params` in the notation of notation.h.  Read in the next run. */
void rpc_world_ask(struct script *k, uint8_t id, const char *method, const char *params);
void rpc_world_notify(struct script *k, const char *method, const char *params);

/* Until nothing has work; or until the clock is at `ms`. */
void rpc_world_run(struct rpc_world *w);
void rpc_world_run_ms(struct rpc_world *w, uint64_t ms);

/* What the peer was answered since the last time, a line a response: "1: 'pong'\n", or
 * "1 failed: 'NO_METHOD: ...'\n".  Valid until the next time. */
const char *rpc_world_said(struct rpc_world *w, struct script *k);

#endif
