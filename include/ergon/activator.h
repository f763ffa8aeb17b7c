/* The activator: one thread that steps the active objects of one event loop, round after round.
 *
 * A round: take the control inbox; run what inbound lanes and due timers woke; step each object
 * that was active when the round began, once, in order; flush staged lanes and wake the peers that
 * sleep; run the round-end hooks; poll: without blocking while anything is active, until the next
 * deadline when nothing is.
 *
 * Out of turn: what one object hands to another of the same activator by a lane is taken in this
 * round yet, a batch at once and the rest when all have had their turn, by at most 256 further
 * steps.  No object loses its turn by it, and the order of what is handed over is kept.
 *
 * Time, randomness and I/O are passed in.  The same activator runs on a virtual clock in tests.
 *
 * Thread: the one that runs the activator ("home"), unless a function says otherwise; while nobody
 * runs it, any one thread at a time.
 *
 * Whoever breaks a contract ("misuse", here and in the other headers of the runtime) is told so on
 * stderr, and the process aborts, in every build. */
#ifndef ERGON_ACTIVATOR_H
#define ERGON_ACTIVATOR_H

#include <ergon/ao.h>

#ifdef __cplusplus
extern "C" {
#endif

struct poller; /* <ergon/poller.h> */
struct lane;   /* server/runtime/threads/lane.h */
struct trace;  /* server/runtime/object/trace.h */

struct ao_clock {
    ao_time (*now)(void *arg); /* monotonic */
    void *arg;
    /* The same to some milliseconds, but cheap; NULL: there is none. */
    ao_time (*coarse)(void *arg);
};
extern const struct ao_clock ao_clock_monotonic;

enum idle_mode {
    IDLE_SLEEP, /* block in the poller at once */
    IDLE_SPIN,  /* look for work `spin` long first */
    IDLE_NEVER, /* never block */
    IDLE_AUTO   /* look for work at most `spin` long first, while experience says that it pays */
};

struct activator_options {
    const char *name;             /* copied */
    const struct ao_clock *clock; /* borrowed; NULL: ao_clock_monotonic */
    struct poller *poller;        /* borrowed; must outlive the activator */
    struct trace *trace;          /* borrowed; NULL: no trace */
    uint64_t seed;                /* of activator_random(); 0 is a seed like any other */
    int core;                     /* processor to run on, -1 any */
    int priority;                 /* nice value of the thread, 0 leaves it */
    enum idle_mode idle;
    ao_time spin; /* ns, IDLE_SPIN and IDLE_AUTO */
    /* How often the calling thread was preempted since it started: spinning ends where others want
     * the processor (IDLE_AUTO).  NULL: not known. */
    uint64_t (*preemptions)(void);
    ao_time step_limit; /* a longer step is counted and logged; 0: not measured */
};

/* Any thread.  The caller closes it with activator_close().  NULL and errno: EINVAL (no poller) or
 * ENOMEM.  Misuse: an `idle` that is none, a core that the machine does not have, a poller or
 * a clock without its functions. */
struct activator *activator_open(const struct activator_options *options);

/* Rounds on the calling thread until activator_stop().  Sets core and priority (a failure of either
 * is logged).  Misuse, here and of a single round: within a step or a round of it, or while another
 * thread runs it. */
void activator_run(struct activator *a);

/* One round; blocks in the poller only if `may_block` and nothing is active.  True while the next
 * round has something to do: active objects, armed hooks, deadlines that passed, lanes with
 * overflow. */
bool activator_round(struct activator *a, bool may_block);

/* Any thread: the run ends after its current round. */
void activator_stop(struct activator *a);

/* After the run has ended, any thread.  What it still holds is finished in this order: control
 * inbox (requests are refused with AO_E_CLOSED), active objects (deactivated, in list order),
 * sleeping objects of the timer (by deadline), those that sleep without a deadline (who fell asleep
 * first goes first), retired objects.  All of them are inactive then, and hold and wait for
 * nothing; handles answer AO_E_CLOSED.  The activator's memory is gone afterwards; poller, clock
 * and trace are still the caller's.  Misuse: within a step or a round of it, while another thread
 * runs it, and twice. */
void activator_close(struct activator *a);

ao_time activator_now(const struct activator *a);   /* read once a round */
ao_time activator_clock(const struct activator *a); /* read anew: to stand beside another clock */
uint64_t activator_random(struct activator *a);
struct activator *activator_current(void); /* of this thread; NULL elsewhere */
const char *activator_name(const struct activator *a);
struct trace *activator_trace(const struct activator *a);

/* Aborts unless the calling thread runs it, or nobody does. */
void activator_assert_owner(const struct activator *a);

/* A hook is the caller's memory, which stands while it is armed.
 *
 * Runs once at the end of this round, after the lanes were flushed.  Arming an armed hook is a
 * no-op; a hook may arm itself again, which is for the next round (and keeps the activator from
 * blocking).  Hooks run in order of arming.  Misuse: one without `run`, a delay that is not finite,
 * to forget it at another activator than it was armed at. */
struct round_hook {
    struct round_hook *next; /* private */
    void (*run)(struct round_hook *hook);
    ao_time due; /* private */
    bool armed;  /* private */
    bool blocks; /* private */
};
void activator_at_round_end(struct activator *a, struct round_hook *hook);
/* Runs once, for what costs as much for many as for one: when the activator has nothing more to do
 * and would rest, or at the end of a round that began `longest_delay` (ns, finite) later.  One that
 * arms itself again so keeps the activator from blocking. */
void activator_when_idle(struct activator *a, struct round_hook *hook, ao_time longest_delay);
/* Disarms it; of a hook that is not armed a no-op.  Before its memory goes. */
void activator_forget_hook(struct activator *a, struct round_hook *hook);

/* Steps an object of this activator now, inside the current step, and applies the verdict;
 * ao_current() is `ao` meanwhile.  For executors, which decide themselves when their tasks run. The
 * object must be inactive or active and not be stepping already.  Returns its state afterwards. */
enum ao_state activator_step_now(struct activator *a, struct ao *ao);

/* Counters of one activator.  Read from any thread, each by itself (relaxed): figures, not logic.
 */
struct activator_stats {
    uint64_t rounds, steps, long_steps, polls, blocks, wakes_sent, wakes_received, spins_won,
        spins_lost;
    uint64_t active, sleeping; /* now; sleeping counts those in the timer */
};
void activator_stats(const struct activator *a, struct activator_stats *out);

/* The class of the object whose step has run longer than step_limit and has not returned, or NULL.
 * Any thread; for a watchdog.  `*since` is the clock's time at which the step began. */
const struct ao_class *activator_stuck(const struct activator *a, ao_time *since);

/* For a watcher that need not look while everybody sleeps.  activator_watch(): before the run;
 * `watcher` (borrowed) is notified whenever the activator comes back from blocking.
 * activator_blocked(): any thread; after the watcher announced its own sleep, false is certain to
 * be followed by a notification or a look. */
struct waker;
void activator_watch(struct activator *a, struct waker *watcher);
bool activator_blocked(const struct activator *a);

#ifdef __cplusplus
}
#endif

#endif
