/* A task system on the virtual clock, with a registry of small handlers and a record of all ends.
 *
 * Blocking executors have no threads here: tasks_world_run() steps them by hand, between the rounds
 * of the activators, in order.  The narrative holds the lines of manager and executors, and
 * "call 1 ended: ..." of the world itself.
 *
 *   echo      stepped   its parameters
 *   sleep     stepped   [ms]: parks so long, then its parameters
 *   again     stepped   [n]: n more steps, then nil
 *   hang      stepped   parks until cancelled
 *   fail      stepped   fails with a code and a text
 *   fault     stepped   faults
 *   late_fault stepped  faults in its second step
 *   managed   stepped   echo by way of the manager, always
 *   outer     stepped   [method, params]: a nested call, awaited; its result, or its failure
 *   block     blocking  its parameters
 *   ask       blocking  [method, params]: a nested call; its result, or its failure */
#ifndef ERGON_TESTS_TASKS_WORLD_H
#define ERGON_TESTS_TASKS_WORLD_H

#include "server/tasks/tasks_parts.h"
#include "tests/support/virtual.h"

enum { WORLD_LOOPS = 4, WORLD_CALLS = 4096 };

struct tasks_world {
    struct virtual v;
    struct activator *loops[WORLD_LOOPS];
    struct activator *manager;
    struct registry *registry;
    struct executor_plan executors[16];
    struct tasks_plan plan; /* change it before tasks_world_open() */
    struct tasks *tasks;
    struct call *list; /* calls in flight */
    void (*record)(void *arg, const char *line);
    unsigned begun, ended;                /* calls accepted, ends told */
    unsigned told[WORLD_CALLS];           /* times that the end of a call was told */
    enum ergon_error errors[WORLD_CALLS]; /* of the last end */
    bool quiet;                           /* no lines of ends */
    unsigned cleanups;
};

/* `loops` loops with one stepped executor each, `blocking` executors behind them; the manager on
 * the first loop. */
void tasks_world_init(struct tasks_world *w, uint32_t loops, uint32_t blocking);
void tasks_world_own_manager(struct tasks_world *w); /* on an activator of its own */
void tasks_world_open(struct tasks_world *w);
void tasks_world_fini(struct tasks_world *w);

/* A call at a loop's home, with the number of the call as its message id, from 1.  `params` is raw
 * MessagePack. */
enum ergon_error tasks_world_call(struct tasks_world *w, uint32_t loop, const char *method,
                                  struct span params, ao_time deadline);
struct call *tasks_world_find(struct tasks_world *w, unsigned number); /* in flight, or NULL */

/* Until nothing has work; or until the clock is at `ms`. */
void tasks_world_run(struct tasks_world *w);
void tasks_world_run_ms(struct tasks_world *w, uint64_t ms);

struct span params_none(void);
struct span params_int(uint8_t *buf, int64_t v); /* [v] */
struct span params_call(uint8_t *buf, const char *method,
                        struct span params); /* [method, params] */

#endif
