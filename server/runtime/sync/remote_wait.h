/* A wait for something at home on another activator.
 *
 *   here (the waiter's activator)             home (of what is waited for)
 *     start: the record is pending   --go-->    a stand-in record waits in the queue
 *     answer: the record is settled  <--go--    the stand-in is settled
 *     the waiter leaves              --cancel-> the stand-in, if still pending, is withdrawn
 *
 * The letter `go` always comes back, and is the answer whatever happened: a grant that crosses a
 * cancel finds no waiter and is undone.  So each side has its own fields and nothing is shared but
 * the count of references: one for `go`, one for a cancel under way.
 *
 * Thread: "home" and "here" are the threads of those activators; each function says which.  The
 * record of the wait is the waiter's; what is made for the letters frees itself. */
#ifndef ERGON_RUNTIME_REMOTE_WAIT_H
#define ERGON_RUNTIME_REMOTE_WAIT_H

#include <ergon/wait.h>

#include "server/runtime/threads/port.h"

struct remote_wait;

struct remote_wait_class {
    /* Called at home: starts the stand-in, as a start function does. */
    void (*start)(void *object, void *value, struct ao_wait *stand_in);
    /* Called at home when its port goes: settles all stand-ins.  NULL: the object's owner ends it
     * before the port. */
    void (*close)(void *object);
    /* Called here: the wait was granted.  Settles `w` READY. */
    void (*arrived)(void *object, void *value, struct ao_wait *w);
    /* Called here: the wait was granted, but nobody waits any more. */
    void (*undo)(void *object, void *value);
    /* A reference to the object more, and one less.  Any thread. */
    void (*hold)(void *object);
    void (*drop)(void *object);
};

/* Start function, called here.  `object` is held until the answer was handled; `value` is
 * passed on to the functions of the class.  Without memory the outcome is REFUSED. */
void remote_wait_start(const struct remote_wait_class *cls, void *object, void *value,
                       struct ao_port *home, struct ao_port *here, struct ao_wait *w);

#endif
