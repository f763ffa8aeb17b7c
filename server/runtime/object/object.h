/* The life of an object from within the runtime: what <ergon/ao.h> does not show.  Home thread.
 *
 * The object is borrowed; nothing here frees it or fails but where it says so. */
#ifndef ERGON_RUNTIME_OBJECT_H
#define ERGON_RUNTIME_OBJECT_H

#include <ergon/ao.h>

#include "server/runtime/state.h"

/* The change of state itself: legal (asserted), traced, out of one list and into another.  What an
 * object that comes to rest has to give back is not done here: see rest.h. */
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

#endif
