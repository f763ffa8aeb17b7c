/* What runs have reached: states of tasks, reasons of task.explain, names of errors, as clients saw
 * them.  Counted over all processes that were forked since sim_reach_open(). */
#ifndef ERGON_SIM_REACH_H
#define ERGON_SIM_REACH_H

#include <stdio.h>

#include "base/span.h"

void sim_reach_open(void);                             /* without this nothing is counted */
void sim_reach(struct span error, struct span result); /* an answer has come */

/* Prints a line for each kind: what was reached, how often, and what was never reached. */
void sim_reach_write(FILE *to);

#endif
