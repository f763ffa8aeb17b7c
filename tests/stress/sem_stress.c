/* A semaphore under three threads: workers of home and of two other activators acquire with short
 * deadlines, hold, release, and are cancelled by a neighbour now and then.  Never more holders than
 * permits; at the end every permit is back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ergon/activator.h>
#include <ergon/poller.h>
#include <ergon/sem_remote.h>

enum { SIDES = 3, WORKERS = 4, TURNS = 3000, PERMITS = 3 };

struct side;

struct worker {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    struct side *side;
    int turns;
    int granted;
};

struct side {
    struct poller *poller;
    struct activator *activator;
    struct ao_port *port;
    pthread_t thread;
    struct worker workers[WORKERS];
    int running;
};

static struct ao_sem sem;
static struct ao_sem_remote *remote;
static struct side sides[SIDES]; /* 0 is home */

/* Relaxed: each count alone is checked; the semaphore orders the rest. */
static _Atomic int holders, sides_left = SIDES;

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "sem_stress: %s\n", what);
    abort();
}

static void acquire(struct worker *w)
{
    if (w->side == &sides[0])
        ao_sem_acquire(&sem, &w->wait);
    else
        ao_sem_remote_acquire(remote, w->side->port, &w->wait);
}

static void hold(struct worker *w)
{
    int n = 1 + atomic_fetch_add_explicit(&holders, 1, memory_order_relaxed);
    check(n <= PERMITS, "more holders than permits");
    w->granted++;
}

static void release(struct worker *w)
{
    atomic_fetch_sub_explicit(&holders, 1, memory_order_relaxed);
    if (w->side == &sides[0])
        ao_sem_release(&sem);
    else
        ao_sem_remote_release(remote);
}

static ao_time patience(struct worker *w)
{
    uint64_t dice = activator_random(w->side->activator);
    return dice % 4 == 0 ? AO_MS(dice / 4 % 3) : AO_NEVER;
}

static void disturb_neighbour(struct worker *w)
{
    uint64_t dice = activator_random(w->side->activator);
    struct worker *other = &w->side->workers[dice / 8 % WORKERS];
    if (dice % 8 == 0 && other != w && other->wait.outcome == AO_WAIT_PENDING)
        ao_wait_cancel(&other->wait);
}

/* Home must run until the others' last releases have arrived: the last side stops all. */
static void side_ends(struct side *side)
{
    if (--side->running > 0)
        return;
    if (atomic_fetch_sub_explicit(&sides_left, 1, memory_order_acq_rel) == 1)
        for (int i = 0; i < SIDES; i++)
            activator_stop(sides[i].activator);
}

static enum ao_verdict worker_step(struct ao *self)
{
    struct worker *w = ao_of(self, struct worker, ao);

    AO_BEGIN(&w->seq);
    for (; w->turns < TURNS; w->turns++) {
        AO_AWAIT_FOR(self, &w->seq, &w->wait, patience(w), acquire(w));
        if (w->wait.outcome == AO_WAIT_READY) {
            hold(w);
            disturb_neighbour(w);
            AO_YIELD(&w->seq);
            release(w);
        }
    }
    side_ends(w->side);
    AO_END(&w->seq);
}

static const struct ao_class worker_class = {.name = "worker", .step = worker_step};

static void *run(void *arg)
{
    struct side *side = arg;
    activator_run(side->activator);
    return NULL;
}

static void open_side(struct side *side, uint64_t seed)
{
    side->poller = poller_eventfd_new();
    check(side->poller != NULL, "no poller");
    side->activator = activator_open(&(struct activator_options){
        .name = "side", .poller = side->poller, .core = -1, .seed = seed});
    check(side->activator != NULL, "no activator");
    side->port = ao_port_new(side->activator);
    check(side->port != NULL, "no port");
    side->running = WORKERS;
    for (int i = 0; i < WORKERS; i++) {
        side->workers[i].side = side;
        ao_init(&side->workers[i].ao, &worker_class, side->activator);
        ao_activate(&side->workers[i].ao);
    }
}

int main(void)
{
    ao_sem_init(&sem, PERMITS);
    for (int i = 0; i < SIDES; i++)
        open_side(&sides[i], (uint64_t)i);
    remote = ao_sem_share(&sem, sides[0].port);
    check(remote != NULL, "no remote");
    for (int i = 0; i < SIDES; i++)
        check(pthread_create(&sides[i].thread, NULL, run, &sides[i]) == 0, "no thread");
    for (int i = 0; i < SIDES; i++)
        pthread_join(sides[i].thread, NULL);

    /* What is under way arrives. */
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < SIDES; k++)
            activator_round(sides[k].activator, false);
    check(sem.permits == PERMITS, "a permit was lost or doubled");

    int granted = 0;
    for (int i = SIDES - 1; i >= 0; i--)
        activator_close(sides[i].activator);
    ao_sem_fini(&sem);
    ao_sem_remote_unref(remote);
    for (int i = 0; i < SIDES; i++) {
        ao_port_free(sides[i].port);
        poller_eventfd_free(sides[i].poller);
        for (int k = 0; k < WORKERS; k++)
            granted += sides[i].workers[k].granted;
    }
    printf("%d acquires, %d granted\n", SIDES * WORKERS * TURNS, granted);
    return 0;
}
