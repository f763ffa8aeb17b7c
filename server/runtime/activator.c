/* Opens an activator, runs its rounds, shows its figures and closes it. */
#include <ergon/activator.h>
#include <ergon/poller.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/recorder.h"
#include "server/runtime/activator.h"
#include "server/runtime/object/object.h"
#include "server/runtime/object/trace.h"
#include "server/runtime/round.h"
#include "server/runtime/thread.h"

/* What one round does for the timer: it moves objects towards their deadline, and takes those that
 * are due.  An object that slept for long is in no cache, and one that is due is stepped as well,
 * and often ends.  In the worst order of memory each of the two budgets takes about 0.3 ms, and
 * with the steps twice that. */
enum { EXPIRE_BUDGET = 1024, EXPIRE_MOST = EXPIRE_BUDGET / 4 };

/* The least step limit for which a coarse clock is used: it is off by some milliseconds. */
#define COARSE_LIMIT AO_MS(16)

/* A longer time between two rounds is recorded. */
static const ao_time LONG_SLEEP = AO_S(1);

/* ---- the open activators ----
 *
 * The list detects an activator that is closed twice, whose memory has been freed.  Any thread; it
 * is only used when an activator is opened or closed.  It borrows the activators. */

static LIST_HEAD(, activator) activators = LIST_HEAD_INITIALIZER(activators);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void open_note(struct activator *a)
{
    pthread_mutex_lock(&mutex);
    LIST_INSERT_HEAD(&activators, a, open_link);
    pthread_mutex_unlock(&mutex);
}

/* False: it is not open; its memory is not read. */
static bool open_forget(const struct activator *a)
{
    struct activator *at;
    pthread_mutex_lock(&mutex);
    LIST_FOREACH(at, &activators, open_link)
    if (at == a)
        break;
    if (at)
        LIST_REMOVE(at, open_link);
    pthread_mutex_unlock(&mutex);
    return at != NULL;
}

/* ---- the system's clock ---- */

static ao_time monotonic(void *arg)
{
    (void)arg;
    return clock_monotonic();
}

static ao_time monotonic_coarse(void *arg)
{
    (void)arg;
    return clock_coarse();
}

const struct ao_clock ao_clock_monotonic = {.now = monotonic, .coarse = monotonic_coarse};

/* ---- opening ---- */

static void choose_clock(struct activator *a, const struct ao_clock *clock)
{
    a->clock = clock ? *clock : ao_clock_monotonic;
    a->tick = a->step_limit ? clock_coarse_tick() : AO_NEVER;
    if (!a->clock.coarse || a->step_limit < COARSE_LIMIT) {
        a->clock.coarse = a->clock.now;
        a->tick = a->step_limit ? 0 : AO_NEVER;
    }
    a->now = a->last_poll = a->waited_since = a->clock.now(a->clock.arg);
}

static void set_up(struct activator *a, const struct activator_options *o)
{
    a->poller = o->poller;
    a->trace = o->trace;
    a->random = o->seed;
    a->core = o->core;
    a->priority = o->priority;
    a->idle = o->idle;
    a->spin = o->spin;
    a->preemptions = o->preemptions;
    spin_init(&a->learnt, o->spin);
    a->step_limit = o->step_limit;
    snprintf(a->name, sizeof a->name, "%s", o->name ? o->name : "activator");
    choose_clock(a, o->clock);
    dispatcher_init(&a->dispatcher);
    timer_init(&a->timer, a->now);
    lanes_init(a);
    waker_init_poller(&a->waker, a->poller);
}

static void require_sense(const struct activator_options *o)
{
    require(o->idle <= IDLE_AUTO, "there is no such idle mode");
    require(o->core == -1 || (o->core < CPU_SETSIZE && core_exists(o->core)),
            "the core does not exist");
    require(!o->poller || (o->poller->poll && o->poller->wake), "the poller lacks a function");
    require(!o->clock || o->clock->now, "the clock lacks its function");
}

struct activator *activator_open(const struct activator_options *options)
{
    require_sense(options);
    if (!options->poller) {
        errno = EINVAL;
        return NULL;
    }
    struct activator *a = aligned_alloc(alignof(struct activator), sizeof *a);
    if (!a)
        return NULL;
    *a = (struct activator){0};
    set_up(a, options);
    a->inbox = inbox_new(&a->waker);
    a->recorder = recorder_new();
    if (!a->inbox || !a->recorder) {
        recorder_free(a->recorder);
        if (a->inbox)
            inbox_unref(a->inbox);
        free(a);
        errno = ENOMEM;
        return NULL;
    }
    open_note(a);
    return a;
}

/* ---- rounds ---- */

/* True: it stopped because its budget was used up. */
static bool expire(struct activator *a)
{
    struct ao *ao;
    int budget = EXPIRE_BUDGET;
    for (int n = 0; n < EXPIRE_MOST; n++) {
        ao = timer_take(&a->timer, a->now, &budget);
        if (!ao)
            return budget <= 0;
        object_expire(ao);
    }
    return true;
}

/* A callback may retire further objects, which are finished too. */
static void finish_retired(struct activator *a)
{
    struct ao *ao;
    while ((ao = a->retired_first)) {
        a->retired_first = ao->next;
        ao->next = NULL;
        ao->flags |= AO_FLAG_OVER;
        handle_detach(ao);
        TRACE(a, ao->cls->name, ao->id, "retired");
        if (ao->cls->retired)
            ao->cls->retired(ao);
    }
}

