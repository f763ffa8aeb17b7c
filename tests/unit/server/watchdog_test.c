/* Who is away is looked at until it is back: whatever else wakes the main thread meanwhile. */
#include "server/system/watchdog.h"

#include <time.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

static ao_time now; /* of the watchdog */

/* The linker puts it in the place of the system's: --wrap. */
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    *out = (struct timespec){.tv_sec = (time_t)(now / AO_S(1)), .tv_nsec = (long)(now % AO_S(1))};
    return 0;
}

/* One loop, whose rounds the test makes on its own thread. */
struct world {
    struct virtual v;
    struct activator_thread thread;
    struct threads threads;
    struct watchdog watchdog;
    struct ao ao; /* its step lasts longer than it may */
    int away, back;
    bool ran;
};

static void told(void *arg, const struct activator *a, bool away)
{
    struct world *w = arg;

    *(away ? &w->away : &w->back) += 1;
}

static void set_up(struct world *w)
{
    now = AO_S(1);
    virtual_silence();
    virtual_init(&w->v);
    w->thread.id = pthread_self();
    w->thread.activator = virtual_open_with(
        &w->v, (struct activator_options){.name = "loop", .step_limit = AO_MS(10)});
    w->threads = (struct threads){.at = &w->thread, .count = 1, .running = 1};
    assert_int_equal(probe_install(), 0);
    assert_int_equal(watchdog_open(&w->watchdog, &w->threads, 0, told, w), 0);
}

static void tear_down(struct world *w)
{
    assert_true(w->ran);
    watchdog_close(&w->watchdog);
    virtual_fini(&w->v);
}

/* The next look, a period after the one before. */
static void look(struct world *w)
{
    now += AO_S(1);
    assert_true(watchdog_look(&w->watchdog));
}

/* The main thread is woken by something else, between two looks, while the loop blocks. */
static void wake_early(struct world *w)
{
    now += AO_MS(1);
    assert_false(watchdog_look(&w->watchdog));
    assert_int_equal(watchdog_wait(&w->watchdog), AO_S(1) - AO_MS(1));
    now += AO_S(1) - AO_MS(1);
    assert_true(watchdog_look(&w->watchdog));
    w->ran = true;
}

/* In the poller of the loop, which so is blocked. */
static void return_from_away(void *arg)
{
    struct world *w = arg;

    wake_early(w);
    assert_int_equal(w->back, 1);
    assert_true(watchdog_wait(&w->watchdog) == AO_NEVER);
}

TEST(a_loop_that_is_back_and_sleeps_is_still_looked_at)
{
    struct world w = {0};
    set_up(&w);
    look(&w);
    assert_int_equal(w.away, 0);
    look(&w); /* awake, and no round since the look before */
    assert_int_equal(w.away, 1);
    assert_int_equal(w.back, 0);
    virtual_at(&w.v, 0, w.thread.activator, return_from_away, &w);
    virtual_run(&w.v);
    assert_int_equal(w.away, 1);
    assert_int_equal(w.back, 1);
    tear_down(&w);
}

static enum ao_verdict last_long(struct ao *self)
{
    struct world *w = ao_of(self, struct world, ao);

    w->v.now += AO_MS(11);
    look(w);
    return AO_DONE;
}

static const struct ao_class slow_class = {.name = "slow", .step = last_long};

static void return_from_step(void *arg)
{
    struct world *w = arg;

    wake_early(w);
    assert_int_equal(w->away, 0);
    assert_true(watchdog_wait(&w->watchdog) == AO_NEVER);
}

TEST(the_end_of_a_step_that_was_named_is_still_looked_for)
{
    struct world w = {0};
    set_up(&w);
    ao_init(&w.ao, &slow_class, w.thread.activator);
    ao_activate(&w.ao);
    virtual_round(&w.v, w.thread.activator);
    virtual_at(&w.v, 0, w.thread.activator, return_from_step, &w);
    virtual_run(&w.v);
    ao_fini(&w.ao);
    tear_down(&w);
}

/* In the poller of a loop of which nothing was said. */
static void sleep_well(void *arg)
{
    struct world *w = arg;

    look(w);
    assert_true(watchdog_wait(&w->watchdog) == AO_NEVER);
    w->ran = true;
}

TEST(when_all_sleep_and_nothing_was_said_nobody_is_looked_at)
{
    struct world w = {0};
    set_up(&w);
    virtual_at(&w.v, 0, w.thread.activator, sleep_well, &w);
    virtual_run(&w.v);
    assert_int_equal(w.away, 0);
    tear_down(&w);
}
