/* What other threads may know of an activator. */
#include <ergon/activator.h>

#include "server/runtime/rounds.h"
#include "server/runtime/state.h"

void activator_stats(const struct activator *a, struct activator_stats *out)
{
    const struct activator_counters *f = &a->counters;
    *out = (struct activator_stats){
        .rounds = counter_read(&f->rounds),
        .steps = counter_read(&f->steps),
        .long_steps = counter_read(&f->long_steps),
        .polls = counter_read(&f->polls),
        .blocks = counter_read(&f->blocks),
        .wakes_sent = counter_read(&f->wakes_sent),
        .wakes_received = counter_read(&f->wakes_received),
        .spins_won = counter_read(&f->spins_won),
        .spins_lost = counter_read(&f->spins_lost),
        .active = counter_read(&f->active),
        .sleeping = counter_read(&f->sleeping),
    };
}

void activator_rounds_took(const struct activator *a, struct histogram_sum *out)
{
    histogram_read(&a->counters.work, out);
}

/* The step that has not returned, if it is too long already. */
static ao_time under_way(const struct activator *a, ao_time now)
{
    ao_time since;
    return activator_stuck(a, &since) && now > since ? now - since : 0;
}

ao_time activator_longest_step(const struct activator *a)
{
    ao_time ended = longest_ever(&a->counters.step);
    ao_time goes_on = under_way(a, a->clock.now(a->clock.arg));
    return ended > goes_on ? ended : goes_on;
}

ao_time activator_longest_step_lately(const struct activator *a)
{
    ao_time now = a->clock.now(a->clock.arg);
    ao_time ended = longest_lately(&a->counters.step, now), goes_on = under_way(a, now);
    return ended > goes_on ? ended : goes_on;
}

const struct ao_class *activator_stuck(const struct activator *a, ao_time *since)
{
    const struct activator_counters *f = &a->counters;
    /* Acquire: `since` is that of this step or of a later one.  Pairs with the release in
     * mark_step(). */
    const struct ao_class *cls = atomic_load_explicit(&f->stepping, memory_order_acquire);
    ao_time began = counter_read(&f->since);
    ao_time now = a->clock.now(a->clock.arg);
    if (!cls || now <= began || now - began <= a->step_limit)
        return NULL;
    *since = began;
    return cls;
}

void activator_watch(struct activator *a, struct waker *watcher)
{
    a->watcher = watcher;
}

bool activator_blocked(const struct activator *a)
{
    return atomic_load_explicit(&a->blocked, memory_order_relaxed);
}
