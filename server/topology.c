#include "server/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ergon/poller.h>

#include "base/clock.h"
#include "server/store/store.h"
#include "server/tracing/exporter.h"
#include "server/tracing/tracer.h"

/* A loop ends each of its calls, and the manager each attempt, before it comes back: of a million
 * that is no sign that a handler hangs.  What runs longer is left behind, and with it whatever had
 * to be written at the end. */
static const ao_time least_join = AO_S(1);

int topology_start(struct topology *t, char *error, size_t size)
{
    const char *what = "the executors' threads";
    char reason[128];
    int why;

    if (tasks_start(t->tasks) < 0) {
        why = errno;
        goto failed;
    }
    what = "the store's thread";
    if (jobs_start(t->jobs) < 0) {
        why = errno;
        goto stop_tasks;
    }
    what = "a loop's thread";
    if (threads_start(&t->threads) == 0)
        return 0;
    why = errno;
    threads_stop(&t->threads, AO_NEVER);
    jobs_stop(t->jobs);
stop_tasks:
    tasks_stop(t->tasks, AO_S(1));
failed:
    snprintf(error, size, "cannot start %s: %s", what, strerror_r(why, reason, sizeof reason));
    return -1;
}

void topology_set_away(struct topology *t, const struct activator *a, bool away)
{
    for (uint32_t i = 0; i < t->loop_count; i++) {
        if (t->activators[i] != a)
            continue;
        net_loop_set_away(t->nets[i], away);
        tasks_set_away(t->tasks, i, away);
    }
}

bool topology_accepts_on(const struct topology *t, const struct activator *a)
{
    return a == t->activators[0];
}

void topology_drain(struct topology *t, void (*drained)(void *arg), void *arg)
{
    atomic_store_explicit(&t->shared.draining, true, memory_order_relaxed);
    net_drain(t->acceptor, drained, arg);
    tasks_drain_jobs(t->tasks, drained, arg);
}

uint32_t topology_stop(struct topology *t, ao_time limit)
{
    if (limit < least_join)
        limit = least_join;
    ao_time began = clock_monotonic();
    uint32_t stuck = threads_stop(&t->threads, began + limit - least_join / 2);
    ao_time passed = clock_monotonic() - began;

    if (stuck == 0)
        jobs_stop(t->jobs); /* whatever handlers do meanwhile */
    return stuck + tasks_stop(t->tasks, passed < limit ? limit - passed : 0);
}

/* In the reverse order of building: what lives on an activator goes before it. */
void topology_free(struct topology *t)
{
    if (!t)
        return;
    if (t->acceptor)
        acceptor_free(t->acceptor);
    for (uint32_t i = 0; t->loops && i < t->loop_count; i++)
        if (t->loops[i].net)
            net_loop_free(t->loops[i].net);
    if (t->tasks)
        tasks_clear(t->tasks);
    jobs_free(t->jobs);
    store_close(t->store);
    if (t->tasks)
        tasks_free(t->tasks);
    if (t->manager_poller) {
        if (t->manager)
            activator_close(t->manager);
        poller_eventfd_free(t->manager_poller);
    }
    for (uint32_t i = 0; t->loops && i < t->loop_count; i++) {
        if (t->loops[i].activator) {
            tally_book_fini(&t->loops[i].tallies);
            activator_close(t->loops[i].activator);
        }
        if (t->loops[i].poller)
            poller_libevent_free(t->loops[i].poller);
    }
    exporter_close(t->exporter); /* what ended last is sent, too */
    tracer_free(t->tracer);
    accounts_free(t->accounts);
    threads_fini(&t->threads);
    free(t->worker_methods);
    free(t->rings.at);
    free(t->nets);
    free(t->rpcs);
    free(t->activators);
    free(t->loops);
    free(t);
}
