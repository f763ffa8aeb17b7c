/* Out of turn: for objects of one activator that work on the same things one after the other, while
 * these are in the caches.
 *
 * What has its turn in a round keeps it: so many steps out of turn a round, no more, and from there
 * on an object that is to run next is merely active.  Lanes between objects of one activator do the
 * same by themselves, with a batch at once, and with the rest when all others have had their turn.
 *
 * Thread: home.  The object is borrowed. */
#ifndef ERGON_RUNTIME_RUN_NEXT_H
#define ERGON_RUNTIME_RUN_NEXT_H

#include <ergon/ao.h>

/* As ao_activate(), and it is stepped next, in this round yet; also once more after its own step.
 * What ao_activate() refuses is left as it is, and not reported. */
void ao_run_next(struct ao *ao);

#endif
