/* The price of waking a thread that sleeps, and of one that spins: a parcel to and fro between two
 * activators, and an object that a plain thread wakes through its handle. */
#include <ergon/poller.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/runtime/threads/lane.h"
#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

enum { TRIPS = 50000, CROWD = 1000, ROUNDS = 200 };

struct player {
    struct ao ao;
    struct lane inlet;
    struct lane *outlet;
    struct activator *loop;
    uint64_t taken;
};

static enum ao_verdict step(struct ao *self)
{
    struct player *p = ao_of(self, struct player, ao);
    struct lane_item *item = lane_take(&p->inlet);
    lane_release(&p->inlet);
    if (item)
        lane_push(p->outlet, item);
    if (item && ++p->taken == TRIPS)
        activator_stop(p->loop);
    return AO_DONE;
}

static const struct ao_class player_class = {.name = "player", .step = step};

static void *run_loop(void *arg)
{
    activator_run(arg);
    return NULL;
}

static struct activator *open_loop(struct poller *poller, enum idle_mode idle)
{
    const struct activator_options options = {
        .poller = poller, .core = -1, .idle = idle, .spin = AO_US(50)};
    struct activator *loop = poller ? activator_open(&options) : NULL;
    if (!loop)
        exit(1);
    return loop;
}

static void start(pthread_t *thread, struct activator *loop)
{
    if (pthread_create(thread, NULL, run_loop, loop) != 0)
        exit(1);
}

/* --- Between two activators --- */

static void report_hops(struct report *r, const char *what, const struct player *p, ao_time took)
{
    struct activator_stats s;
    activator_stats(p->loop, &s);
    report_row(r, what,
               (double[]){(double)took / (2.0 * TRIPS * 1000), (double)s.blocks / TRIPS,
                          (double)s.wakes_sent / TRIPS});
}

static void measure_hops(struct report *r, const char *what, struct poller *const pollers[2],
                         enum idle_mode idle)
{
    struct player x = {.loop = open_loop(pollers[0], idle)};
    struct player y = {.loop = open_loop(pollers[1], idle)};
    struct lane_item parcel;
    pthread_t thread;
    ao_init(&x.ao, &player_class, x.loop);
    ao_init(&y.ao, &player_class, y.loop);
    if (lane_init(&x.inlet, 4, y.loop, &x.ao) != 0 || lane_init(&y.inlet, 4, x.loop, &y.ao) != 0)
        exit(1);
    x.outlet = &y.inlet;
    y.outlet = &x.inlet;
    lane_push(x.outlet, &parcel);
    ao_time began = ao_clock_monotonic.now(NULL);
    start(&thread, y.loop);
    activator_run(x.loop);
    report_hops(r, what, &x, ao_clock_monotonic.now(NULL) - began);
    pthread_join(thread, NULL);
    activator_close(x.loop);
    activator_close(y.loop);
    lane_fini(&x.inlet);
    lane_fini(&y.inlet);
}

/* --- From a plain thread --- */

struct sleeper {
    struct ao ao;
    struct ao_handle *handle;
    /* Release by the sleeper's loop, acquire by the thread that woke it. */
    _Atomic uint64_t steps;
};

static enum ao_verdict count_step(struct ao *self)
{
    struct sleeper *s = ao_of(self, struct sleeper, ao);
    atomic_fetch_add_explicit(&s->steps, 1, memory_order_release);
    return AO_DONE;
}

static const struct ao_class sleeper_class = {.name = "sleeper", .step = count_step};

static void await_steps(struct sleeper *s, uint64_t steps)
{
    while (atomic_load_explicit(&s->steps, memory_order_acquire) < steps)
        __builtin_ia32_pause();
}

/* All of them are asked, then all are awaited. */
static ao_time wake_crowd(struct sleeper *crowd, uint32_t count, uint64_t rounds, ao_time *asking)
{
    ao_time began = ao_clock_monotonic.now(NULL);
    for (uint64_t n = 1; n <= rounds; n++) {
        ao_time round = ao_clock_monotonic.now(NULL);
        for (uint32_t i = 0; i < count; i++)
            ao_post(crowd[i].handle, AO_POST_ACTIVATE);
        *asking += ao_clock_monotonic.now(NULL) - round;
        for (uint32_t i = 0; i < count; i++)
            await_steps(&crowd[i], n);
    }
    return ao_clock_monotonic.now(NULL) - began;
}

static void measure_asks(struct report *r, const char *what, struct poller *poller,
                         enum idle_mode idle, uint32_t count, uint64_t rounds)
{
    struct activator *loop = open_loop(poller, idle);
    struct sleeper *crowd = calloc(count, sizeof *crowd);
    struct activator_stats s;
    ao_time asking = 0;
    pthread_t thread;
    for (uint32_t i = 0; crowd && i < count; i++) {
        ao_init(&crowd[i].ao, &sleeper_class, loop);
        crowd[i].handle = ao_handle_new(&crowd[i].ao);
    }
    start(&thread, loop);
    double all = (double)count * (double)rounds;
    ao_time took = wake_crowd(crowd, count, rounds, &asking);
    activator_stop(loop);
    pthread_join(thread, NULL);
    activator_stats(loop, &s);
    report_row(
        r, what,
        (double[]){(double)asking / all, (double)took / all, (double)s.wakes_received / all});
    activator_close(loop);
    for (uint32_t i = 0; crowd && i < count; i++)
        ao_handle_unref(crowd[i].handle);
    free(crowd);
}

static void show_hops(struct report *r, struct poller *const e[2], struct poller *const l[2])
{
    static const struct report_column columns[] = {
        {"us a hop", 2}, {"blocks a hop", 3}, {"eventfd writes a hop", 3}};
    report_table(r, "A parcel from activator to activator", "idle mode", columns, 3);
    measure_hops(r, "sleep, eventfd poller", e, IDLE_SLEEP);
    measure_hops(r, "sleep, libevent poller", l, IDLE_SLEEP);
    measure_hops(r, "spin 50 us, eventfd poller", e, IDLE_SPIN);
    measure_hops(r, "spin 50 us, libevent poller", l, IDLE_SPIN);
}

static void show_asks(struct report *r, struct poller *const e[2])
{
    static const struct report_column columns[] = {
        {"to ask ns", 1}, {"until stepped ns", 1}, {"wakes an object", 4}};
    report_table(r, "A plain thread wakes objects of an activator, each", "objects, idle mode",
                 columns, 3);
    measure_asks(r, "one, sleep", e[0], IDLE_SLEEP, 1, TRIPS);
    measure_asks(r, "one, spin 50 us", e[0], IDLE_SPIN, 1, TRIPS);
    measure_asks(r, "1000 at a time, sleep", e[0], IDLE_SLEEP, CROWD, ROUNDS);
    measure_asks(r, "1000 at a time, spin 50 us", e[0], IDLE_SPIN, CROWD, ROUNDS);
}

int main(int argc, char **argv)
{
    struct poller *e[] = {poller_eventfd_new(), poller_eventfd_new()};
    struct poller *l[] = {poller_libevent_new(), poller_libevent_new()};
    struct report r;
    report_begin(&r, "runtime_wakes", argc, argv);
    show_hops(&r, e, l);
    show_asks(&r, e);
    report_end(&r);
    for (int i = 0; i < 2; i++) {
        poller_eventfd_free(e[i]);
        poller_libevent_free(l[i]);
    }
    return 0;
}
