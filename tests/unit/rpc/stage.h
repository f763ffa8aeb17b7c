/* One peer of a whole server on the virtual clock, for the tests of the rpc layer.  One test at a
 * time. */
#ifndef ERGON_TESTS_UNIT_RPC_STAGE_H
#define ERGON_TESTS_UNIT_RPC_STAGE_H

#include "tests/support/cmocka_env.h"
#include "tests/support/rpc_world.h"

struct stage {
    struct rpc_world w;
    struct script peer;
    struct connection *conn; /* until it is freed */
};

/* For cmocka's set-up and tear-down. */
int stage_open(void **state);
int stage_open_guarded(void **state); /* the listener wants a token; there is a table of them */
int stage_close(void **state);

extern struct stage stage;

/* Tokens of stage_open_guarded(), and whose they are: alice may call everything, bob `echo` and
 * `server.*`, carol these and task.get and the like, of her own tasks. */
#define STAGE_ALICE "token-of-alice"
#define STAGE_BOB   "token-of-bob"
#define STAGE_CAROL "token-of-carol"

/* What the peer is answered once nothing has work any more. */
const char *stage_said(void);

/* Asks with the id 1. */
const char *stage_answer(const char *method, const char *params);

#endif
