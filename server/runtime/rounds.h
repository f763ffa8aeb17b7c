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

/* ns, since the start or in the last minute: no step took longer.  It is exact where a round is one
 * step.  Where steps are many, and brief for the cheap clock that measures them, it is a round's
 * time at most, and at most a tick of that clock (4 ms as a rule) above the truth.  A step that has
 * run for longer than the step limit counts though it has not returned. */
ao_time activator_longest_step(const struct activator *a);
ao_time activator_longest_step_lately(const struct activator *a);

#endif
