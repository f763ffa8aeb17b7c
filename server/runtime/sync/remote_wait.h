/* Waiting for something that lives on another activator, by an object or by a thread that runs
 * none.
 *
 * The record of the wait is the waiter's; what is made for the letters frees itself. */
#ifndef ERGON_RUNTIME_REMOTE_WAIT_H
#define ERGON_RUNTIME_REMOTE_WAIT_H

#include <ergon/wait.h>

#include "server/runtime/threads/port.h"

/* ==== of an object ==== */

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
 * Thread: "home" and "here" are the threads of those activators; each function says which. */

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

/* ==== of a thread ==== */

/* A wait of a thread, which is no activator's, for something at home on an activator.
 *
 *   the thread                                home (of what is waited for)
 *     start                        --go-->      a stand-in record waits in the queue
 *     wakes, and takes the answer  <--wake--    the stand-in is settled
 *     leaves                       --cancel-->  the stand-in, if still pending, is withdrawn
 *
 * One word decides who was first: home changes it from pending to the answer, or the thread from
 * pending to cancelled, and never both.  So what is granted to a thread that has left goes back at
 * home, and a grant that came first counts, even if the thread was about to leave.
 *
 * Thread: the functions are for the thread that waits; it owns the wait until it took the answer,
 * or has left.  What is made for the letters frees itself. */

struct thread_wait;

/* How the thread is told that the answer is there: wake(arg), at home, once, unless it has left
 * before.  The answer can be seen, and taken, before the call has returned: `arg` outlives it. */
struct thread_bell {
    void (*wake)(void *arg);
    void *arg;
};

/* `cls->start`, `hold` and `drop` are used; `object` is held until the end; `value` is passed on.
 * NULL without memory. */
struct thread_wait *thread_wait_start(const struct remote_wait_class *cls, void *object,
                                      void *value, struct ao_port *home, struct thread_bell bell);

/* The answer is there. */
bool thread_wait_answered(const struct thread_wait *t);

/* Takes the answer, which is there: READY or CLOSED.  `t` is gone. */
enum ao_wait_outcome thread_wait_take(struct thread_wait *t);

/* True: the thread waits no more, it holds nothing, and `t` is gone.  False: the answer is there.
 */
bool thread_wait_leave(struct thread_wait *t);

#endif
