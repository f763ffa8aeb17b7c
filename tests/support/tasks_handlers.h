/* Small handlers for tests of the task system, and parameters for them.
 *
 *   echo      stepped   its parameters
 *   sleep     stepped   [ms]: parks so long, then its parameters
 *   again     stepped   [n]: n more steps, then nil
 *   burn      stepped   [us]: steps of 50 us of real time, then nil
 *   hang      stepped   parks until cancelled
 *   fail      stepped   fails with a code and a text
 *   fault     stepped   faults
 *   late_fault stepped  faults in its second step
 *   managed   stepped   echo by way of the manager, always
 *   outer     stepped   [method, params]: a nested call, awaited; its result, or its failure
 *   block     blocking  its parameters
 *   ask       blocking  [method, params]: a nested call; its result, or its failure */
#ifndef ERGON_TESTS_TASKS_HANDLERS_H
#define ERGON_TESTS_TASKS_HANDLERS_H

#include "server/tasks/registry.h"

void test_handlers_add(struct registry *r, bool blocking); /* with the blocking ones, or without */

/* How often `hang` was told to clean up since they were added.  Relaxed: a figure. */
extern _Atomic unsigned test_cleanups;

struct span params_none(void);
struct span params_int(uint8_t *buf, int64_t v); /* [v] */
struct span params_call(uint8_t *buf, const char *method,
                        struct span params); /* [method, params] */

#endif
