/* The end of a round: decides whether to call the poller, and whether to block in it. */
#include <ergon/poller.h>

#include "server/runtime/round.h"

/* While there is work, the poller is called at least this often, so that ready events wait no
 * longer.  A call takes 0.2 us, one per cent of the interval.  The bound in rounds is for a clock
 * that does not advance. */
#define POLL_INTERVAL AO_US(20)
enum { POLL_ROUNDS = 64 };

/* Hints to the processor that this thread only waits. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* How often a spinning thread checks its own inputs between two calls of the poller.  Few times,
 * since each hint to the processor may take 140 cycles. */
enum { SPIN_LOOKS = 4 };
#define SPIN_LOOK_LEAST ((ao_time)100) /* ns; no machine needs less for them */

bool activator_busy(const struct activator *a)
{
    return a->dispatcher.count || a->hooks.first || a->overdue || !STAILQ_EMPTY(&a->dirty) ||
           a->retired_first;
}

/* True: other threads sent something.  A sleeper checks it once more before it blocks. */
static bool called(struct activator *a)
{
    return !mpsc_empty(&a->inbox->entries) ||
           atomic_load_explicit(&a->stopping, memory_order_acquire) || lanes_ready(a);
}

static void poll_now(struct activator *a, ao_time timeout)
{
    counter_add(&a->counters.polls, 1);
    a->unpolled = 0;
    a->last_poll = a->now;
    a->poller->poll(a->poller, timeout);
}

static void poll_busy(struct activator *a)
{
    if (++a->unpolled >= POLL_ROUNDS || a->now - a->last_poll >= POLL_INTERVAL)
        poll_now(a, 0);
}

static ao_time clock_now(const struct activator *a)
{
    return a->clock.now(a->clock.arg);
}

static ao_time time_left(const struct activator *a)
{
    ao_time next = timer_next(&a->timer);
    if (a->hooks_idle.first && hooks_next(a) < next)
        next = hooks_next(a);
    if (next == AO_NEVER)
        return AO_NEVER;
    ao_time now = clock_now(a);
    return next > now ? next - now : 0;
}

static void block_in_poller(struct activator *a, ao_time timeout)
{
    atomic_store_explicit(&a->blocked, true, memory_order_relaxed);
    poll_now(a, timeout);
    atomic_store_explicit(&a->blocked, false, memory_order_relaxed);
    if (a->watcher)
        waker_notify(a->watcher);
}

/* False: there was work, so it did not block. */
static bool block(struct activator *a)
{
    ao_time timeout = time_left(a);
    waker_announce(&a->waker);
    bool idle = !called(a);
    if (idle) {
        counter_add(&a->counters.blocks, timeout != 0);
        block_in_poller(a, timeout);
        if (!waker_announced(&a->waker))
            counter_add(&a->counters.wakes_received, 1);
    }
    waker_retract(&a->waker);
    return idle;
}

/* True: work came, or a deadline passed. */
static bool spin_look(struct activator *a)
{
    for (int i = 0; i < SPIN_LOOKS; i++) {
        if (called(a))
            return true;
        relax();
    }
    poll_now(a, 0);
    return activator_busy(a) || timer_next(&a->timer) <= clock_now(a);
}

/* The number of checks is bounded as well, far above what fits into the time, since a virtual clock
 * does not advance. */
static bool spin(struct activator *a, ao_time from, ao_time window)
{
    for (ao_time looks = window / SPIN_LOOK_LEAST + 1; looks > 0; looks--) {
        if (spin_look(a)) {
            counter_add(&a->counters.spins_won, 1);
            return true;
        }
        if (clock_now(a) - from >= window)
            break;
    }
    counter_add(&a->counters.spins_lost, 1);
    return false;
}

/* How long to spin now, by what was learnt.  If this thread has just woken another one, that may
 * need this processor, and the answer is 0. */
static ao_time window_learnt(struct activator *a, ao_time now)
{
    uint64_t steps = counter_read(&a->counters.steps);
    uint64_t wakes = counter_read(&a->counters.wakes_sent);
    bool woke = wakes != a->wakes_sent_then;
    spin_worked(&a->learnt, now - a->waited_since, steps - a->steps_then);
    a->waited_since = now;
    a->steps_then = steps;
    a->wakes_sent_then = wakes;
    ao_time window = woke ? 0 : spin_window(&a->learnt, now);
    if (window && a->preemptions && spin_look_due(&a->learnt, now))
        spin_preempted(&a->learnt, now, a->preemptions());
    return window;
}

/* Both return, as block() does, whether the thread had no work until the end. */
static bool wait_as_learnt(struct activator *a)
{
    ao_time from = clock_now(a);
    ao_time window = window_learnt(a, from);
    bool idle = !(window && spin(a, from, window)) && block(a);
    spin_waited(&a->learnt, clock_now(a) - from, window);
    return idle;
}

static bool wait_for_work(struct activator *a)
{
    if (a->idle == IDLE_AUTO)
        return wait_as_learnt(a);
    return !(a->idle == IDLE_SPIN && spin(a, clock_now(a), a->spin)) && block(a);
}

/* True: there is work before the thread may wait.  It asks the poller, and runs the hooks for a
 * time without work, which may bring some. */
static bool goes_on(struct activator *a)
{
    if (!hooks_forbid_rest(a))
        return false;
    poll_now(a, 0);
    return activator_busy(a) || called(a) || hooks_run_idle(a);
}

/* An activator that never blocks, because there is input whenever a round ends, counts as busy. */
void idle_poll(struct activator *a, bool may_block)
{
    if (!activator_busy(a)) {
        if (goes_on(a))
            return;
        if (!may_block || a->idle == IDLE_NEVER) {
            poll_now(a, 0);
            return;
        }
        if (wait_for_work(a))
            return;
    }
    poll_busy(a);
}
