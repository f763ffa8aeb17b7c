#include "server/system/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

int threads_init(struct threads *t, uint32_t most)
{
    *t = (struct threads){.at = calloc(most, sizeof *t->at)};
    return t->at ? 0 : -1;
}

void threads_fini(struct threads *t)
{
    free(t->at);
    t->at = NULL;
}

void threads_add(struct threads *t, struct activator *a)
{
    t->at[t->count++].activator = a;
}

void threads_watch(struct threads *t, struct waker *watcher)
{
    for (uint32_t i = 0; i < t->count; i++)
        activator_watch(t->at[i].activator, watcher);
}

static void *run(void *arg)
{
    struct activator_thread *self = arg;

    activator_run(self->activator);
    sem_post(&self->ended);
    return NULL;
}

int threads_start(struct threads *t)
{
    for (; t->running < t->count; t->running++) {
        struct activator_thread *next = &t->at[t->running];
        sem_init(&next->ended, 0, 0);
        errno = pthread_create(&next->id, NULL, run, next);
        if (errno != 0)
            return -1;
    }
    return 0;
}

static bool join(struct activator_thread *one, ao_time until)
{
    const struct timespec at = clock_spec(until);
    int waited;

    do
        waited = sem_clockwait(&one->ended, CLOCK_MONOTONIC, &at);
    while (waited != 0 && errno == EINTR);
    if (waited != 0)
        return false;
    pthread_join(one->id, NULL);
    sem_destroy(&one->ended);
    return true;
}

static void name_stuck(const struct threads *t, uint32_t index)
{
    struct stuck s = threads_stuck(t, index);

    log_error("thread did not come back",
              LOG_STR("activator", activator_name(t->at[index].activator)),
              LOG_STR("object", s.object), LOG_STR("method", s.method));
}

uint32_t threads_stop(struct threads *t, ao_time until)
{
    uint32_t stuck = 0;

    for (uint32_t i = 0; i < t->running; i++)
        activator_stop(t->at[i].activator);
    for (uint32_t i = 0; i < t->running; i++)
        if (!join(&t->at[i], until)) {
            name_stuck(t, i);
            stuck++;
        }
    t->running = 0;
    return stuck;
}

bool threads_asleep(const struct threads *t)
{
    for (uint32_t i = 0; i < t->running; i++)
        if (!activator_blocked(t->at[i].activator))
            return false;
    return true;
}

struct stuck threads_stuck(const struct threads *t, uint32_t index)
{
    const struct activator *a = t->at[index].activator;
    struct stuck s = {0};
    const struct ao_class *cls = activator_stuck(a, &s.since);

    if (!cls)
        return s;
    s.activator = activator_name(a);
    s.object = cls->name;
    s.method = cls->detail;
    return s;
}