/* The longest step of a round that took `took`. */
static ao_time longest_step(const struct activator *a, ao_time took)
{
    return a->tick < took && a->longest < took - a->tick ? a->longest + a->tick : took;
}

static void publish_counters(struct activator *a)
{
    struct activator_counters *f = &a->counters;
    counter_add(&f->rounds, 1);
    counter_add(&f->steps, a->steps);
    a->steps = 0;
    atomic_store_explicit(&f->active, a->dispatcher.count, memory_order_relaxed);
    atomic_store_explicit(&f->sleeping, a->timer.count, memory_order_relaxed);
    ao_time end = a->clock.now(a->clock.arg), took = end - a->now;
    histogram_note(&f->work, took, 1);
    if (__builtin_expect(longest_wants(&f->step, end, took), 0))
        longest_note(&f->step, end, longest_step(a, took));
    a->longest = 0;
}

/* Reads the clock once for the whole round. */
static void begin_round(struct activator *a)
{
    ao_time before = a->now;
    a->now = a->clock.now(a->clock.arg);
    recorder_clock(a->recorder, a->now);
    if (__builtin_expect(a->now - before > LONG_SLEEP, 0))
        recorder_note(a->recorder, RECORDER_SLEPT, a->now - before);
}

static bool run_round(struct activator *a, bool may_block)
{
    begin_round(a);
    posts_serve(a);
    lanes_look(a);
    a->overdue = expire(a);
    step_round(a);
    lanes_flush(a);
    hooks_run(a);
    step_behind(a);
    finish_retired(a);
    publish_counters(a);
    idle_poll(a, may_block);
    return activator_busy(a) || hooks_forbid_rest(a);
}

/* Checks that no thread is within a round or a step of this activator. */
static void require_rest(const struct activator *a, const char *function)
{
    if (a->frame || activator_current() == a)
        check_misused(function, "called from within a step or a round of this activator");
    if (!activator_owned(a))
        check_misused(function, "another thread runs the activator");
}

bool activator_round(struct activator *a, bool may_block)
{
    require_rest(a, __func__);
    struct activator *before = activator_enter(a);
    bool busy = run_round(a, may_block);
    activator_exit(a, before);
    return busy;
}

void activator_run(struct activator *a)
{
    require_rest(a, __func__);
    struct activator *before = activator_enter(a);
    thread_settle(a->name, a->core, a->priority);
    /* Acquire: what the stopper wrote before.  Pairs with the release in activator_stop(). */
    while (!atomic_load_explicit(&a->stopping, memory_order_acquire))
        run_round(a, true);
    atomic_store_explicit(&a->stopping, false, memory_order_relaxed);
    activator_exit(a, before);
}

void activator_stop(struct activator *a)
{
    /* Release: pairs with the acquire in activator_run().  The order to stop is an input like any
     * other: published, then notified. */
    atomic_store_explicit(&a->stopping, true, memory_order_release);
    waker_notify(&a->waker);
}

/* ---- closing ---- */

static struct ao *take_sleeper(struct activator *a)
{
    struct ao *ao = NULL;
    while (!ao && a->timer.count) {
        int budget = INT_MAX;
        ao = timer_take(&a->timer, AO_NEVER, &budget);
    }
    if (ao)
        ao->flags &= (uint8_t)~AO_FLAG_TIMED;
    return ao ? ao : a->untimed_first;
}

/* Finishes active objects in list order, then those in the timer by deadline, then those that sleep
 * without a deadline.  What an object gives back at its end may wake another one, which is finished
 * next. */
static void finish_objects(struct activator *a)
{
    struct ao *ao;
    do {
        while ((ao = dispatcher_front(&a->dispatcher)))
            object_finish(ao);
        ao = take_sleeper(a);
        if (ao)
            object_finish(ao);
    } while (ao);
}

void activator_close(struct activator *a)
{
    require(open_forget(a), "this is no activator that is open: was it closed before?");
    require_rest(a, __func__);
    struct activator *before = activator_enter(a);
    a->closing = true;
    inbox_close(a->inbox);
    posts_refuse(a);
    finish_objects(a);
    finish_retired(a);
    hooks_disarm(a);
    dispatcher_forget_all(&a->dispatcher);
    lanes_forget(a);
    activator_exit(a, before);
    inbox_unref(a->inbox);
    recorder_free(a->recorder);
    free(a);
}

/* ---- what it is asked ---- */

ao_time activator_now(const struct activator *a)
{
    return a->now;
}

ao_time activator_clock(const struct activator *a)
{
    return a->clock.now(a->clock.arg);
}

uint64_t activator_rounds(const struct activator *a)
{
    return counter_read(&a->counters.rounds);
}

/* splitmix64. */
uint64_t activator_random(struct activator *a)
{
    uint64_t z = a->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

const char *activator_name(const struct activator *a)
{
    return a->name;
}

struct trace *activator_trace(const struct activator *a)
{
    return a->trace;
}

struct recorder *activator_recorder(const struct activator *a)
{
    return a->recorder;
}

/* ---- figures for any thread ---- */

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

/* The duration of a step that has not returned, if it exceeds the limit already; else 0. */
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
