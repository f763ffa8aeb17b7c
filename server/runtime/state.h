/* The insides of an activator, for the files of the runtime alone.  All of it belongs to the home
 * thread, but for what says otherwise.  It owns its inbox and its recorder; poller, clock and trace
 * are borrowed, as are objects, hooks and lanes that stand in its lists. */
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
    AO_FLAG_TIMED = 1,    /* it stands in the timer */
    AO_FLAG_BLOCKED = 2,  /* the sleep it is in ends by ao_unblock() too */
    AO_FLAG_RETIRED = 4,  /* it stands in the list of retired objects, or has left it */
    AO_FLAG_OVER = 8,     /* it has left that list: its `retired` is being called */
    AO_FLAG_UNTIMED = 128 /* it stands in the list of those that sleep without a deadline */
};

/* One step that has not returned: steps nest by activator_step_now().  What happens to the object
 * meanwhile is noted here, and decides with the verdict. */
struct frame {
    struct frame *outer;
    struct ao *ao;
    ao_time began;  /* only with a step limit */
    uint8_t why;    /* enum ao_why of this step */
    uint8_t notes;  /* enum frame_note */
    bool handed_on; /* it ran a step within itself, which ended at `began`; only with a limit */
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

/* What other threads read. */
struct activator_counters {
    counter rounds, steps, long_steps, polls, blocks, wakes_sent, wakes_received, spins_won,
        spins_lost, active, sleeping;
    struct histogram work; /* how long rounds took, without what was waited for at their end */
    struct longest step;   /* no step took longer than that: activator_longest_step() */
    /* The step that runs: written before each step when there is a limit.  Release and acquire of
     * `stepping`: a watchdog never sees a step with the time of an earlier one. */
    _Atomic(const struct ao_class *) stepping; /* NULL between steps */
    counter since;                             /* the clock when it began, ns */
};

struct hook_list {
    struct round_hook *first, *last;
};

struct activator {
    /* The way of each step. */
    struct dispatcher dispatcher;
    struct frame *frame; /* innermost step; NULL outside of steps */
    ao_time now;         /* ns, read once a round */
    ao_time step_limit;  /* ns; 0: steps are not measured */
    uint64_t steps;      /* since the counters were written */
    ao_time tick;        /* ns that clock.coarse may be off; AO_NEVER: steps are not measured */
    ao_time longest;     /* ns, of this round's steps by that clock */
    bool overdue;        /* the last look at the timer ended at its budget */
    bool closing;        /* activator_close() has begun: nothing becomes active any more */

    struct timer timer;
    struct ao *untimed_first, *untimed_last; /* sleep without a deadline; linked by prev and next */
    struct ao *retired_first, *retired_last; /* linked by next */
    struct hook_list hooks, hooks_running;   /* armed; of those, what this round has yet to run */
    struct hook_list hooks_idle;             /* armed for when there is nothing more to do */
    STAILQ_HEAD(, lane) inlets;              /* whose receiver lives here */
    STAILQ_HEAD(, lane) dirty;               /* with something to publish */
    SLIST_HEAD(, lane) local;                /* of those, the ones whose receiver lives here too */
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
    _Atomic uint32_t next_id; /* of objects, for the trace; relaxed: numbers only */
    _Atomic bool running;     /* relaxed: only its own thread and assertions look */
    char name[32];
    LIST_ENTRY(activator) open_link; /* of those that are open */

    struct waker *watcher; /* NULL: nobody watches */
    struct waker waker;    /* a line of its own: other threads read it */
    /* Release in activator_stop(), so that what it follows is seen; acquire in activator_run(). */
    _Atomic bool stopping;
    /* True from before the poller blocks until after.  Relaxed: the fences of the watcher's waker
     * order it, as they do any input: this thread stores false and notifies, the watcher announces
     * and loads. */
    _Atomic bool blocked;
    alignas(64) struct activator_counters counters;
};

/* The calling thread runs it, or nobody does. */
bool activator_owned(const struct activator *a);

/* Makes `a` the activator of this thread for a while; returns the one before. */
struct activator *activator_enter(struct activator *a);
void activator_exit(struct activator *a, struct activator *before);

#endif
