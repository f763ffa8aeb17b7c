/* The cooperative semaphore: `acquire` parks the object, never the thread; `release` grants in
 * order of arrival.
 *
 * Count and queue live at home, on one activator.  Objects of that activator use struct ao_sem
 * directly; all others use a counted ao_sem_remote, whose acquires and releases are messages to
 * home: the order of arrival is the order at home.
 *
 * A permit that is granted to an object which ends (inactive, faulted, retired) before it went on
 * goes to the next; so does one that crosses a cancel on its way to another activator.
 *
 * Thread: home, unless a function says otherwise.  Memory: semaphore and permits belong to who
 * declared them, and must not move. */
#ifndef ERGON_SEM_H
#define ERGON_SEM_H

#include <ergon/port.h>
#include <ergon/seq.h>

struct ao_sem_remote;

struct ao_sem {
    struct ao_wait_queue waiters;
    struct ao_sem_remote *remote; /* NULL unless it is shared with other threads; counted */
    uint32_t permits;             /* free ones; 0 whenever somebody waits */
    bool closed;
};

void ao_sem_init(struct ao_sem *s, uint32_t permits);

/* Closes and forgets.  Permits that were taken by hand need not be back; scoped ones, and those
 * that were granted and not used yet, go back when their holder ends: until then the semaphore
 * stands. */
void ao_sem_fini(struct ao_sem *s);

/* Settles all waiters as AO_WAIT_CLOSED, and each acquire from now on. */
void ao_sem_close(struct ao_sem *s);

/* Start function.  READY: one permit is the object's until it calls ao_sem_release(). */
void ao_sem_acquire(struct ao_sem *s, struct ao_wait *w);

/* Without waiting.  False: no permit is free, or the semaphore is closed; nothing was taken. */
bool ao_sem_try_acquire(struct ao_sem *s);

/* Gives one permit to whoever waits longest, or adds it.  The caller need not be the holder.
 * Misuse: beyond UINT32_MAX free ones. */
void ao_sem_release(struct ao_sem *s);

uint32_t ao_sem_waiting(const struct ao_sem *s); /* walks the queue */

/* --- The scoped form: the permit goes back when its holder ends, by fault as well ---
 *
 *     AO_SCOPED_ACQUIRE(self, &w->seq, &sem, &w->permit);
 *     AO_SLEEP(self, &w->seq, AO_S(2));
 *     AO_END(&w->seq);                       <- goes back here, at the latest
 *
 * The holder ends when it becomes inactive (so with AO_DONE), faults, or is retired.  The permit
 * lives in the holder's state and must not move; zeroed it holds nothing. */
struct ao_permit {
    struct ao_wait wait; /* its outcome is that of the acquire */
};
void ao_sem_acquire_scoped(struct ao_sem *s, struct ao_permit *p); /* start function */
void ao_permit_release(struct ao_permit *p);                       /* early; idempotent */

#define AO_SCOPED_ACQUIRE(self, seq, sem, permit)                                                  \
    AO_AWAIT(self, seq, &(permit)->wait, ao_sem_acquire_scoped((sem), (permit)))

/* --- From other activators and threads --- */

/* Counted; the caller gets one reference, and the semaphore keeps one until ao_sem_fini().  `port`
 * is that of the semaphore's home, and the same in every call for one semaphore.  Home thread; NULL
 * without memory. */
struct ao_sem_remote *ao_sem_share(struct ao_sem *s, struct ao_port *port);
struct ao_sem_remote *ao_sem_remote_ref(struct ao_sem_remote *r); /* any thread */
void ao_sem_remote_unref(struct ao_sem_remote *r);                /* any thread */

/* Start functions for objects of another activator; `here` is the port of that activator.  The
 * waiter keeps a reference to `r` while it waits or holds a permit.  REFUSED: out of memory. */
void ao_sem_remote_acquire(struct ao_sem_remote *r, struct ao_port *here, struct ao_wait *w);
void ao_sem_remote_acquire_scoped(struct ao_sem_remote *r, struct ao_port *here,
                                  struct ao_permit *p);

/* Any thread.  Never fails, never blocks. */
void ao_sem_remote_release(struct ao_sem_remote *r);

#endif
