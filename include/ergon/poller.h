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
 * and a timerfd for deadlines, neither of which is ever read), which watches descriptors, too. */
struct poller *poller_libevent_new(void); /* NULL and errno: ENOMEM, EMFILE, ENFILE */
void poller_libevent_free(struct poller *poller);

/* Bits.  POLLER_CLOSED: the peer sends nothing more.  POLLER_EDGES, to be asked for only: each
 * condition is reported once when it begins to hold, and not for as long as it holds. */
enum poller_event { POLLER_READ = 1, POLLER_WRITE = 2, POLLER_CLOSED = 4, POLLER_EDGES = 8 };

struct poller_watch;

/* What many watches have in common.  Its owner's; it outlives them. */
struct poller_watcher {
    struct poller *poller; /* a poller_libevent; borrowed */
    /* Within poll(): what holds of the descriptor, in bits; conditions that nobody asked for may be
     * among them.  It may change this watch, and no other; the memory of all stays until poll()
     * has returned. */
    void (*on_event)(struct poller_watch *w, unsigned what);
};

/* One descriptor that is watched; part of its owner, and stands still meanwhile.  The owner knows
 * the descriptor and what is asked for, so neither is kept here. */
struct poller_watch {
    const struct poller_watcher *watcher;
};

/* What on_event is to be called for, from now on: `what`, where it was `was` until now; 0: nothing,
 * as before the first call, and before the descriptor is closed.  The activator's thread; not
 * within poll() but as above.  False without memory (ENOMEM, or ENOSPC, a limit of the system's):
 * then nothing has changed.  To ask for nothing never fails. */
bool poller_change(struct poller_watch *w, int fd, unsigned was, unsigned what);

/* poller_eventfd.c: blocks on one eventfd; no other events.  For activators that serve no
 * connections. */
struct poller *poller_eventfd_new(void); /* NULL and errno: ENOMEM, EMFILE, ENFILE */
void poller_eventfd_free(struct poller *poller);

#ifdef __cplusplus
}
#endif

#endif
