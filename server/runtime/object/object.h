/* An active object from within the server: what <ergon/ao.h> does not show.
 *
 * Thread: home.  Objects and parties are borrowed; nothing here frees them or fails but where it
 * says so. */
#ifndef ERGON_RUNTIME_OBJECT_H
#define ERGON_RUNTIME_OBJECT_H

#include <ergon/ao.h>

#include "server/runtime/object/dispatcher.h"

struct frame;

/* ---- its place in the round ---- */

/* Out of turn: for objects of one activator that work on the same things one after the other, while
 * these are in the caches.
 *
 * What has its turn in a round keeps it: so many steps out of turn a round, no more, and from there
 * on an object that is to run next is merely active.  Lanes between objects of one activator do the
 * same by themselves, with a batch at once, and with the rest when all others have had their turn.
 */

/* As ao_activate(), and it is stepped next, in this round yet; also once more after its own step.
 * What ao_activate() refuses is left as it is, and not reported. */
void ao_run_next(struct ao *ao);

/* Behind: for objects that go on and on, so that nobody waits for them for longer than a moment.
 *
 * Whoever stands behind is stepped when all others of the round have had their step and what they
 * wrote is on its way, in turn with the others that stand there: as many a round as fit into a
 * quantum, at least one, and none twice.  So a round gets longer by one quantum, however many there
 * are, and each of them gets its step.
 *
 * They stand in parties, which take turns: so whoever sends a thousand of them has no more of that
 * time than who sends one. */

/* Processor time that those behind have a round; the last step may take longer. */
#define BEHIND_QUANTUM AO_US(200)

/* An active object stands behind from now on, as the last, for as long as it stays active: whatever
 * ends that ends this.  `party` NULL: that of all who name none. */
void ao_stand_behind(struct ao *ao, struct behind *party);

/* A party of which nobody is left: its memory may go.  Not needed once its activator was closed. */
void ao_disband(struct activator *a, struct behind *party);

/* ---- its state, for the runtime ---- */

/* The change of state itself: legal (asserted), traced, out of one list and into another.  What an
 * object that comes to rest has to give back is not done here: see object_settle(). */
void object_enter(struct ao *ao, enum ao_state next, const char *cause);

/* Whatever its state but FAULTED: it will be stepped, and learns why. */
void object_become_active(struct ao *ao, enum ao_why why, const char *cause);

/* Its step that has not returned; NULL: it is not being stepped, or it deactivated itself in this
 * step, which is over then, whatever it still does. */
struct frame *object_frame(const struct ao *ao);

/* The same, whatever it did in this step. */
bool object_is_stepped(const struct ao *ao);

/* A message waits for it.  0, AO_E_FAULTED or AO_E_CLOSED. */
int object_message(struct ao *ao);

/* Its deadline came; the timer has let go of it already. */
void object_expire(struct ao *ao);

/* A step returned `verdict`; `notes` is what happened to the object meanwhile (enum frame_note). */
void object_settle(struct ao *ao, enum ao_verdict verdict, uint8_t notes);

/* As ao_fini(), for a caller that has just seen the object come to rest, outside of its step: what
 * is left to look for is an object that retired itself. */
void object_fini(struct ao *ao);

/* Its activator closes: out of list and timer. */
void object_finish(struct ao *ao);

#endif
