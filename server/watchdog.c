#include "server/watchdog.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static const ao_time least_period = AO_S(1);

static void wake(void *arg)
{
    const struct watchdog *w = arg;

    eventfd_write(w->fd, 1);
}

int watchdog_open(struct watchdog *w, struct threads *threads, ao_time limit)
{
    *w = (struct watchdog){
        .threads = threads, .period = limit > least_period ? limit : least_period, .fd = -1};
    if (limit == 0)
        return 0;
    w->named = calloc(threads->count, sizeof *w->named);
    if (!w->named)
        return -1;
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->fd < 0)
        return -1;
    waker_init(&w->waker, wake, w);
    threads_watch(threads, &w->waker);
    return 0;
}

void watchdog_close(struct watchdog *w)
{
    if (w->fd >= 0)
        close(w->fd);
    free(w->named);
}

ao_time watchdog_wait(struct watchdog *w)
{
    if (w->fd < 0)
        return AO_NEVER;
    if (!w->rested)
        return w->period;
    waker_announce(&w->waker);
    if (threads_asleep(w->threads))
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

void watchdog_look(struct watchdog *w)
{
    ao_time now = clock_monotonic();

    for (uint32_t i = 0; w->named && i < w->threads->running; i++) {
        struct stuck stuck = threads_stuck(w->threads, i);
        if (!stuck.activator || stuck.since == w->named[i])
            continue;
        log_warn("step has not returned", LOG_STR("activator", stuck.activator),
                 LOG_STR("object", stuck.object), LOG_STR("method", stuck.method),
                 LOG_NS("running", now - stuck.since));
        w->named[i] = stuck.since;
    }
}
