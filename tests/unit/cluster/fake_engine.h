/* The engine of a cluster in memory: one set of rows for all nodes of a test's process. */
#ifndef ERGON_TESTS_FAKE_ENGINE_H
#define ERGON_TESTS_FAKE_ENGINE_H

#include "server/cluster/engine.h"

struct fake_rows {
    struct engine_view view; /* `clock` is set by the test */
    /* Of a node by its name: its calls fail; or its take-over happens, and the answer is lost. */
    char away[CLUSTER_NAME_MAX], unanswered[CLUSTER_NAME_MAX];
    bool all_away;
    char refuses[CLUSTER_NAME_MAX];       /* WRONG at its join */
    bool refuses_looks;                   /* WRONG at each look */
    void (*joins)(void);                  /* during each join; NULL is fine */
    uint32_t looks, renewals, take_overs; /* calls */
};
extern struct fake_rows fake_rows; /* zeroed: an empty cluster, as after `ergon cluster init` */
extern const struct cluster_engine fake_engine;

struct engine_node *fake_node(const char *name); /* its row; NULL: there is none */

#endif
