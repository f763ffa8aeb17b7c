/* A task system on the virtual clock, with the handlers of tasks_handlers.h and a record of all
 * ends.
 *
 * Blocking executors have no threads here: tasks_world_run() steps them by hand, between the rounds
 * of the activators, in order.  The narrative holds the lines of manager and executors, and
 * "call 1 ended: ..." of the world itself.
 */
#ifndef ERGON_TESTS_TASKS_WORLD_H
#define ERGON_TESTS_TASKS_WORLD_H

#include "server/accounts/tally.h"
#include "server/tasks/tasks_parts.h"
#include "server/workers/worker_group.h"
#include "tests/support/tasks_handlers.h"
#include "tests/support/virtual.h"

enum { WORLD_LOOPS = 4, WORLD_CALLS = 4096 };

struct tasks_world {
    struct virtual v;
    struct activator *loops[WORLD_LOOPS];
    struct activator *manager;
    struct registry *registry; /* add to it before tasks_world_open() */
    struct executor_plan executors[16];
    struct tasks_plan plan; /* change it before tasks_world_open() */
    const char *joined[4];  /* handlers that workers may offer, too; the same */
    struct tasks *tasks;
    struct call *list; /* calls in flight */
    void (*record)(void *arg, const char *line);
    unsigned begun, ended;                /* calls accepted, ends told */
    unsigned told[WORLD_CALLS];           /* times that the end of a call was told */
    enum ergon_error errors[WORLD_CALLS]; /* of the last end */
    bool quiet;                           /* nothing is traced */
    bool unfinished;                      /* work is under way at the end of the test */
    const char *principal;                /* whose calls follow */
    struct accounts *accounts;
    const struct account_limits *limits; /* of them; NULL: none */
    struct tally_book books[WORLD_LOOPS];
};

extern struct tasks_world w; /* the one of the test program */

/* `loops` loops with one stepped executor each, `blocking` executors behind them; the manager on
 * the first loop. */
void tasks_world_init(uint32_t loops, uint32_t blocking);
void tasks_world_own_manager(void); /* on an activator of its own */
void tasks_world_open(void);
void tasks_world_open_with_all(
    void); /* with handlers of both kinds, whatever executors there are */
void tasks_world_fini(void);

/* Nothing that was borrowed is still out: no call record, no cell of a task, no place in a queue or
 * at an executor, no attempt.  For when all work has ended: else the test fails. */
void tasks_expect_at_rest(const struct tasks *t);

/* The first two; and the tear-down of a test, which expects that each call that was accepted was
 * answered once, and, unless it is unfinished, that all is at rest. */
void tasks_world_start(uint32_t loops, uint32_t blocking);
int tasks_world_end(void **state);
#define TASKS_TEST(name) TEST_WITH(NULL, tasks_world_end, name)

/* A call at a loop's home, with the number of the call as its message id, from 1.  `params` is raw
 * MessagePack. */
enum ergon_error tasks_world_call(uint32_t loop, const char *method, struct span params,
                                  ao_time deadline);
/* The calls that follow are this principal's; NULL: nobody's. */
void tasks_world_be(const char *principal);
struct call *tasks_world_find(unsigned number); /* in flight, or NULL */

/* A method that was not in the plan's registry gets its pool. */
void tasks_world_adopt(struct method *m);

/* The source may have something for any pool. */
void tasks_world_wake_source(void);

/* Until nothing has work; or until the clock is at `ms`. */
void tasks_world_run(void);
void tasks_world_run_ms(uint64_t ms);

#endif
