/* Two of three blocking executors run handlers that do not end before all other tasks have: those
 * that were given to them ahead of time are taken back, while threads claim, and each ends once. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ergon/poller.h>

#include "base/clock.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/tasks.h"
#include "tests/support/random.h"
#include "tests/support/tasks_handlers.h"
#include "tests/support/virtual.h"

enum {
    WORLDS = 10,
    EXECUTORS = 3,
    HELD = EXECUTORS - 1,
    TASKS = 300, /* beside those that hold an executor */
    PATIENCE_S = 60
};

static sem_t let_go; /* posted once for each handler that holds an executor */
static sem_t ended;  /* posted by each end */
static uint8_t told[TASKS + HELD];

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "stalls_stress: %s\n", what);
    abort();
}

static void await(sem_t *s, const char *what)
{
    struct timespec until = clock_spec(clock_after(clock_monotonic(), AO_S(PATIENCE_S)));
    int waited;
    do
        waited = sem_clockwait(s, CLOCK_MONOTONIC, &until);
    while (waited != 0 && errno == EINTR);
    check(waited == 0, what);
}

static void hold_run(struct ergon_task *task)
{
    (void)task;
    await(&let_go, "a handler was not let go");
}

/* [us] */
static void drowse_run(struct ergon_task *task)
{
    const struct ergon_host *host = host_table();
    struct ergon_reader r;
    uint64_t us = 0;
    host->params_open(task, &r);
    host->read_uint(&r, &us);
    const struct timespec sleep = {.tv_nsec = (long)us * 1000};
    if (us > 0)
        nanosleep(&sleep, NULL);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "hold", .run = hold_run},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_BLOCKING,
     .name = "drowse",
     .run = drowse_run}};

/* On the manager's thread. */
static void on_ended(void *arg, const struct outcome *outcome)
{
    uint8_t *times = arg;
    check(outcome->error == ERGON_OK, "a task has failed");
    check((*times)++ == 0, "the end of a task was told twice");
    sem_post(&ended);
}

static void no_call_ends(void *arg, struct call *call, struct outcome *outcome)
{
    (void)arg, (void)call, (void)outcome;
    check(false, "there are no calls");
}

static void *run(void *activator)
{
    activator_run(activator);
    return NULL;
}

struct world {
    uint64_t random;
    struct poller *poller;
    struct activator *loop;
    struct registry *registry;
    struct executor_plan executors[EXECUTORS];
    struct tasks *tasks;
    pthread_t thread;
};

static void build(struct world *w)
{
    char error[200];
    w->poller = poller_eventfd_new();
    w->loop = activator_open(&(struct activator_options){
        .name = "loop", .poller = w->poller, .seed = w->random, .core = -1});
    check(w->loop != NULL, "no activator");
    w->registry = registry_new();
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        check(registry_add(w->registry, "test", &handlers[i], error, sizeof error) == 0, error);
    for (uint32_t i = 0; i < EXECUTORS; i++)
        w->executors[i] = (struct executor_plan){.kind = ERGON_BLOCKING,
                                                 .queue = 2 + chance(&w->random, 30),
                                                 .fixed = true,
                                                 .core = -1,
                                                 .weight = 1};
    const struct tasks_plan plan = {.registry = w->registry,
                                    .loops = &w->loop,
                                    .loop_count = 1,
                                    .manager = w->loop,
                                    .executors = w->executors,
                                    .executor_count = EXECUTORS,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .queue_max = 2 * TASKS,
                                    .message_max = 1 << 20,
                                    .ended = no_call_ends};
    w->tasks = tasks_new(&plan, error, sizeof error);
    check(w->tasks != NULL, error);
    check(tasks_start(w->tasks) == 0, "no threads");
    check(pthread_create(&w->thread, NULL, run, w->loop) == 0, "no thread");
}

static void add(struct world *w, const char *method, uint32_t us, uint32_t number)
{
    uint8_t buf[16];
    check(tasks_add(w->tasks, span_text(method), params_int(buf, us), AO_NEVER, on_ended,
                    &told[number]) == ERGON_OK,
          "a task was not taken");
}

/* Those that hold an executor come anywhere among the first; a few take as long as the manager has
 * patience, so that they end as it looks. */
static void press(struct world *w)
{
    uint32_t first = chance(&w->random, 20), second = first + 1 + chance(&w->random, 20);
    for (uint32_t n = 0; n < TASKS + HELD; n++)
        if (n == first || n == second)
            add(w, "hold", 0, n);
        else
            add(w, "drowse", chance(&w->random, 40) ? chance(&w->random, 100) : 20000, n);
    for (uint32_t n = 0; n < TASKS; n++)
        await(&ended, "a task waits behind one that does not end");
    for (uint32_t n = 0; n < HELD; n++)
        sem_post(&let_go);
    for (uint32_t n = 0; n < HELD; n++)
        await(&ended, "a handler does not end");
}

static void take_apart(struct world *w)
{
    activator_stop(w->loop);
    pthread_join(w->thread, NULL);
    check(tasks_stop(w->tasks, AO_S(30)) == 0, "a blocking executor did not end");
    tasks_free(w->tasks);
    registry_free(w->registry);
    activator_close(w->loop);
    poller_eventfd_free(w->poller);
}

static void one_world(uint64_t seed)
{
    struct world w = {.random = seed * 0x9e3779b97f4a7c15u};
    memset(told, 0, sizeof told);
    build(&w);
    press(&w);
    take_apart(&w);
    for (uint32_t n = 0; n < TASKS + HELD; n++)
        check(told[n] == 1, "the end of a task was never told");
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : WORLDS;
    virtual_silence();
    check(sem_init(&let_go, 0, 0) == 0 && sem_init(&ended, 0, 0) == 0, "no semaphore");
    for (uint64_t seed = first; seed < first + count; seed++)
        one_world(seed);
    return 0;
}
