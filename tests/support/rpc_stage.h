/* The whole server of one loop on the virtual clock, but for its sockets: connections over scripted
 * streams (net_world.h), the rpc layer, jobs without a store, and a task system with one stepped
 * executor and one blocking one, which is stepped by hand between the rounds.  One at a time.
 *
 * Methods are those of tasks_handlers.h, and `large` [bytes]: a bin of that size.  The narrative
 * holds the lines of connections, manager and executors. */
#ifndef ERGON_TESTS_RPC_STAGE_H
#define ERGON_TESTS_RPC_STAGE_H

#include "server/rpc/rpc.h"
#include "server/tasks/tasks_parts.h"
#include "tests/support/net_world.h"

struct rpc_stage {
    struct registry *registry;
    struct tasks *tasks;
    struct jobs *jobs; /* without a store */
    struct activator *loops[1];
    struct net_loop *nets[1];
    struct rpc_loop *rpcs[1];
    struct rpc_shared shared;
    struct recorder_ring ring;
    struct recorder_rings rings;
    struct rpc_loop rpc;
    struct connection *conn; /* of `peer`, until it is freed */
    char said[8192];
};

extern struct rpc_stage stage;

/* For cmocka's set-up and tear-down; `peer` is connected. */
int stage_open(void **state);
int stage_open_guarded(void **state); /* the listener wants a token; there is a table of them */
int stage_close(void **state);
#define RPC_TEST(name)         TEST_WITH(stage_open, stage_close, name)
#define RPC_TEST_GUARDED(name) TEST_WITH(stage_open_guarded, stage_close, name)

/* Tokens of stage_open_guarded(), and whose they are: alice may call and offer everything, bob call
 * `echo` and `server.*`, carol these and task.get and the like, of her own tasks. */
#define STAGE_ALICE "token-of-alice"
#define STAGE_BOB   "token-of-bob"
#define STAGE_CAROL "token-of-carol"

/* A request, a notification; `params` in the notation of notation.h.  Read in the next run. */
void stage_ask(struct script *k, uint8_t id, const char *method, const char *params);
void stage_notify(struct script *k, const char *method, const char *params);

/* Until nothing has work; or until the clock is at `ms`. */
void stage_run(void);
void stage_run_ms(uint64_t ms);

/* What a peer was answered since the last time, a line a response: "1: 'pong'\n", or
 * "1 failed: 'NO_METHOD: ...'\n"; and of a worker what it was sent: "asks 8192: 'work' [1]\n", or
 * "tells: 'worker.cancel' [8192, 'gone']\n".  Valid until the next time. */
const char *stage_said_to(struct script *k);
/* What `peer` is answered once nothing has work any more. */
const char *stage_said(void);
/* The same, after a request with the id 1. */
const char *stage_answer(const char *method, const char *params);

#endif
