/* What must be in the store's file: tasks, counters and events, changed by operations that are
 * thought out by chance; and what is there. */
#ifndef ERGON_TESTS_STORE_MODEL_H
#define ERGON_TESTS_STORE_MODEL_H

#include "tests/support/store_client.h"

enum { MODEL_TASKS = 2048 };

struct model_row {
    bool there;
    uint8_t state;
    uint16_t params, result; /* bytes */
    uint32_t attempt, events;
};

struct model {
    struct model_row rows[MODEL_TASKS]; /* by id; 0 is none */
    struct store_counts counts;
    uint64_t last_id; /* that was ever put */
};

/* An operation as the model sees it. */
struct planned {
    enum store_kind kind;
    uint64_t id;
    struct model_row row; /* afterwards */
    struct store_counts add;
};

/* Thinks out the next operation; false: there is no room for another task. */
bool model_plan(const struct model *m, uint64_t *random, struct planned *p);
void model_apply(struct model *m, const struct planned *p);
struct store_op *model_op(const struct planned *p); /* for client_push() */

/* Reads a file.  False and a text: it cannot be read, or a task has contents that nobody wrote. */
bool model_read(struct model *m, const struct store_options *options, char *error, size_t size);
bool model_equal(const struct model *a, const struct model *b);
bool model_balances(const struct model *m); /* counters and rows */

#endif
