/* What the server may ask of an activator beyond <ergon/activator.h>.
 *
 * Thread: any, but the activator's for activator_after().  Nothing fails; the figures are read
 * relaxed. */
#ifndef ERGON_RUNTIME_ACTIVATOR_H
#define ERGON_RUNTIME_ACTIVATOR_H

#include <ergon/activator.h>

#include "base/histogram.h"

struct recorder;

/* Its flight recorder (base/recorder.h), for code on its thread, which writes there; the rounds
 * write the time.  The pointer is valid while the activator is open. */
struct recorder *activator_recorder(const struct activator *a);

/* As activator_when_idle(), but it runs at the end of the first round that begins `delay` (ns,
 * finite) later, and the activator may block until then.  For less than the tick of 1 ms by which
 * objects sleep. */
void activator_after(struct activator *a, struct round_hook *hook, ao_time delay);

/* The number of rounds that have ended, for budgets per round.  On the activator's own thread it
 * only changes between two rounds. */
uint64_t activator_rounds(const struct activator *a);

/* How long the rounds took, without the wait at the end of each: the longest time that a new event
 * had to wait, and the total time of work.  Adds to *out. */
void activator_rounds_took(const struct activator *a, struct histogram_sum *out);

/* The longest step, in ns, since the start or in the last minute.  It is exact for a round of one
 * step. For a round of many steps that are too brief for the cheap clock that measures them, it is
 * an upper bound: at most the time of the round, and at most a tick of that clock (4 ms as a rule)
 * above the truth.  A step that has run for longer than the step limit counts before it has
 * returned. */
ao_time activator_longest_step(const struct activator *a);
ao_time activator_longest_step_lately(const struct activator *a);

#endif
