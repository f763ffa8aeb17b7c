/* What a semaphore costs: free, contended on one activator, and held by objects of another. */
#include <stdio.h>
#include <stdlib.h>

#include <ergon/activator.h>
#include <ergon/poller.h>
#include <ergon/port.h>
#include <ergon/sem_remote.h>
#include <ergon/seq.h>

#include "tests/bench/support/report.h"

enum { MILLION = 1000000, CROWD = 1000, TURNS = 1000 };

static struct activator *home, *away;
static struct ao_sem sem;
static struct ao_sem_remote *remote;
static struct ao_port *home_port, *away_port;

static double now(void)
{
    return (double)ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static void *must(void *pointer)
{
    if (!pointer) {
        perror("bench_primitives");
        exit(1);
    }
    return pointer;
}

struct worker {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    int turns;
    bool yields;
};

static enum ao_verdict worker_step(struct ao *self)
{
    struct worker *w = ao_of(self, struct worker, ao);

    AO_BEGIN(&w->seq);
    for (; w->turns > 0; w->turns--) {
        AO_AWAIT(self, &w->seq, &w->wait, ao_sem_acquire(&sem, &w->wait));
        if (w->yields)
            AO_YIELD(&w->seq);
        ao_sem_release(&sem);
    }
    AO_END(&w->seq);
}

static enum ao_verdict away_step(struct ao *self)
{
    struct worker *w = ao_of(self, struct worker, ao);

    AO_BEGIN(&w->seq);
    for (; w->turns > 0; w->turns--) {
        AO_AWAIT(self, &w->seq, &w->wait, ao_sem_remote_acquire(remote, away_port, &w->wait));
        ao_sem_remote_release(remote);
    }
    AO_END(&w->seq);
}

static const struct ao_class worker_class = {.name = "worker", .step = worker_step};
static const struct ao_class away_class = {.name = "away", .step = away_step};

/* Both activators are stepped by one thread, so that it is the work that is measured, not the
 * waking of threads. */
static double run(const struct ao_class *cls, struct activator *loop, int count, int turns,
                  bool yields)
{
    struct worker *workers = must(calloc((size_t)count, sizeof *workers));
    for (int i = 0; i < count; i++) {
        workers[i].turns = turns;
        workers[i].yields = yields;
        ao_init(&workers[i].ao, cls, loop);
        ao_activate(&workers[i].ao);
    }
    double began = now();
    for (int last = 0; last < count; last += workers[last].turns == 0) {
        activator_round(home, false);
        activator_round(away, false);
    }
    double took = now() - began;
    for (int i = 0; i < 4; i++)
        activator_round(i % 2 ? away : home, false);
    free(workers);
    return took / count / turns;
}

static void show(struct report *r)
{
    ao_sem_init(&sem, 1);
    report_row(r, "free", (double[]){run(&worker_class, home, 1, 10 * MILLION, false)});
    report_row(r, "one permit, 1000 wait: a hand-over",
               (double[]){run(&worker_class, home, CROWD, TURNS, true)});
    remote = must(ao_sem_share(&sem, home_port));
    report_row(r, "free, from another activator",
               (double[]){run(&away_class, away, 1, MILLION, false)});
    report_row(r, "one permit, 1000 of another activator",
               (double[]){run(&away_class, away, CROWD, TURNS / 2, false)});
    ao_sem_remote_unref(remote);
    ao_sem_fini(&sem);
}

static struct activator *open_loop(struct poller *poller)
{
    return must(activator_open(&(struct activator_options){.poller = poller, .core = -1}));
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {{"ns", 1}};
    struct poller *pollers[] = {must(poller_eventfd_new()), must(poller_eventfd_new())};
    struct report r;
    home = open_loop(pollers[0]);
    away = open_loop(pollers[1]);
    home_port = must(ao_port_new(home));
    away_port = must(ao_port_new(away));
    report_begin(&r, "primitives", argc, argv);
    report_table(&r, "Acquire and release", "semaphore", columns, 1);
    show(&r);
    report_end(&r);
    activator_close(home);
    activator_close(away);
    ao_port_free(home_port);
    ao_port_free(away_port);
    poller_eventfd_free(pollers[0]);
    poller_eventfd_free(pollers[1]);
    return 0;
}
