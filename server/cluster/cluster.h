/* This process as a member of a cluster: it renews its row, looks at those of the others, and takes
 * over when the owner is gone.  Its thread, "cluster", is the only one that waits for the engine.
 *
 * Thread: the one that builds, starts and stops, but where another is named.  The functions that
 * other rooms call are in view.h. */
#ifndef ERGON_CLUSTER_CLUSTER_H
#define ERGON_CLUSTER_CLUSTER_H

#include <ergon/ao.h>

#include "server/cluster/view.h"

/* Why this process has to end. */
enum cluster_end {
    CLUSTER_END_DEPOSED,  /* another owns the tasks, or the cluster counts this node as dead */
    CLUSTER_END_NAMESAKE, /* another process has this node's name, and came later */
    CLUSTER_END_LOAD,     /* it has taken over, and cannot read the rows */
    CLUSTER_END_REFUSED,  /* the engine was away at the start, and refuses this node */
    CLUSTER_END_DRAIN     /* `ergon cluster drain`: it is to hand over first */
};

struct cluster_options {
    const struct cluster_engine *engine;
    const char *where; /* the store's URL */
    const char *cluster, *node;
    const char *version;
    uint32_t weight;
    ao_time lease;

    /* The cluster's thread calls the rest.  take() begins the load; its end is cluster_owns() or
     * cluster_load_failed(). */
    void (*take)(void *arg, const struct engine_owner *owner, bool keeps_board);
    /* The epoch under which this node's board was written, if it can be believed and proves that
     * the process that wrote it is dead; 0: it does not. */
    uint64_t (*board)(void *arg);
    void (*ended)(void *arg, enum cluster_end why); /* once for each of them */
    void *arg;

    /* For tests; NULL: the machine's. */
    uint64_t (*boottime)(void *arg); /* ns */
    uint64_t (*wall)(void *arg);     /* Unix ns */
    void *clock_arg;
};

/* Borrows the strings and the engine's table.  NULL without memory. */
struct cluster *cluster_new(const struct cluster_options *options);
void cluster_free(struct cluster *c); /* when no thread runs; NULL is fine */

uint64_t cluster_incarnation(const struct cluster *c);

/* Opens the engine and joins, unless it is away: then the steps try again.  `address` is where
 * other nodes reach this one; empty: they cannot.  0, or -1 and a text: the engine refuses this
 * node, no memory. */
int cluster_open(struct cluster *c, const char *address, char *error, size_t size);
/* Opens, and starts the thread.  0, or -1 and a text: as above, or there is no thread. */
int cluster_start(struct cluster *c, const char *address, char *error, size_t size);
/* The process begins to stop: this node takes over no more, and others know it. */
void cluster_leave(struct cluster *c);
/* The node leaves, and the thread ends.  Blocks, for some seconds at most: one for a call that the
 * engine does not answer, and one for each of the node's last writes. */
void cluster_stop(struct cluster *c);

/* A step of the thread, for tests without it: returns how long the thread may wait, ns. */
ao_time cluster_step(struct cluster *c);

/* --- The jobs' side (struct jobs_cluster); any thread, and none blocks --- */

void cluster_owns(void *cluster);
void cluster_load_failed(void *cluster, const char *text, bool away);
void cluster_load_waits(void *cluster, const char *text); /* cluster_note() */
void cluster_deposed(void *cluster);

/* --- What operators see and ask for; any thread --- */

struct cluster_rows {
    struct engine_view view;           /* as it was read last */
    ao_time silent[CLUSTER_NODES_MAX]; /* ns since each node was heard */
    bool dead[CLUSTER_NODES_MAX];
    bool known;                     /* it was read at all */
    ao_time age;                    /* ns since then */
    int64_t clock;                  /* ns that the machine's clock is ahead of the engine's */
    char trouble[CLUSTER_NOTE_MAX]; /* why the engine does not answer; empty: it does */
};
void cluster_rows(const struct cluster *c, struct cluster_rows *out);

/* Asks the cluster's thread to write that `node` drains, is forgotten, or that a take-over is to be
 * tried again ("drain", "forget", "retry"); it repeats that until the engine has answered.  Else a
 * text: the rows forbid it (REFUSED); the engine does not answer, or too many requests wait (BUSY).
 */
enum cluster_asked { CLUSTER_ASKED, CLUSTER_REFUSED, CLUSTER_BUSY };
enum cluster_asked cluster_ask(struct cluster *c, const char *verb, const char *node, char *error,
                               size_t size);

/* Sets the hash that this node publishes of the settings which all nodes must have in common; any
 * thread; copied. */
void cluster_set_settings(struct cluster *c, const char *hash);
/* A node's note has the hash of its settings before it: "settings HASH", and a line of its own for
 * the note.  Empty: the node has published none. */
void cluster_split_note(const struct engine_node *node, char *hash, size_t size, const char **note);

/* Sets the note in this node's row: why it cannot reach the owner, or for what its load waits;
 * empty: none.  Copied. */
void cluster_note(struct cluster *c, const char *note);

#endif
