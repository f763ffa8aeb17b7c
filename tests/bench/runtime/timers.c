/* Sleep and wake with a million others asleep in the timer, and a million that come due. */
#include <ergon/poller.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/runtime/bench.h"

enum { SLEEPERS = 1000000 };

struct crowd {
    struct activator *loop;
    struct ao *sleepers;
    uint32_t *order; /* at random */
    ao_time spread;
};

static ao_time virtual_now;

static ao_time clock_now(void *arg)
{
    (void)arg;
    return virtual_now;
}

static enum ao_verdict step(struct ao *self)
{
    (void)self;
    return AO_DONE;
}

static const struct ao_class sleeper_class = {.name = "sleeper", .step = step};

static void sleep_all(void *arg)
{
    struct crowd *c = arg;
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        struct ao *ao = &c->sleepers[c->order[i]];
        ao_sleep_for(ao, AO_MS(1) + activator_random(c->loop) % c->spread);
    }
}

static void wake_all(void *arg)
{
    struct crowd *c = arg;
    for (uint32_t i = 0; i < SLEEPERS; i++)
        ao_wake(&c->sleepers[c->order[i]]);
}

static void finish(void *arg)
{
    struct crowd *c = arg;
    while (activator_round(c->loop, false))
        continue;
}

static void expire_all(void *arg)
{
    struct crowd *c = arg;
    virtual_now += c->spread + AO_MS(2);
    finish(c);
}

static double once(void (*run)(void *arg), struct crowd *c)
{
    ao_time began = ao_clock_monotonic.now(NULL);
    run(c);
    return (double)(ao_clock_monotonic.now(NULL) - began) / SLEEPERS;
}

static void shuffle(struct crowd *c)
{
    for (uint32_t i = 0; i < SLEEPERS; i++)
        c->order[i] = i;
    for (uint32_t i = SLEEPERS - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(activator_random(c->loop) % (i + 1)), k = c->order[i];
        c->order[i] = c->order[j];
        c->order[j] = k;
    }
}

static void measure(struct crowd *c, const char *name)
{
    double sleep = once(sleep_all, c);
    double wake = once(wake_all, c);
    double done = once(finish, c);
    once(sleep_all, c);
    double due = once(expire_all, c);
    printf("%-22s %9.1f ns %9.1f ns %9.1f ns %11.1f ns\n", name, sleep, wake, done, due);
}

int main(void)
{
    static const struct ao_clock clock = {.now = clock_now};
    struct poller *poller = poller_eventfd_new();
    struct crowd c = {.sleepers = calloc(SLEEPERS, sizeof *c.sleepers),
                      .order = calloc(SLEEPERS, sizeof *c.order)};
    c.loop =
        activator_open(&(struct activator_options){.poller = poller, .clock = &clock, .core = -1});
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        ao_init(&c.sleepers[i], &sleeper_class, c.loop);
        c.order[i] = i;
    }
    printf("%-22s %12s %12s %12s %14s\n", "1 M sleepers, each", "sleep", "wake", "step, done",
           "due and done");
    c.spread = AO_S(60);
    measure(&c, "in memory order, 60 s");
    shuffle(&c);
    measure(&c, "in random order, 60 s");
    c.spread = AO_MS(1);
    measure(&c, "all in the same ms");
    activator_close(c.loop);
    poller_eventfd_free(poller);
    free(c.sleepers);
    free(c.order);
    return 0;
}
