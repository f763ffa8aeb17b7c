/* Nested calls without deadlines, from one to three blocking executors, more chains than threads:
 * whatever waits for whatever, all must end, and with a result.
 *
 * A chain is a random mix of `ask` (a blocking handler that calls) and `outer` (a stepped one that
 * awaits), with `block`, `echo` or `acquire` at its end.  That is a blocking one, too: it acquires
 * one to all of three permits, at times with a limit, and gives them back.  At the end all permits
 * are there. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <ergon/poller.h>

#include "proto/encoder.h"
#include "server/runtime/sync/semaphore_remote.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/tasks.h"
#include "tests/support/random.h"
#include "tests/support/tasks_handlers.h"

enum { ROUNDS = 30, CHAINS = 200, DEPTH = 10, PARAMS = 512, PERMITS = 3 };

static sem_t ended;
static _Atomic unsigned bad; /* relaxed: read after all have ended */

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "nested_stress: %s\n", what);
    abort();
}

static struct ao_sem_remote *permits;
static _Atomic uint32_t out; /* permits; relaxed: the count alone is checked */

/* [how]: so many permits, and one in four gives up soon. */
static void acquire_run(struct ergon_task *task)
{
    const struct ergon_host *host = host_table();
    struct ergon_reader r;
    int64_t how = 0;
    host->params_open(task, &r);
    host->read_int(&r, &how);
    uint32_t n = 1 + (uint32_t)how % PERMITS;
    bool brief = how % 4 == 0;
    enum ao_wait_outcome got =
        host->sem_acquire(task, permits, n, brief ? AO_US(how % 100) : AO_NEVER);
    check(got == AO_WAIT_READY || (brief && got == AO_WAIT_DEADLINE), "no permits, and no reason");
    if (got != AO_WAIT_READY)
        return;
    check(n + atomic_fetch_add_explicit(&out, n, memory_order_relaxed) <= PERMITS,
          "more permits are out than there are");
    atomic_fetch_sub_explicit(&out, n, memory_order_relaxed);
    ao_sem_remote_release_n(permits, n);
}

static const struct ergon_handler acquire = {
    .size = sizeof acquire, .kind = ERGON_BLOCKING, .name = "acquire", .run = acquire_run};

static void on_ended(void *arg, const struct outcome *outcome)
{
    if (outcome->error != ERGON_OK)
        atomic_fetch_add_explicit(&bad, 1, memory_order_relaxed);
    sem_post(&ended);
}

static void submit_chain(struct tasks *t, uint64_t *random)
{
    uint8_t bufs[2][PARAMS];
    static const char *const ends[] = {"block", "echo", "acquire"};
    const char *method = ends[chance(random, 3)];
    struct span params = params_int(bufs[0], chance(random, 1000));
    uint32_t depth = chance(random, DEPTH + 1);
    for (uint32_t i = 0; i < depth; i++) {
        params = params_call(bufs[(i + 1) % 2], method, params);
        method = chance(random, 3) ? "ask" : "outer";
    }
    enum ergon_error error = tasks_add(t, span_text(method), params, AO_NEVER, on_ended, NULL);
    check(error == ERGON_OK, "a chain was refused");
}

static void *run(void *activator)
{
    activator_run(activator);
    return NULL;
}

static void one_round(uint64_t seed)
{
    char error[200];
    uint64_t random = seed * 0x9e3779b97f4a7c15u;
    struct poller *poller = poller_eventfd_new();
    const struct activator_options options = {.name = "loop", .poller = poller, .core = -1};
    struct activator *loop = activator_open(&options);
    struct registry *registry = registry_new();
    test_handlers_add(registry, true);
    check(registry_add(registry, "test", &acquire, error, sizeof error) == 0, "no handler");
    uint32_t queue = 1 + chance(&random, 4);
    const struct executor_plan executors[] = {
        {.kind = ERGON_STEPPED, .queue = queue, .parked = 1 + chance(&random, 4), .core = -1},
        {.kind = ERGON_BLOCKING, .queue = queue, .core = -1},
        {.kind = ERGON_BLOCKING, .queue = queue, .core = -1},
        {.kind = ERGON_BLOCKING, .queue = queue, .core = -1}};
    const struct tasks_plan plan = {.registry = registry,
                                    .loops = &loop,
                                    .loop_count = 1,
                                    .manager = loop,
                                    .executors = executors,
                                    .executor_count = 2 + chance(&random, 3),
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .queue_max = CHAINS,
                                    .message_max = 1 << 20};
    struct tasks *t = tasks_new(&plan, error, sizeof error);
    pthread_t thread;
    struct ao_port *port = ao_port_new(loop);
    permits = port ? ao_sem_remote_new(port, PERMITS) : NULL;
    check(permits && t && tasks_start(t) == 0, "no system");
    check(pthread_create(&thread, NULL, run, loop) == 0, "no thread");
    for (int i = 0; i < CHAINS; i++)
        submit_chain(t, &random);
    for (int i = 0; i < CHAINS; i++)
        sem_wait(&ended);
    check(atomic_load_explicit(&bad, memory_order_relaxed) == 0, "a chain failed");
    activator_stop(loop);
    pthread_join(thread, NULL);
    check(tasks_stop(t, AO_S(30)) == 0, "a blocking executor did not end");
    while (activator_round(loop, false))
        continue; /* what is under way arrives */
    check(permits->own.permits == PERMITS, "a permit was lost or doubled");
    check(ao_sem_waiting(&permits->own) == 0, "somebody waits who has left");
    tasks_free(t);
    registry_free(registry);
    activator_close(loop);
    ao_sem_remote_unref(permits);
    ao_port_free(port);
    poller_eventfd_free(poller);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    check(sem_init(&ended, 0, 0) == 0, "no semaphore");
    for (uint64_t seed = first; seed < first + ROUNDS; seed++)
        one_round(seed);
    return 0;
}
