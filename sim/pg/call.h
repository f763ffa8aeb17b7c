/* A statement for the model: its parameters, and its answer. */
#ifndef ERGON_SIM_PG_CALL_H
#define ERGON_SIM_PG_CALL_H

#include "sim/pg/model.h"
#include "sim/pg/rows.h"

enum pg_kind {
    /* Of the driver. */
    PG_UNIT,   /* the fence, and operations */
    PG_SETTLE, /* raises `session` */
    PG_LOOK_SIZE,
    PG_SNAPSHOT,
    /* Of the engine. */
    PG_CLUSTER, /* its name */
    PG_JOIN,
    PG_RENEW,
    PG_LOOK,
    PG_SAY,
    PG_DRAIN,
    PG_FORGET,
    PG_RETRY,
    PG_GIVE_UP,
    PG_LEAVE_LOAD,
    /* Of its take-over, in a transaction. */
    PG_BEGIN,
    PG_LOCK_OWNER,
    PG_LOCK_OWN_ROW,
    PG_DECLARE_DEAD,
    PG_TAKE_PLACE,
    PG_COMMIT,
    PG_ROLLBACK
};

/* The row of ergon.owner. */
struct pg_owner {
    struct engine_owner row;
    uint64_t session;
    struct row_counters counters;
};

/* An operation of the store, with rows of its own: a backend may run it when its client is gone. */
struct pg_op {
    enum store_kind kind;
    const char *wrong; /* the SQLSTATE with which it is refused; NULL */
    const struct store_table *map;
    struct pg_row *row, *options, *life; /* row: of `map`; NULL: none */
    struct pg_key key;                   /* of a task */
    uint64_t id, back, from;
    uint32_t seq, oldest, limit;
    uint8_t durable;
    bool anew, settled, first_life;
    struct pg_table found; /* the answer of a read: its rows */
};

struct pg_unit {
    uint64_t epoch, session, number;
    struct store_counts counts;
    uint64_t last_id, last_fence, committed_at, id_mark, fence_mark;
    bool loaded, leaves;
    uint8_t need;
    struct row_names names; /* constant */
    struct pg_op *ops;
    uint32_t count;
};

struct pg_call {
    struct pg_call *next;
    enum pg_kind kind;
    uint64_t arrives; /* at the other end */

    /* --- What is asked --- */
    struct pg_unit unit;
    char node[CLUSTER_NAME_MAX], former[CLUSTER_NAME_MAX];
    uint64_t incarnation, renewals, epoch, leap;
    struct engine_node row; /* of a join; of `say` state and note */
    bool loses_board;

    /* --- The answer --- */
    char state[6];  /* SQLSTATE; empty: it worked */
    bool cancelled; /* the notice 01000: it is not known to be replicated */
    uint32_t rows;  /* that were changed, or found */
    struct pg_owner owner;
    uint8_t level;
    struct store_audit audit;
    struct engine_view *view;  /* of a look */
    struct pg_table *snapshot; /* PG_TABLES of them */
    uint64_t clock;
};

struct pg_call *pg_call_new(enum pg_kind kind);
void pg_call_free(struct pg_call *call); /* NULL is fine */

bool pg_op_reads(enum store_kind kind);
/* Fills the unit's operation from the store's. */
void pg_op_set(struct pg_op *op, const struct store_op *from);

#endif
