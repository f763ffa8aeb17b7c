/* The number of an activator's round: for budgets of a round, whatever the clock says.
 *
 * Thread: any; a figure (relaxed), which on the activator's own thread changes between two rounds
 * and at no other time. */
#ifndef ERGON_RUNTIME_ROUNDS_H
#define ERGON_RUNTIME_ROUNDS_H

#include <ergon/activator.h>

uint64_t activator_rounds(const struct activator *a); /* that have ended */

#endif
