/* The remote of a semaphore: what other threads use of it.
 *
 * Thread: each member says which.  Each holder of the remote has a reference. */
#ifndef ERGON_RUNTIME_SEMAPHORE_REMOTE_H
#define ERGON_RUNTIME_SEMAPHORE_REMOTE_H

#include <ergon/sem_remote.h>

#include "server/runtime/sync/remote_wait.h"
#include "server/runtime/threads/port.h"

struct ao_sem_remote {
    struct letter letter;      /* in flight while `returned` is not 0 */
    _Atomic uint32_t returned; /* released permits that home has not counted yet */
    _Atomic uint32_t refs;     /* references: holders, the semaphore, the letter in flight */
    struct ao_port *home;
    struct ao_sem *sem; /* home only; NULL once it has ended */
    struct ao_sem own;  /* home only; `sem` is this one after ao_sem_remote_new() */
};

/* A thread that runs no activator asks for `n` permits.  NULL without memory. */
struct thread_wait *sem_remote_wait(struct ao_sem_remote *r, uint32_t n, struct thread_bell bell);

#endif
