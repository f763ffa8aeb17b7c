/* A parcel to and fro between two activators: the price of waking a thread that sleeps, and of one
 * that spins. */
#include <ergon/poller.h>
#include <pthread.h>
#include <stdio.h>

#include "server/runtime/lane.h"
#include "tests/bench/runtime/bench.h"

enum { TRIPS = 100000 };

struct player {
    struct ao ao;
    struct lane inlet;
    struct lane *outlet;
    struct activator *loop;
    struct poller *poller;
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

static void *run_player(void *arg)
{
    activator_run(((struct player *)arg)->loop);
    return NULL;
}

static void open_player(struct player *p, struct poller *poller, enum idle_mode idle)
{
    *p = (struct player){.poller = poller};
    p->loop = activator_open(
        &(struct activator_options){.poller = poller, .core = -1, .idle = idle, .spin = AO_US(50)});
    ao_init(&p->ao, &player_class, p->loop);
}

static void report(const char *name, const struct player *p, ao_time took)
{
    struct activator_stats s;
    activator_stats(p->loop, &s);
    printf("%-16s %8.2f us a hop, %5.3f blocks and %5.3f wakes a hop\n", name,
           (double)took / (2.0 * TRIPS * 1000), (double)s.blocks / TRIPS,
           (double)s.wakes_sent / TRIPS);
}

static void measure(const char *name, struct poller *first, struct poller *second,
                    enum idle_mode idle)
{
    struct player x, y;
    struct lane_item parcel;
    pthread_t thread;
    open_player(&x, first, idle);
    open_player(&y, second, idle);
    if (lane_init(&x.inlet, 4, y.loop, &x.ao) != 0 || lane_init(&y.inlet, 4, x.loop, &y.ao) != 0)
        return;
    x.outlet = &y.inlet;
    y.outlet = &x.inlet;
    lane_push(x.outlet, &parcel);
    ao_time began = ao_clock_monotonic.now(NULL);
    pthread_create(&thread, NULL, run_player, &y);
    activator_run(x.loop);
    report(name, &x, ao_clock_monotonic.now(NULL) - began);
    pthread_join(thread, NULL);
    activator_close(x.loop);
    activator_close(y.loop);
    lane_fini(&x.inlet);
    lane_fini(&y.inlet);
}

int main(void)
{
    struct poller *e[] = {poller_eventfd_new(), poller_eventfd_new()};
    struct poller *l[] = {poller_libevent_new(), poller_libevent_new()};
    measure("eventfd, sleep", e[0], e[1], IDLE_SLEEP);
    measure("libevent, sleep", l[0], l[1], IDLE_SLEEP);
    measure("eventfd, spin", e[0], e[1], IDLE_SPIN);
    measure("libevent, spin", l[0], l[1], IDLE_SPIN);
    for (int i = 0; i < 2; i++) {
        poller_eventfd_free(e[i]);
        poller_libevent_free(l[i]);
    }
    return 0;
}
