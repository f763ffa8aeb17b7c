/* Where an activator waits.  A poller is a small table, so that the runtime links without libevent:
 * poller_libevent.c is one implementation, the virtual poller of the tests another.
 *
 * A poller serves one activator, and is freed by who made it after the activator was closed.
 *
 * Thread: poll() is called on the activator's thread, wake() on any; a poller is made and freed
 * while nobody runs the activator. */
#ifndef ERGON_POLLER_H
#define ERGON_POLLER_H

#include <ergon/ao.h>

#ifdef __cplusplus
extern "C" {
#endif

struct poller {
    /* Runs what is ready, after waiting at most `timeout` ns (0: not at all, AO_NEVER: without
     * limit).  May return early.  Called on the activator's thread. */
    void (*poll)(struct poller *self, ao_time timeout);
    /* Any thread: makes a blocked poll(), or else the next one, return.  Never blocks; several
     * calls may count as one. */
    void (*wake)(struct poller *self);
};

/* poller_libevent.c: a poller over an event_base of its own (no locks, epoll; an eventfd for wakes
 * and a timerfd for deadlines, neither of which is ever read). */
struct event_base;
struct poller *poller_libevent_new(void); /* NULL and errno: ENOMEM, EMFILE, ENFILE */
void poller_libevent_free(struct poller *poller);

/* The poller's own; for the activator's thread only. */
struct event_base *poller_libevent_base(struct poller *poller);

/* poller_eventfd.c: blocks on one eventfd; no other events.  For activators that serve no
 * connections. */
struct poller *poller_eventfd_new(void); /* NULL and errno: ENOMEM, EMFILE, ENFILE */
void poller_eventfd_free(struct poller *poller);

#ifdef __cplusplus
}
#endif

#endif
