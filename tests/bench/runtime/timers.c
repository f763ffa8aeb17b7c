/* Sleep and wake with a million, or ten, asleep in the timer; and as many that come due. */
#include <ergon/poller.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

struct crowd {
    struct activator *loop;
    struct ao *sleepers;
    uint32_t *order; /* at random */
    uint32_t count;
    ao_time spread;
};

static ao_time virtual_now;

static ao_time clock_now(void *arg)
{
    return virtual_now;
}

static enum ao_verdict step(struct ao *self)
{
    return AO_DONE;
}

static const struct ao_class sleeper_class = {.name = "sleeper", .step = step};

static void sleep_all(void *arg)
{
    struct crowd *c = arg;
    for (uint32_t i = 0; i < c->count; i++) {
        struct ao *ao = &c->sleepers[c->order[i]];
        ao_sleep_for(ao, AO_MS(1) + activator_random(c->loop) % c->spread);
    }
}

static void wake_all(void *arg)
{
    struct crowd *c = arg;
    for (uint32_t i = 0; i < c->count; i++)
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
    return (double)(ao_clock_monotonic.now(NULL) - began) / c->count;
}

static void measure(struct report *r, struct crowd *c, const char *size, const char *order)
{
    char what[64];
    snprintf(what, sizeof what, "%s, %s", size, order);
    double sleep = once(sleep_all, c);
    double wake = once(wake_all, c);
    double done = once(finish, c);
    once(sleep_all, c);
    double due = once(expire_all, c);
    report_row(r, what, (double[]){sleep, wake, done, due});
}

static void measure_all(struct report *r, const char *size, uint32_t count)
{
    static const struct ao_clock clock = {.now = clock_now};
    struct poller *poller = poller_eventfd_new();
    struct crowd c = {.count = count,
                      .sleepers = calloc(count, sizeof *c.sleepers),
                      .order = calloc(count, sizeof *c.order)};
    c.loop =
        activator_open(&(struct activator_options){.poller = poller, .clock = &clock, .core = -1});
    if (!c.sleepers || !c.order || !c.loop)
        exit(1);
    for (uint32_t i = 0; i < count; i++) {
        ao_init(&c.sleepers[i], &sleeper_class, c.loop);
        c.order[i] = i;
    }
    c.spread = AO_S(60);
    measure(r, &c, size, "in memory order, 60 s");
    bench_shuffle(c.order, count, c.loop);
    measure(r, &c, size, "in random order, 60 s");
    c.spread = AO_MS(1);
    measure(r, &c, size, "all in the same ms");
    activator_close(c.loop);
    poller_eventfd_free(poller);
    free(c.sleepers);
    free(c.order);
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {
        {"sleep ns", 1}, {"wake ns", 1}, {"step and done ns", 1}, {"due and done ns", 1}};
    struct report r;
    report_begin(&r, "runtime_timers", argc, argv);
    report_table(&r, "Sleep, wake and coming due, each", "sleepers", columns, 4);
    measure_all(&r, "1 M", 1000000);
    measure_all(&r, "10 M", 10000000);
    report_end(&r);
    return 0;
}
