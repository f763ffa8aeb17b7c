/* The face of a semaphore to other threads, as far as the semaphore itself knows it:
 * semaphore_remote.c is built on semaphore.c.
 *
 * Thread: as each field says.  Each of its holders keeps a reference. */
#ifndef ERGON_RUNTIME_SEMAPHORE_REMOTE_H
#define ERGON_RUNTIME_SEMAPHORE_REMOTE_H

#include <ergon/sem_remote.h>

#include "server/runtime/sync/remote_wait.h"
#include "server/runtime/threads/port.h"

struct ao_sem_remote {
    struct letter letter;      /* under way while `returned` is not 0 */
    _Atomic uint32_t returned; /* permits that home has not counted yet */
    _Atomic uint32_t refs;     /* holders, the semaphore, the letter under way */
    struct ao_port *home;
    struct ao_sem *sem; /* home only; NULL once it is gone */
    struct ao_sem own;  /* home only; what `sem` is, of one made by ao_sem_remote_new() */
};

/* Of a thread that is no activator's: asks for `n` permits.  NULL without memory. */
struct thread_wait *sem_remote_wait(struct ao_sem_remote *r, uint32_t n, struct thread_bell bell);

#endif
