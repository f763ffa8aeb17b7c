/* An activator from within the server: what <ergon/activator.h> does not show.
 *
 * Thread: any.  Nothing fails; figures are relaxed. */
#ifndef ERGON_RUNTIME_ACTIVATOR_H
#define ERGON_RUNTIME_ACTIVATOR_H

#include <ergon/activator.h>

#include "base/histogram.h"

struct recorder;

/* Its flight recorder (base/recorder.h), for who serves on its thread: that thread writes there,
 * and its rounds write the time.  The pointer stands while the activator is open. */
struct recorder *activator_recorder(const struct activator *a);

/* The number of rounds that have ended: for budgets of a round, whatever the clock says.  On the
 * activator's own thread it changes between two rounds and at no other time. */
uint64_t activator_rounds(const struct activator *a);

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
