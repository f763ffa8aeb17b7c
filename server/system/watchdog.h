/* The watchdog sees that each activator finishes its rounds, and names the step that has not
 * returned.  It lives on the main thread, looks while some activator is awake, and sleeps with
 * them: an idle server is not woken to be looked at.
 *
 * An activator that blocks in its poller is well, and one whose count of rounds has changed between
 * two looks.  Any other is *away* from the second look on that finds it so, until it has finished a
 * round.  The count is there anyway: to be watched costs an activator nothing.
 *
 * Thread: main, but for the waker, which the activators notify as they come back from blocking. */
#ifndef ERGON_WATCHDOG_H
#define ERGON_WATCHDOG_H

#include "server/runtime/threads/waker.h"
#include "server/system/threads.h"

struct watched;

/* Who is told when an activator goes away and when it is back. */
typedef void watchdog_told_fn(void *arg, const struct activator *a, bool away);

struct watchdog {
    struct waker waker;
    const struct threads *threads; /* borrowed */
    watchdog_told_fn *told;
    void *arg;
    ao_time round_limit; /* ns away from which on the server is not well; 0: it always is */
    ao_time looked;      /* time of the last look */
    ao_time next;        /* time of the next one, unless all sleep then */
    int fd;              /* eventfd: an activator has come awake */
    bool restless;       /* go on looking, even if all sleep */
    bool rested;         /* a whole period has passed since an activator came awake, and of none is
                          * it still to be said that it is back, or that its step has returned */
    bool unwell;         /* someone is away for longer than round_limit, and it was said */
    struct watched *at;  /* by thread */
};

/* Before the threads start: from now on a thread can be asked where it is, by a signal.  0, or -1
 * and the errno of sigaction(). */
int probe_install(void);

/* Before the threads start.  0, or -1 and errno (no memory, no descriptor); watchdog_close() must
 * follow either way. */
int watchdog_open(struct watchdog *w, struct threads *threads, ao_time round_limit,
                  watchdog_told_fn *told, void *arg);
void watchdog_close(struct watchdog *w); /* after the threads have ended; twice is fine */

/* How long the main thread may wait: until the next look, or AO_NEVER when all activators sleep at
 * the end of a period (then fd becomes readable when one comes awake): so under load there is one
 * look a period, not one a wake.  Who is away is looked at until it is back, even if all sleep by
 * then and the main thread was woken by something else before the look. */
ao_time watchdog_wait(struct watchdog *w);

/* The wait is over, for whatever reason.  If a look is due: tells who is away and who is back;
 * names in the log each step that has not returned, with its task and the frames of its stack:
 * once, again every ten seconds, and once when it has.  True: it has looked. */
bool watchdog_look(struct watchdog *w);
/* There is something else to be looked at every period, or no longer. */
void watchdog_go_on(struct watchdog *w, bool restless);

/* Has every activator finished a round lately, within round_limit? */
bool watchdog_well(const struct watchdog *w);

#endif
