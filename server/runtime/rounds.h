/* The number of an activator's round: for budgets of a round, whatever the clock says; and how long
 * rounds take.
 *
 * Thread: any; a figure (relaxed), which on the activator's own thread changes between two rounds
 * and at no other time. */
#ifndef ERGON_RUNTIME_ROUNDS_H
#define ERGON_RUNTIME_ROUNDS_H

#include <ergon/activator.h>

#include "base/histogram.h"

uint64_t activator_rounds(const struct activator *a); /* that have ended */

/* How long they took, without the wait at the end of each: so long a new event waited at most, and
 * in all the activator was at work.  Adds to *out. */
void activator_rounds_took(const struct activator *a, struct histogram_sum *out);

#endif
