/* All checks of `ergon doctor`, by what they look at.  Pure; one thread. */
#ifndef ERGON_CLI_DOCTOR_CHECKS_H
#define ERGON_CLI_DOCTOR_CHECKS_H

#include "client/cli/doctor/check.h"

/* Each ends with a row without a name. */
extern const struct check CHECKS_REACH[];   /* why there is no connection */
extern const struct check CHECKS_RUNNING[]; /* loops, executors, handlers */
extern const struct check CHECKS_QUEUES[];
extern const struct check CHECKS_ROOM[];   /* what is bounded, and nearly full */
extern const struct check CHECKS_STORE[];  /* and what is written elsewhere: logs, spans */
extern const struct check CHECKS_SHARED[]; /* workers, semaphores, crons */
extern const struct check CHECKS_ACTORS[];
extern const struct check CHECKS_CLUSTER[];
extern const struct check CHECKS_ACCESS[]; /* listeners, certificates, tokens, clocks */

/* All of these, NULL behind the last. */
extern const struct check *const CHECKS[];

/* What they find, the worst first; a new reference. */
json_t *checks_run(const json_t *facts);

#endif
