/* Nested calls without deadlines, from one to three blocking executors, more chains than threads:
 * whatever waits for whatever, all must end, and with a result.
 *
 * A chain is a random mix of `ask` (a blocking handler that calls) and `outer` (a stepped one that
 * awaits), with `block` or `echo` at its end. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <ergon/poller.h>

#include "proto/encoder.h"
#include "server/tasks/tasks.h"
#include "tests/support/random.h"
#include "tests/support/tasks_handlers.h"

enum { ROUNDS = 30, CHAINS = 200, DEPTH = 10, PARAMS = 512 };

static sem_t ended;
static _Atomic unsigned bad; /* relaxed: read after all have ended */

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "nested_stress: %s\n", what);
    abort();
}

static void on_ended(void *arg, const struct outcome *outcome)
{
    if (outcome->error != ERGON_OK)
        atomic_fetch_add_explicit(&bad, 1, memory_order_relaxed);
    sem_post(&ended);
}

static void submit_chain(struct tasks *t, uint64_t *random)
{
    uint8_t bufs[2][PARAMS];
    const char *method = chance(random, 2) ? "block" : "echo";
    struct span params = params_int(bufs[0], 7);
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
    check(t && tasks_start(t) == 0, "no system");
    check(pthread_create(&thread, NULL, run, loop) == 0, "no thread");
    for (int i = 0; i < CHAINS; i++)
        submit_chain(t, &random);
    for (int i = 0; i < CHAINS; i++)
        sem_wait(&ended);
    check(atomic_load_explicit(&bad, memory_order_relaxed) == 0, "a chain failed");
    activator_stop(loop);
    pthread_join(thread, NULL);
    check(tasks_stop(t, AO_S(30)) == 0, "a blocking executor did not end");
    tasks_free(t);
    registry_free(registry);
    activator_close(loop);
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
