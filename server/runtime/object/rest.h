/* The ends of an object's activity from within the runtime.  Home thread; the object is borrowed.
 */
#ifndef ERGON_RUNTIME_REST_H
#define ERGON_RUNTIME_REST_H

#include <ergon/ao.h>

/* A step returned `verdict`; `notes` is what happened to the object meanwhile (enum frame_note). */
void object_settle(struct ao *ao, enum ao_verdict verdict, uint8_t notes);

/* As ao_fini(), for a caller that has just seen the object come to rest, outside of its step: what
 * is left to look for is an object that retired itself. */
void object_fini(struct ao *ao);

/* Its activator closes: out of list and timer. */
void object_finish(struct ao *ao);

#endif
