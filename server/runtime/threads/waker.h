/* How a thread with nothing to do sleeps, and how another wakes it: no lock, one system call a
 * sleep.
 *
 *   sleeper                               producer
 *     waker_announce()                      publish the item
 *     look at every input once more         waker_notify()
 *     nothing: block; something: go on
 *     waker_retract()
 *
 * Both sides store, fence, load: so at least one sees the other, and no wake-up is lost.  The whole
 * argument stands in waker.c; tests/model/ checks it with store buffers.  Nothing fails. */
#ifndef ERGON_RUNTIME_WAKER_H
#define ERGON_RUNTIME_WAKER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct poller;

struct waker {
    alignas(64) _Atomic uint32_t sleeping;
    void (*wake)(void *arg); /* any thread; makes the sleeper's blocking call return */
    void *arg;
};

void waker_init(struct waker *w, void (*wake)(void *arg), void *arg);
void waker_init_poller(struct waker *w, struct poller *poller); /* it blocks in poll(); borrowed */
void waker_announce(struct waker *w);        /* sleeper; then look at every input once more */
bool waker_announced(const struct waker *w); /* sleeper; false once a producer has sent the wake */
void waker_retract(struct waker *w);         /* sleeper; after blocking, or instead of it */
bool waker_notify(struct waker *w); /* any producer, after publishing; true when it sent the wake */

#endif
