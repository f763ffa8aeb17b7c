/* The engine of a cluster, as its members see it: the rows of ergon_cluster, ergon_nodes and
 * ergon_owner, on a connection of its own.  PostgreSQL's is in the shared object of its store's
 * driver (symbol CLUSTER_ENGINE_SYMBOL); the simulation brings a model.
 *
 * Thread: the cluster's own (members.c); each call blocks, for 10 s at most, and is one transaction
 * that waits for the synchronous standby: what it answers is replicated. */
#ifndef ERGON_CLUSTER_ENGINE_H
#define ERGON_CLUSTER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_ENGINE_SYMBOL "ergon_cluster_engine" /* a struct cluster_engine */

enum {
    CLUSTER_NAME_MAX = 64,     /* bytes with the NUL, of a node and of a cluster */
    CLUSTER_ADDRESS_MAX = 256, /* of --cluster-listen as other nodes reach it */
    CLUSTER_NOTE_MAX = 400,
    CLUSTER_NODES_MAX = 64
};

/* Outcomes: DONE; UNCHANGED, the condition did not hold (see each); AWAY, the engine could not be
 * reached or broke off, so that it is open whether it happened; WRONG, it refuses, with a text. */
enum engine_result { ENGINE_DONE, ENGINE_UNCHANGED, ENGINE_AWAY, ENGINE_WRONG };

struct engine_node {
    char node[CLUSTER_NAME_MAX];
    uint64_t incarnation, renewals;
    char state[16]; /* "front", "owner", "loading", "draining", "dead", "left" */
    char note[CLUSTER_NOTE_MAX];
    uint64_t board; /* the epoch of the last board that was counted */
    char address[CLUSTER_ADDRESS_MAX];
    char version[32];
    uint32_t weight; /* 0: never owns */
};

struct engine_owner {
    char node[CLUSTER_NAME_MAX]; /* empty: nobody owns */
    uint64_t incarnation, epoch, batch;
    uint32_t boards, tries;
    uint64_t id_mark, fence_mark;
};

struct engine_view {
    struct engine_owner owner;
    struct engine_node nodes[CLUSTER_NODES_MAX];
    uint32_t count;
    uint64_t clock;  /* of the engine, Unix ns */
    bool replicates; /* synchronous_standby_names is set, and fsync is on */
};

struct engine_setup {
    const char *where;   /* postgresql://… */
    const char *cluster; /* its name, which must be that of the rows */
    const char *node;
    uint64_t incarnation;
    const char *address, *version;
    uint32_t weight;
    int stop; /* readable once the process stops: a call waits for one more second; 0: none */
};

struct engine_take_over {
    struct engine_node dead; /* as it was seen last: name, incarnation, renewals; name empty: nobody
                                owns, and no row of a node changes */
    uint64_t epoch;          /* of the owner that was seen: the condition */
    bool keeps_board;        /* the owner's row names this node, and its board is believed */
};

struct cluster_engine {
    uint32_t version; /* STORE_DRIVER_VERSION */
    void *(*open)(const struct engine_setup *setup, char *error,
                  size_t size); /* connects nowhere */
    void (*close)(void *engine);
    /* Writes this node's row with its incarnation, state "front".  UNCHANGED does not happen;
     * WRONG: other cluster, other schema, other version, no right, no room for another name. */
    enum engine_result (*join)(void *engine, struct engine_view *view, char *error, size_t size);
    /* UNCHANGED: another process has this node's name, or it was declared dead. */
    enum engine_result (*renew)(void *engine, char *error, size_t size);
    enum engine_result (*look)(void *engine, struct engine_view *view, char *error, size_t size);
    /* Makes this node the owner.  UNCHANGED: the dead one lives, another won, this node has no row,
     * or its version is older than what an upgrade has left.  DONE: `owner` has the new epoch,
     * boards, tries and marks. */
    enum engine_result (*take_over)(void *engine, const struct engine_take_over *take,
                                    struct engine_owner *owner, char *error, size_t size);
    /* State and note of this node. */
    enum engine_result (*say)(void *engine, const char *state, const char *note, char *error,
                              size_t size);
    /* Verbs of operators, of any node: `drain`, `forget`, `retry`.  Verbs of this node, if it owns
     * and could not read the rows: `give_up`, and `leave_load`, which does not count as a try.
     * Afterwards nobody owns, and this node's board is lost. */
    enum engine_result (*ask)(void *engine, const char *verb, const char *node, char *error,
                              size_t size);
};

#endif
