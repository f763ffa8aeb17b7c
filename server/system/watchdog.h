/* The watchdog checks that each activator finishes its rounds, and reports the step that has not
 * returned.  It runs on the main thread.  It checks while some activator is awake, and sleeps while
 * all of them sleep: an idle server does not wake up for it.
 *
 * An activator is well if it blocks in its poller, or if its count of rounds has changed between
 * two checks.  Any other activator is *away*, from the second check that finds it so until it has
 * finished a round.  The count exists anyway, so the watchdog costs an activator nothing.
 *
 * Thread: main, except the waker, which an activator notifies when it returns from blocking. */
#ifndef ERGON_WATCHDOG_H
#define ERGON_WATCHDOG_H

#include "server/runtime/threads/waker.h"
#include "server/system/threads.h"

struct watched;

/* Called when an activator goes away, and when it is back. */
typedef void watchdog_notify_fn(void *arg, const struct activator *a, bool away);

struct watchdog {
    struct waker waker;
    const struct threads *threads; /* borrowed */
    watchdog_notify_fn *notify;
    void *arg;
    ao_time round_limit; /* ns; an activator that is away for longer makes the server unwell;
                          * 0: the server is always well */
    ao_time looked;      /* time of the last check */
    ao_time next;        /* time of the next check, unless all activators sleep then */
    int fd;              /* eventfd: an activator has woken up */
    bool restless;       /* keep checking, even if all activators sleep */
    bool rested;         /* a whole period has passed since an activator woke up, and no report of
                          * a return is outstanding */
    bool unwell;         /* an activator is away for longer than round_limit, and the log says so */
    struct watched *at;  /* by thread */
};

/* Installs the handler of the signal that asks a thread where it is.  Call it before the threads
 * start.  0, or -1 and the errno of sigaction(). */
int probe_install(void);

/* Call it before the threads start.  0, or -1 and errno: there is no memory or no descriptor.
 * watchdog_close() must follow either way. */
int watchdog_open(struct watchdog *w, struct threads *threads, ao_time round_limit,
                  watchdog_notify_fn *notify, void *arg);
void watchdog_close(struct watchdog *w); /* after the threads have ended; twice is fine */

/* Returns how long the main thread may wait: until the next check, or AO_NEVER if all activators
 * sleep at the end of a period; then fd becomes readable when one of them wakes up.  So under load
 * there is one check per period, not one per wake-up.  An activator that is away is checked until
 * it is back, even if all of them sleep by then and something else woke the main thread first. */
ao_time watchdog_wait(struct watchdog *w);

/* Call it whenever the wait is over, for whatever reason.  If a check is due, it notifies of
 * activators that went away or are back, and logs each step that has not returned, with its task
 * and the frames of its stack: once, then every ten seconds, and once more when the step has
 * returned. True: a check was made. */
bool watchdog_look(struct watchdog *w);
/* The caller has something else to check every period (`restless`), or no longer. */
void watchdog_go_on(struct watchdog *w, bool restless);

/* True: every activator has finished a round within round_limit. */
bool watchdog_well(const struct watchdog *w);

#endif
