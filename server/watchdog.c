#include "server/watchdog.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

static const ao_time least_period = AO_S(1);

static void wake(void *arg)
{
    const struct watchdog *w = arg;

    eventfd_write(w->fd, 1);
}

int watchdog_open(struct watchdog *w, struct topology *topology, ao_time limit)
{
    *w = (struct watchdog){
        .topology = topology, .period = limit > least_period ? limit : least_period, .fd = -1};
    if (limit == 0)
        return 0;
    w->told = calloc(topology_activators(topology), sizeof *w->told);
    if (!w->told)
        return -1;
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->fd < 0)
        return -1;
    waker_init(&w->waker, wake, w);
    topology_watch(topology, &w->waker);
    return 0;
}

void watchdog_close(struct watchdog *w)
{
    if (w->fd >= 0)
        close(w->fd);
    free(w->told);
}

ao_time watchdog_wait(struct watchdog *w)
{
    if (w->fd < 0)
        return AO_NEVER;
    if (!w->rested)
        return w->period;
    waker_announce(&w->waker);
    if (runners_asleep(topology_runners(w->topology)))
        return AO_NEVER;
    waker_retract(&w->waker);
    return w->period;
}

void watchdog_awake(struct watchdog *w, bool timed_out)
{
    eventfd_t count;

    w->rested = timed_out;
    if (w->fd < 0)
        return;
    waker_retract(&w->waker);
    eventfd_read(w->fd, &count);
}

static void tell(const struct stuck *stuck, ao_time now)
{
    log_warn("step has not returned", LOG_STR("activator", stuck->activator),
             LOG_STR("object", stuck->object), LOG_STR("method", stuck->method),
             LOG_NS("running", now - stuck->since));
}

void watchdog_look(struct watchdog *w)
{
    ao_time now = ao_clock_monotonic.now(ao_clock_monotonic.arg);
    const struct runners *r = topology_runners(w->topology);

    for (uint32_t i = 0; w->told && i < r->running; i++) {
        struct stuck stuck = runners_stuck(r, i);
        if (stuck.activator && stuck.since != w->told[i])
            tell(&stuck, now);
        if (stuck.activator)
            w->told[i] = stuck.since;
    }
}
