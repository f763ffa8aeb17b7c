/* Behind: for objects that go on and on, so that nobody waits for them for longer than a moment.
 *
 * Whoever stands behind is stepped when all others of the round have had their step and what they
 * wrote is on its way, in turn with the others that stand there: as many a round as fit into a
 * quantum, at least one, and none twice.  So a round gets longer by one quantum, however many there
 * are, and each of them gets its step.
 *
 * They stand in parties, which take turns: so whoever sends a thousand of them has no more of that
 * time than who sends one.
 *
 * Thread: home.  Object and party are borrowed. */
#ifndef ERGON_RUNTIME_BEHIND_H
#define ERGON_RUNTIME_BEHIND_H

#include <ergon/ao.h>

#include "server/runtime/object/dispatcher.h"

/* Processor time that those behind have a round; the last step may take longer. */
#define BEHIND_QUANTUM AO_US(200)

/* An active object stands behind from now on, as the last, for as long as it stays active: whatever
 * ends that ends this.  `party` NULL: that of all who name none. */
void ao_stand_behind(struct ao *ao, struct behind *party);

/* A party of which nobody is left: its memory may go.  Not needed once its activator was closed. */
void ao_disband(struct activator *a, struct behind *party);

#endif
