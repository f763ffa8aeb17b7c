/* Inside the model: see model.h. */
#ifndef ERGON_SIM_PG_PARTS_H
#define ERGON_SIM_PG_PARTS_H

#include "sim/pg/call.h"

enum { LOCKS_MAX = 4, NODES_MAX = 16 };

struct pg_lock {
    int table;
    struct pg_key key;
};

/* What a transaction has committed, on its way to the standbys. */
struct pg_record {
    struct pg_record *next;
    uint64_t lsn, at[PG_MACHINES]; /* at: when each gets it */
    struct pg_table changes[PG_TABLES];
    bool visible; /* on the machine that wrote it */
};

struct pg_machine {
    bool up, frozen, apart, primary;
    int follows; /* of a standby */
    struct pg_table tables[PG_TABLES];
    uint64_t lsn;                   /* of the last record that it wrote, or that came to it */
    uint64_t synced;                /* of a primary: a standby is known to have this */
    struct pg_record *first, *last; /* of a primary: not everywhere, or not visible */
    uint64_t settled, settler;      /* the epoch of the last settling, and the backend's number */
};

enum pg_phase {
    PHASE_IDLE,
    PHASE_WORKS,   /* until ready_at */
    PHASE_WAITS,   /* for a lock */
    PHASE_FLUSHES, /* until ready_at */
    PHASE_SYNCS    /* until a standby has lsn */
};

struct pg_backend {
    struct pg_backend *next;
    struct pg_link *link; /* NULL: the client has gone */
    uint64_t number;      /* in the order of their begins */
    char node[CLUSTER_NAME_MAX];
    int machine;
    enum pg_phase phase;
    uint64_t ready_at, lsn;
    uint64_t gone_at; /* when it notices that its client has gone; PG_NEVER: never */
    struct pg_call *inbox, *inbox_last, *call;
    bool in_transaction, aborted, has_xid;
    struct pg_table own[PG_TABLES];
    struct pg_lock locks[LOCKS_MAX], waits;
    int lock_count;
    uint64_t ticket; /* in the order of those that wait; 0: it does not */
};

struct pg_link {
    struct pg_link *next;
    struct pg *pg;
    struct pg_backend *backend; /* NULL: it has died */
    char node[CLUSTER_NAME_MAX];
    int machine;
    bool broken;
    bool said_why;        /* the engine has sent why it ends; an idle client reads that first */
    uint64_t breaks_at;   /* PG_NEVER */
    uint64_t sent_at;     /* the oldest call without an answer */
    uint32_t outstanding; /* calls without an answer */
    struct pg_call *outbox, *outbox_last;
};

struct pg_node {
    char name[CLUSTER_NAME_MAX];
    unsigned cut[PG_MACHINES]; /* enum pg_way */
    uint64_t cut_at[PG_MACHINES];
    bool held; /* what it sends arrives when pg_release() says so */
};

struct pg {
    struct pg_env env;
    struct pg_shape shape;
    char cluster[CLUSTER_NAME_MAX];
    uint64_t clock; /* all that was due before has happened */
    struct pg_machine machines[PG_MACHINES];
    int primary;
    struct pg_node nodes[NODES_MAX];
    int node_count;
    struct pg_backend *backends; /* in the order of their begins */
    struct pg_link *links;
    uint64_t tickets, begun, settlings; /* begun: backends */
    bool news;                          /* a client that waits has an answer, or a broken link */
    char failure[6];
    uint64_t fails_one_in;
};

/* --- statements.c --- */
/* Runs the backend's call on what is committed and its own changes.  False: it waits for a lock,
 * and is run again from its begin. */
bool pg_run(struct pg *pg, struct pg_backend *b);

/* --- locks: model.c --- */
/* True: the backend has it.  False: it waits for it from now on. */
bool pg_lock(struct pg *pg, struct pg_backend *b, int table, const struct pg_key *key);

/* --- unit.c --- */
/* Runs the operations of a unit whose fence has passed.  NULL, or the SQLSTATE. */
const char *pg_unit_run(const struct pg_sight *sight, struct pg_call *call,
                        const struct pg_owner *owner);
/* Whose rows of ergon.nodes it changes: the n-th, or NULL. */
const struct pg_op *pg_unit_node(const struct pg_unit *unit, uint32_t *n);

uint64_t pg_chance(struct pg *pg, uint64_t most); /* 0 to most */
struct pg_key pg_owner_key(void);

#endif
