/* What a store in memory holds: tasks, their events, pauses and crons, as server/store/store.h has
 * them; and what an operation does to them.
 *
 * Thread: one; nothing blocks.  Zeroed rows are empty, but for `count_rows`, which an audit needs.
 * What is put in is copied; what is given out stays the rows', valid until the next operation.  An
 * operation that the jobs must never push (a PUT of a task that is there, a CHANGE of one that is
 * not) fails the test. */
#ifndef ERGON_TESTS_MEMORY_ROWS_H
#define ERGON_TESTS_MEMORY_ROWS_H

#include "server/store/store.h"

struct memory_row {
    struct store_task task; /* spans are copies in the two blocks */
    void *fixed, *changing; /* malloc'ed */
    bool there;
};

struct memory_event {
    struct store_event event;
    void *block;
};

struct memory_cron {
    struct store_cron cron;
    void *block;
};

struct memory_actor {
    struct store_actor actor; /* spans are copies */
    void *block;
};

struct memory_actor_type {
    struct store_actor_type type; /* likewise */
    void *block;
};

struct memory_batch {
    struct store_batch_row batch; /* likewise */
    void *block;
};

enum { MEMORY_NODES = 72 };

struct memory_rows {
    struct memory_row *rows; /* by id */
    uint32_t row_count, row_room;
    struct memory_event *events;
    uint32_t event_count, event_room;
    struct store_counts counts;
    uint64_t inbox;                /* rows 1 to 63 that are there: bits */
    uint32_t count_rows;           /* of an audit, at a time */
    struct store_queue queues[16]; /* that are not open, or were offered; names malloc'ed */
    uint32_t queue_count;
    struct store_rate rates[64]; /* spans are copies, malloc'ed with `starts` */
    uint32_t rate_count;
    struct store_semaphore semaphores[16]; /* spans are copies, malloc'ed with `name` */
    uint32_t semaphore_count;
    struct store_hold holds[64]; /* spans are copies, malloc'ed with `name` */
    uint32_t hold_count;
    uint64_t last_fence;
    struct memory_cron crons[8];
    uint32_t cron_count;
    struct memory_actor *actors;
    uint32_t actor_count, actor_room;
    struct memory_actor_type actor_types[4];
    uint32_t actor_type_count;
    struct memory_batch *batches; /* by id */
    uint32_t batch_count, batch_room;
    uint64_t node_boards[MEMORY_NODES]; /* of the nodes "a", "b", ...; 0: none was counted */
    uint32_t more_nodes;                /* rows of such, beyond four */
};

/* False without memory: nothing is counted.  An audit is answered in the operation. */
bool memory_rows_apply(struct memory_rows *m, struct store_op *op);

void memory_rows_set_back(struct memory_rows *m, uint64_t by); /* as STORE_SET_BACK */
/* As store_board_renew() raises the numbers of attempts. */
void memory_rows_raise(struct memory_rows *m);

/* NULL: none. */
const struct memory_row *memory_rows_find(const struct memory_rows *m, uint64_t id);
const struct store_actor *memory_rows_actor(const struct memory_rows *m, struct span tenant,
                                            struct span type, struct span key);
/* Of those removed too; 0: none. */
uint64_t memory_rows_last_id(const struct memory_rows *m);

/* Everything, in the order of store_load(); false as soon as the reader wants no more. */
bool memory_rows_read(const struct memory_rows *m, const struct store_reader *reader);

void memory_rows_fini(struct memory_rows *m);

#endif
