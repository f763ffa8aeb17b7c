/* The inside of an activator, for the files of the runtime only.  A member belongs to the home
 * thread unless its comment says otherwise.  The activator owns its inbox and its recorder; it
 * borrows poller, clock and trace, and the objects, hooks and lanes in its lists. */
#ifndef ERGON_RUNTIME_STATE_H
#define ERGON_RUNTIME_STATE_H

#include <ergon/activator.h>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/list.h"
#include "base/longest.h"
#include "server/runtime/object/dispatcher.h"
#include "server/runtime/object/timer.h"
#include "server/runtime/spin.h"
#include "server/runtime/threads/post.h"
#include "server/runtime/threads/waker.h"

/* struct ao.flags, beside TIMER_FLAGS */
enum {
    AO_FLAG_TIMED = 1,    /* it is in the timer */
    AO_FLAG_BLOCKED = 2,  /* ao_unblock() ends its sleep, too */
    AO_FLAG_RETIRED = 4,  /* it is in the list of retired objects, or has left it */
    AO_FLAG_OVER = 8,     /* it has left that list: its `retired` is being called */
    AO_FLAG_UNTIMED = 128 /* it is in the list of objects that sleep without a deadline */
};

/* A step that has not returned; steps nest by activator_step_now().  It notes what happens to the
 * object meanwhile, which decides together with the verdict. */
struct frame {
    struct frame *outer;
    struct ao *ao;
    ao_time began;  /* only with a step limit */
    uint8_t why;    /* enum ao_why of this step */
    uint8_t notes;  /* enum frame_note */
    bool handed_on; /* it ran an inner step, which ended at `began`; only with a limit */
};

enum frame_note {
    NOTE_ACTIVATED = 1, /* AO_DONE does not make it inactive */
    NOTE_WOKEN = 2,     /* AO_PARK does not put it to sleep */
    NOTE_DEADLINE = 4,  /* ao->due is the deadline of the sleep about to be entered */
    NOTE_GONE = 8,      /* deactivated or retired: the verdict is ignored */
    NOTE_FAULT = 16,    /* ao_fault() has said why */
    NOTE_BLOCKED = 32,  /* ao_block() said "park now" */
    NOTE_UNBLOCKED = 64 /* and the unblock came since: AO_PARK does not put it to sleep */
};

enum { FAULT_TEXT_MAX = 200 };

struct fault {
    int code;
    char text[FAULT_TEXT_MAX + 1];
};

/* Figures that other threads read. */
struct activator_counters {
    counter rounds, steps, long_steps, polls, blocks, wakes_sent, wakes_received, spins_won,
        spins_lost, active, sleeping;
    struct histogram work; /* how long rounds took, without the wait at their end */
    struct longest step;   /* the longest step: activator_longest_step() */
    /* The step that runs, written before each step if there is a limit.  Release and acquire of
     * `stepping`, so that a watchdog never sees a step with the time of an earlier one. */
    _Atomic(const struct ao_class *) stepping; /* NULL between steps */
    counter since;                             /* the clock when it began, ns */
};

struct hook_list {
    struct round_hook *first, *last;
};

struct activator {
    /* What each step uses. */
    struct dispatcher dispatcher;
    struct frame *frame; /* innermost step; NULL outside of steps */
    ao_time now;         /* ns, read once a round */
    ao_time step_limit;  /* ns; 0: steps are not measured */
    uint64_t steps;      /* since the counters were written */
    ao_time tick;        /* ns that clock.coarse may be off; AO_NEVER: steps are not measured */
    ao_time longest;     /* ns, of this round's steps by that clock */
    bool overdue;        /* the last call of the timer used up its budget */
    bool closing;        /* activator_close() has begun: nothing becomes active any more */

    struct timer timer;
    struct ao *untimed_first, *untimed_last; /* sleep without a deadline; linked by prev and next */
    struct ao *retired_first, *retired_last; /* linked by next */
    struct hook_list hooks, hooks_running;   /* armed; those that this round has yet to run */
    struct hook_list hooks_idle;             /* armed for the next time without work */
    STAILQ_HEAD(, lane) inlets;              /* lanes whose receiver lives here */
    STAILQ_HEAD(, lane) dirty;               /* lanes with something to publish */
    SLIST_HEAD(, lane) local;                /* dirty lanes whose receiver lives here, too */
    struct inbox *inbox;
    struct fault fault; /* of the step that is about to return AO_FAULT */
    uint64_t random;

    struct ao_clock clock;
    struct poller *poller;
    struct trace *trace;
    struct recorder *recorder;
    ao_time last_poll; /* ns */
    unsigned unpolled; /* rounds since then */
    ao_time spin;      /* ns */
    enum idle_mode idle;
    struct spin learnt;       /* IDLE_AUTO, as are the three below */
    ao_time waited_since;     /* ns, when the last wait began */
    uint64_t steps_then;      /* counters.steps at that time */
    uint64_t wakes_sent_then; /* counters.wakes_sent at that time */
    uint64_t (*preemptions)(void);
    int core, priority;
    _Atomic uint32_t next_id; /* of objects, for the trace; relaxed: it only makes numbers */
    _Atomic bool running;     /* relaxed: only its own thread and assertions read it */
    char name[32];
    LIST_ENTRY(activator) open_link; /* of those that are open */

    struct waker *watcher; /* NULL: no watchdog */
    struct waker waker;    /* on a cache line of its own, since other threads read it */
    /* Release in activator_stop() and acquire in activator_run(): what the stopper wrote is seen.
     */
    _Atomic bool stopping;
    /* True from before the poller blocks until after.  Relaxed: the fences of the watcher's waker
     * order it, as they do any input.  This thread stores false and notifies; the watcher announces
     * and loads. */
    _Atomic bool blocked;
    alignas(64) struct activator_counters counters;
};

/* True: the calling thread runs it, or no thread does. */
bool activator_owned(const struct activator *a);

/* Makes `a` the activator of this thread for a while; returns the one before. */
struct activator *activator_enter(struct activator *a);
void activator_exit(struct activator *a, struct activator *before);

#endif
