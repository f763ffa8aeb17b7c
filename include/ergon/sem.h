/* The cooperative semaphore: `acquire` parks the object, never the thread; `release` grants in
 * order of arrival.
 *
 * An acquire may ask for several permits at once, and gets all of them or waits.  The order of
 * arrival holds for these too: who wants many and stands first is not overtaken by who wants few
 * and came later, even if there are enough permits for the latter; these are kept for the first.
 * When the first leaves (deadline, cancel, its object's end), those behind it get what is free.
 * Nobody knows how many permits there will ever be: who asks for more than that waits, and holds up
 * all others, until its deadline.
 *
 * Count and queue live at home, on one activator.  Objects of that activator use struct ao_sem
 * directly; all others, and threads that are no activator's, use a counted ao_sem_remote
 * (<ergon/sem_remote.h>), whose acquires and releases are messages to home: the order of arrival is
 * the order at home.
 *
 * Permits that are granted to an object which ends (inactive, faulted, retired) before it went on
 * go to the next; so do those that cross a cancel on their way to another activator.
 *
 * Misuse: to ask for, or give, 0 permits.
 *
 * Thread: home.  Memory: semaphore and permits belong to who declared them, and must not move. */
#ifndef ERGON_SEM_H
#define ERGON_SEM_H

#include <ergon/seq.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ao_sem_remote;

struct ao_sem {
    struct ao_wait_queue waiters;
    struct ao_sem_remote *remote; /* NULL unless it is shared with other threads; counted */
    uint32_t permits;             /* free ones; fewer than the first wants if somebody waits */
    bool closed;
};

void ao_sem_init(struct ao_sem *s, uint32_t permits);

/* Closes and forgets.  Permits that were taken by hand need not be back; scoped ones, and those
 * that were granted and not used yet, go back when their holder ends: until then the semaphore
 * stands. */
void ao_sem_fini(struct ao_sem *s);

/* Settles all waiters as AO_WAIT_CLOSED, and each acquire from now on. */
void ao_sem_close(struct ao_sem *s);

/* Start functions.  READY: one permit, or `n`, are the object's until it calls ao_sem_release() or
 * ao_sem_release_n().  The record's value is the semaphore's own. */
void ao_sem_acquire(struct ao_sem *s, struct ao_wait *w);
void ao_sem_acquire_n(struct ao_sem *s, uint32_t n, struct ao_wait *w);

/* Without waiting.  False: too few permits are free, somebody waits, or the semaphore is closed;
 * nothing was taken. */
bool ao_sem_try_acquire(struct ao_sem *s);
bool ao_sem_try_acquire_n(struct ao_sem *s, uint32_t n);

/* Adds permits, and grants what those who wait longest now can get.  The caller need not be the
 * holder, and several may be given back one by one.  Misuse: beyond UINT32_MAX free ones. */
void ao_sem_release(struct ao_sem *s);
void ao_sem_release_n(struct ao_sem *s, uint32_t n);

uint32_t ao_sem_waiting(const struct ao_sem *s); /* walks the queue */

/* --- The scoped form: the permits go back when their holder ends, by fault as well ---
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
void ao_sem_acquire_n_scoped(struct ao_sem *s, uint32_t n, struct ao_permit *p);
void ao_permit_release(struct ao_permit *p); /* early, all of them; idempotent */

#define AO_SCOPED_ACQUIRE(self, seq, sem, permit)                                                  \
    AO_AWAIT(self, seq, &(permit)->wait, ao_sem_acquire_scoped((sem), (permit)))

#ifdef __cplusplus
}
#endif

#endif
