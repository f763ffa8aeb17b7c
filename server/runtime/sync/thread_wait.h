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
#ifndef ERGON_RUNTIME_THREAD_WAIT_H
#define ERGON_RUNTIME_THREAD_WAIT_H

#include <ergon/wait.h>

#include "server/runtime/sync/remote_wait.h"

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
