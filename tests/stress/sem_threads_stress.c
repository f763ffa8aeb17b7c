/* A semaphore under threads that are no activator's: each acquires one to three permits, with short
 * limits or without one, holds them, and releases them one by one or together.  Never more permits
 * out than there are; who has a limit may go away empty; at the end every permit is back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ergon/activator.h>
#include <ergon/poller.h>
#include <ergon/sem_remote.h>

enum { THREADS = 4, TURNS = 3000, PERMITS = 4, MOST = 3 };

struct thread {
    pthread_t id;
    uint64_t seed;
    int granted, expired;
};

static struct ao_sem sem;
static struct ao_sem_remote *remote;
static struct thread threads[THREADS];

/* Relaxed: the count alone is checked; the semaphore orders the rest. */
static _Atomic int out;

/* Written by holders of all permits, without a lock: the permits are one. */
static uint64_t guarded;

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "sem_threads_stress: %s\n", what);
    abort();
}

static uint32_t draw(struct thread *t, uint32_t below)
{
    t->seed = t->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(t->seed >> 33) % below;
}

static void hold(struct thread *t, uint32_t n)
{
    int now = (int)n + atomic_fetch_add_explicit(&out, (int)n, memory_order_relaxed);
    check(now <= PERMITS, "more permits are out than there are");
    t->granted++;
    if (n == PERMITS)
        guarded++;
    atomic_fetch_sub_explicit(&out, (int)n, memory_order_relaxed);
}

static void release(struct thread *t, uint32_t n)
{
    if (draw(t, 2))
        ao_sem_remote_release_n(remote, n);
    else
        while (n-- > 0)
            ao_sem_remote_release(remote);
}

static void *run(void *arg)
{
    struct thread *t = arg;
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t n = draw(t, 8) == 0 ? PERMITS : 1 + draw(t, MOST);
        ao_time limit = draw(t, 3) ? AO_US(draw(t, 60)) : AO_NEVER;
        enum ao_wait_outcome got = ao_sem_remote_acquire_blocking(remote, n, limit);
        check(got == AO_WAIT_READY || (got == AO_WAIT_DEADLINE && limit != AO_NEVER),
              "neither granted nor at its limit");
        if (got == AO_WAIT_READY) {
            hold(t, n);
            release(t, n);
        } else {
            t->expired++;
        }
    }
    return NULL;
}

static void *run_home(void *home)
{
    activator_run(home);
    return NULL;
}

int main(void)
{
    struct poller *poller = poller_eventfd_new();
    check(poller != NULL, "no poller");
    struct activator *home =
        activator_open(&(struct activator_options){.name = "home", .poller = poller, .core = -1});
    check(home != NULL, "no activator");
    struct ao_port *port = ao_port_new(home);
    ao_sem_init(&sem, PERMITS);
    check(port && (remote = ao_sem_share(&sem, port)), "no remote");

    pthread_t home_thread;
    check(pthread_create(&home_thread, NULL, run_home, home) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) {
        threads[i].seed = (uint64_t)i + 1;
        check(pthread_create(&threads[i].id, NULL, run, &threads[i]) == 0, "no thread");
    }
    int granted = 0, expired = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        granted += threads[i].granted;
        expired += threads[i].expired;
    }
    activator_stop(home);
    pthread_join(home_thread, NULL);

    /* What is under way arrives. */
    for (int i = 0; i < 8; i++)
        activator_round(home, false);
    check(sem.permits == PERMITS, "a permit was lost or doubled");
    check(ao_sem_waiting(&sem) == 0, "somebody waits who has left");
    check(granted + expired == THREADS * TURNS, "an acquire without an end");

    activator_close(home);
    ao_sem_fini(&sem);
    ao_sem_remote_unref(remote);
    ao_port_free(port);
    poller_eventfd_free(poller);
    printf("%d acquires, %d granted, all %d together %llu times\n", THREADS * TURNS, granted,
           PERMITS, (unsigned long long)guarded);
    return 0;
}
