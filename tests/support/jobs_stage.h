/* A jobs_world for each test: cmocka's set-up and tear-down, and what such tests ask.
 *
 *     JOBS_TEST(waits_for_the_first, .room = 4)
 *     {
 *         uint64_t id = stage_submit(w);
 *         ...
 *     }
 *
 * `w` is the test's world.  One at a time. */
#ifndef ERGON_TESTS_JOBS_STAGE_H
#define ERGON_TESTS_JOBS_STAGE_H

#include "tests/support/jobs_world.h"
#include "tests/support/memory_store.h"

struct jobs_stage {
    bool stored;     /* it has a store */
    bool quiet;      /* no narrative is kept */
    uint32_t room;   /* for so many blocking attempts at once; 0: for one */
    bool replicates; /* its store does, until the test says that it does not now */
    uint8_t require; /* store_require */
    ao_time latency; /* of the store; 0: a millisecond */
};

int jobs_stage_open(void **state);
int jobs_stage_close(void **state);
#define JOBS_TEST(name, ...)                                                                       \
    TEST_OF(struct jobs_world *w, &((struct jobs_stage){__VA_ARGS__}), jobs_stage_open,            \
            jobs_stage_close, name)
#define STORED_TEST(name) JOBS_TEST(name, .stored = true)

/* Methods of which nothing else is said are "work". */
uint64_t stage_submit(struct jobs_world *w); /* with all that follows from it at once */
uint64_t stage_submit_after(struct jobs_world *w, const uint64_t *ids, uint32_t count);
struct operation *stage_call(struct jobs_world *w, struct job_spec *spec); /* task.call, given */

void stage_holds(const char *text, const char *wanted); /* fails unless the one is in the other */
void stage_says(const struct operation *op, const char *wanted); /* it went well, with that */
void stage_balances(struct jobs_world *w); /* server.audit says so, and the store knows it */

/* Takes all the cells that writes of the jobs are made in, so that the next write needs memory;
 * gives them back. */
struct store_op *stage_hoard_writes(struct jobs_world *w);
void stage_give_writes(struct jobs_world *w, struct store_op *hoard);

#endif
