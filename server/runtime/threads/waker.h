/* A waker lets a thread without work sleep, and another thread wake it, with no lock and one system
 * call per sleep.
 *
 *   sleeper                               producer
 *     waker_announce()                      publish the item
 *     check every input once more           waker_notify()
 *     block if there is nothing
 *     waker_retract()
 *
 * Both sides store, fence, and load, so at least one sees the other, and no wake-up is lost.
 * waker.c has the whole argument, and tests/model/ checks it with store buffers.  Nothing fails. */
#ifndef ERGON_RUNTIME_WAKER_H
#define ERGON_RUNTIME_WAKER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct poller;

struct waker {
    alignas(64) _Atomic uint32_t sleeping;
    void (*wake)(void *arg); /* ends the sleeper's blocking call; any thread */
    void *arg;
};

void waker_init(struct waker *w, void (*wake)(void *arg), void *arg);
void waker_init_poller(struct waker *w, struct poller *poller); /* for poll(); borrowed */
void waker_announce(struct waker *w);        /* sleeper; then check every input once more */
bool waker_announced(const struct waker *w); /* sleeper; false once a producer has sent the wake */
void waker_retract(struct waker *w);         /* sleeper; after blocking, or instead of it */
bool waker_notify(struct waker *w); /* any producer, after publishing; true: it sent the wake */

#endif
