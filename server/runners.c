#include "server/runners.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"

int runners_init(struct runners *r, uint32_t most)
{
    r->running = 0;
    r->at = calloc(most, sizeof *r->at);
    return r->at ? 0 : -1;
}

void runners_fini(struct runners *r)
{
    free(r->at);
    r->at = NULL;
}

static void *run(void *arg)
{
    struct runner *r = arg;

    activator_run(r->activator);
    sem_post(&r->ended);
    return NULL;
}

int runners_start(struct runners *r, struct activator *a)
{
    struct runner *next = &r->at[r->running];

    next->activator = a;
    sem_init(&next->ended, 0, 0);
    errno = pthread_create(&next->thread, NULL, run, next);
    if (errno != 0)
        return -1;
    r->running++;
    return 0;
}

static bool join(struct runner *r, ao_time until)
{
    const struct timespec at = {.tv_sec = (time_t)(until / AO_S(1)),
                                .tv_nsec = (long)(until % AO_S(1))};
    int waited;

    do
        waited = sem_clockwait(&r->ended, CLOCK_MONOTONIC, &at);
    while (waited != 0 && errno == EINTR);
    if (waited != 0)
        return false;
    pthread_join(r->thread, NULL);
    sem_destroy(&r->ended);
    return true;
}

static void name_stuck(const struct runners *r, uint32_t index)
{
    struct stuck s = runners_stuck(r, index);

    log_error("thread did not come back",
              LOG_STR("activator", activator_name(r->at[index].activator)),
              LOG_STR("object", s.object), LOG_STR("method", s.method));
}

uint32_t runners_stop(struct runners *r, ao_time until)
{
    uint32_t stuck = 0;

    for (uint32_t i = 0; i < r->running; i++)
        activator_stop(r->at[i].activator);
    for (uint32_t i = 0; i < r->running; i++)
        if (!join(&r->at[i], until)) {
            name_stuck(r, i);
            stuck++;
        }
    r->running = 0;
    return stuck;
}

bool runners_asleep(const struct runners *r)
{
    for (uint32_t i = 0; i < r->running; i++)
        if (!activator_blocked(r->at[i].activator))
            return false;
    return true;
}

struct stuck runners_stuck(const struct runners *r, uint32_t index)
{
    const struct activator *a = r->at[index].activator;
    struct stuck s = {0};
    const struct ao_class *cls = activator_stuck(a, &s.since);

    if (!cls)
        return s;
    s.activator = activator_name(a);
    s.object = cls->name;
    s.method = cls->detail;
    return s;
}
