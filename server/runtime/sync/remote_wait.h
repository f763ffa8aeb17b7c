/* Waiting for something that lives on another activator, by an object or by a thread that runs
 * none.
 *
 * The record of the wait is the waiter's; what is made for the letters frees itself. */
#ifndef ERGON_RUNTIME_REMOTE_WAIT_H
#define ERGON_RUNTIME_REMOTE_WAIT_H

#include <ergon/wait.h>

#include "server/runtime/threads/port.h"

/* ==== of an object ==== */

/* An object waits for something whose home is another activator.
 *
 *   here (the waiter's activator)             home (of what is waited for)
 *     start: the record is pending   --go-->    a proxy record waits in the queue
 *     answer: the record is settled  <--go--    the proxy is settled
 *     the waiter leaves              --cancel-> the proxy, if still pending, is withdrawn
 *
 * The letter `go` always comes back as the answer: a grant that crosses a cancel finds no waiter,
 * and is undone.  So each side has its own fields, and only the count of references is shared: one
 * for `go`, and one for a cancel in flight.
 *
 * Thread: "home" and "here" are the threads of those activators; each function says which. */

struct remote_wait;

struct remote_wait_class {
    /* Called at home: starts the proxy, as a start function does. */
    void (*start)(void *object, void *value, struct ao_wait *proxy);
    /* Called at home when its port is freed: settles all proxies.  NULL: the object's owner ends
     * the object before the port. */
    void (*close)(void *object);
    /* Called here: the wait was granted.  Settles `w` READY. */
    void (*arrived)(void *object, void *value, struct ao_wait *w);
    /* Called here: the wait was granted, but the waiter has left. */
    void (*undo)(void *object, void *value);
    /* Take and drop a reference to the object.  Any thread. */
    void (*hold)(void *object);
    void (*drop)(void *object);
};

/* The start function, called here.  It holds a reference to `object` until the answer was handled,
 * and passes `value` to the functions of the class.  Without memory the outcome is REFUSED. */
void remote_wait_start(const struct remote_wait_class *cls, void *object, void *value,
                       struct ao_port *home, struct ao_port *here, struct ao_wait *w);

/* ==== of a thread ==== */

/* A thread that runs no activator waits for something whose home is an activator.
 *
 *   the thread                                home (of what is waited for)
 *     start                        --go-->      a proxy record waits in the queue
 *     wakes, and takes the answer  <--wake--    the proxy is settled
 *     leaves                       --cancel-->  the proxy, if still pending, is withdrawn
 *
 * One word decides which side was first: either home changes it from pending to the answer, or the
 * thread changes it from pending to cancelled.  So a grant to a thread that has left is given back
 * at home, and a grant that came first counts, even if the thread was about to leave.
 *
 * Thread: the thread that waits; it owns the wait until it has taken the answer, or has left. */

struct thread_wait;

/* Notifies the thread of the answer: home calls wake(arg), once, unless the thread has left before.
 * The thread may see and take the answer before that call has returned, so `arg` must outlive the
 * call. */
struct thread_bell {
    void (*wake)(void *arg);
    void *arg;
};

/* Only `start`, `close`, `hold` and `drop` of the class are used.  A reference to `object` is held
 * until the end; `value` is passed to `start`.  NULL without memory. */
struct thread_wait *thread_wait_start(const struct remote_wait_class *cls, void *object,
                                      void *value, struct ao_port *home, struct thread_bell bell);

/* True: the answer is there. */
bool thread_wait_answered(const struct thread_wait *t);

/* Takes the answer, which must be there: READY or CLOSED.  Frees `t`. */
enum ao_wait_outcome thread_wait_take(struct thread_wait *t);

/* Ends the wait without an answer.  True: the thread holds nothing, and `t` is freed.  False: the
 * answer is there already. */
bool thread_wait_leave(struct thread_wait *t);

#endif
