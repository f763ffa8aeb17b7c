/* The watchdog names the object whose step has not returned.  It lives on the main thread, looks
 * while some activator is awake, and sleeps with them: an idle server is not woken to be looked at.
 *
 * Thread: main, but for the waker, which the activators notify as they come back from blocking. */
#ifndef ERGON_WATCHDOG_H
#define ERGON_WATCHDOG_H

#include "server/runtime/threads/waker.h"
#include "server/threads.h"

struct watchdog {
    struct waker waker;
    const struct threads *threads; /* borrowed */
    ao_time period;                /* ns between two looks */
    int fd;                        /* eventfd: an activator has come awake; -1 when nobody looks */
    bool rested;                   /* a whole period has passed since an activator came awake */
    ao_time *named; /* by thread: when the step that was named last had begun; 0: none */
};

/* Before the threads start.  A `limit` of 0: nobody looks.  0, or -1 and errno (no memory, no
 * descriptor); watchdog_close() must follow either way. */
int watchdog_open(struct watchdog *w, struct threads *threads, ao_time limit);
void watchdog_close(struct watchdog *w); /* after the threads have ended */

/* How long the main thread may wait: a period, or AO_NEVER when all activators sleep at the end of
 * one (then fd becomes readable when one comes awake): so under load there is one look a period,
 * not one a wake. */
ao_time watchdog_wait(struct watchdog *w);
void watchdog_awake(struct watchdog *w, bool timed_out); /* the wait is over */

/* Names in the log each object that is stuck, once a step. */
void watchdog_look(struct watchdog *w);

#endif
