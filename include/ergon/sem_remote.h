/* A semaphore (<ergon/sem.h>) from other activators and threads: a counted face, whose acquires and
 * releases are messages to the semaphore's home.
 *
 * The order of arrival is the order at home, one for all: objects of home, objects of other
 * activators, and threads.
 *
 * Thread and memory: as each function says. */
#ifndef ERGON_SEM_REMOTE_H
#define ERGON_SEM_REMOTE_H

#include <ergon/port.h>
#include <ergon/sem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counted; the caller gets one reference, and the semaphore keeps one until ao_sem_fini().  `port`
 * is that of the semaphore's home, and the same in every call for one semaphore.  Home thread; NULL
 * without memory. */
struct ao_sem_remote *ao_sem_share(struct ao_sem *s, struct ao_port *port);

/* A semaphore that lives in its face, at home on the activator of `port`, for those who have no
 * object there: it stays as long as references to it, and is closed when the port is freed.  The
 * caller gets one.  Any thread; NULL without memory. */
struct ao_sem_remote *ao_sem_remote_new(struct ao_port *port, uint32_t permits);

struct ao_sem_remote *ao_sem_remote_ref(struct ao_sem_remote *r); /* any thread */
void ao_sem_remote_unref(struct ao_sem_remote *r);                /* any thread */

/* Start functions for objects of another activator; `here` is the port of that activator.  The
 * waiter keeps a reference to `r` while it waits; whoever holds permits sees to one.  REFUSED: out
 * of memory. */
void ao_sem_remote_acquire(struct ao_sem_remote *r, struct ao_port *here, struct ao_wait *w);
void ao_sem_remote_acquire_n(struct ao_sem_remote *r, uint32_t n, struct ao_port *here,
                             struct ao_wait *w);
void ao_sem_remote_acquire_scoped(struct ao_sem_remote *r, struct ao_port *here,
                                  struct ao_permit *p);
void ao_sem_remote_acquire_n_scoped(struct ao_sem_remote *r, uint32_t n, struct ao_port *here,
                                    struct ao_permit *p);

/* Any thread that runs no activator: waits itself, for `limit` ns at most (AO_NEVER: without end),
 * until it has `n` permits.  READY: they are the caller's.  DEADLINE, CLOSED (so once the port
 * is freed), REFUSED (out of memory): nothing is held, and none is lost, whenever the limit meets
 * the grant.  The answer comes from home, in a round of its activator: a limit of 0 is always over
 * first.  Blocking handlers rather call ergon_sem_acquire(), which ends with their task.  Misuse:
 * on a thread that runs an activator, whose objects park instead. */
enum ao_wait_outcome ao_sem_remote_acquire_blocking(struct ao_sem_remote *r, uint32_t n,
                                                    ao_time limit);

/* Any thread; never blocks.  Misuse: more than UINT32_MAX that home has not counted yet. */
void ao_sem_remote_release(struct ao_sem_remote *r);
void ao_sem_remote_release_n(struct ao_sem_remote *r, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
