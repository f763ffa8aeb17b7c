/* Counts which states of tasks, reasons of task.explain and errors clients saw, over all processes
 * that were forked since sim_reach_open(). */
#ifndef ERGON_SIM_REACH_H
#define ERGON_SIM_REACH_H

#include <stdio.h>

#include "base/span.h"

void sim_reach_open(void);                             /* before it nothing is counted */
void sim_reach(struct span error, struct span result); /* counts an answer */

/* Prints a line for each kind: the names that were reached, how often, and those never reached. */
void sim_reach_write(FILE *to);

#endif
