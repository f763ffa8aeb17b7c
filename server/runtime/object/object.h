/* What the server may do with an active object beyond <ergon/ao.h>.
 *
 * Thread: home.  Objects and parties are borrowed and never freed here.  Nothing fails unless the
 * function says so. */
#ifndef ERGON_RUNTIME_OBJECT_H
#define ERGON_RUNTIME_OBJECT_H

#include <ergon/ao.h>

#include "server/runtime/object/dispatcher.h"

struct frame;

/* ---- its place in the round ---- */

/* Stepping out of turn is for objects of one activator that work on the same data one after the
 * other, while it is in the caches.
 *
 * At most OUT_OF_TURN_MAX steps of a round are out of turn, so the other objects keep theirs; after
 * that ao_run_next() only activates.  Lanes between objects of one activator do the same: for a
 * batch at once, and for the rest after all other objects were stepped. */

/* Like ao_activate(), but the object is stepped next, in this round, even if it has been stepped in
 * it already.  If ao_activate() refuses, nothing happens, and no error is returned. */
void ao_run_next(struct ao *ao);

/* Objects that stay active for long are put *behind* the others, so that the others wait only
 * briefly.
 *
 * In each round the objects behind are stepped after all others, and after the output of these has
 * been sent.  They take turns: as many are stepped as fit into a quantum, at least one, and none
 * twice.  So a round gets longer by one quantum, however many objects are behind, and each of
 * them makes progress.
 *
 * They are grouped into parties, which also take turns: a party of a thousand objects gets no more
 * time than a party of one. */

/* Time per round for the objects behind; the last step may exceed it. */
#define BEHIND_QUANTUM AO_US(200)

/* Puts an active object behind, as the last of its party, until it is no longer active.  `party`
 * NULL: the common party. */
void ao_stand_behind(struct ao *ao, struct behind *party);

/* Removes an empty party, so that its memory can be freed.  Not needed after its activator was
 * closed.
 */
void ao_disband(struct activator *a, struct behind *party);

/* ---- its state, for the runtime ---- */

/* Changes the state: asserts that the change is legal, traces it, and moves the object from one
 * list to another.  It does not end the waits of an object that comes to rest: object_settle()
 * does. */
void object_enter(struct ao *ao, enum ao_state next, const char *cause);

/* Makes an object active that is not FAULTED; its next step sees `why`. */
void object_become_active(struct ao *ao, enum ao_why why, const char *cause);

/* The step of the object that has not returned.  NULL: it is not being stepped, or it deactivated
 * itself in this step, whose verdict is ignored then. */
struct frame *object_frame(const struct ao *ao);

/* True: the object is being stepped, whatever it did in this step. */
bool object_is_stepped(const struct ao *ao);

/* Activates an object that has a message.  0, AO_E_FAULTED or AO_E_CLOSED. */
int object_message(struct ao *ao);

/* Activates an object whose deadline has passed; the timer has removed it already. */
void object_expire(struct ao *ao);

/* Ends a step that returned `verdict`; `notes` says what happened to the object during the step
 * (enum frame_note). */
void object_settle(struct ao *ao, enum ao_verdict verdict, uint8_t notes);

/* Like ao_fini(), for a caller that has just seen the object come to rest, outside of its step.  It
 * only checks that the object did not retire itself. */
void object_fini(struct ao *ao);

/* Takes the object out of list and timer, because its activator closes. */
void object_finish(struct ao *ao);

#endif
