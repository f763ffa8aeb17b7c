/* A hundred topologies, each made from a seed, put under load by its loops and by threads from
 * outside, and taken apart with work in flight: half of them at once, half when cancels have ended
 * all of it.
 *
 * Whatever happens to a call, its end is told exactly once; a topology that is taken apart at once
 * never tells twice. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ergon/poller.h>

#include "proto/encoder.h"
#include "server/tasks/tasks.h"
#include "tests/support/random.h"
#include "tests/support/tasks_handlers.h"
#include "tests/support/virtual.h"

enum {
    TOPOLOGIES = 100,
    LOOPS_MAX = 3,
    BLOCKING_MAX = 3,
    CALLS = 400, /* of each loop */
    OUTSIDERS = 2,
    SUBMITS = 100 /* of each outsider */
};

struct world;

struct caller {
    struct ao ao;
    struct world *world;
    struct home *home;
    struct call *list;
    uint32_t begun;
    uint8_t told[CALLS + 1];
};

struct world {
    uint64_t random;
    uint32_t loop_count, count; /* activators: the loops, and a manager's own */
    struct poller *pollers[LOOPS_MAX + 1];
    struct activator *activators[LOOPS_MAX + 1];
    pthread_t threads[LOOPS_MAX + 1];
    struct executor_plan executors[LOOPS_MAX + BLOCKING_MAX];
    struct registry *registry;
    struct tasks *tasks;
    struct caller callers[LOOPS_MAX];
    uint8_t submits_told[OUTSIDERS][SUBMITS];
    uint8_t submits_taken[OUTSIDERS][SUBMITS];
    sem_t half_way;        /* posted by each caller that has begun half of its calls */
    _Atomic bool draining; /* no more calls are begun (relaxed) */
    _Atomic uint32_t open; /* begun and not told; release where told, acquire by the main thread */
};

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "tasks_stress: %s\n", what);
    abort();
}

struct chance {
    const char *method, *nested;
    uint32_t argument;
};

static const struct chance chances[] = {
    {"echo", NULL, 0},    {"echo", NULL, 0},     {"managed", NULL, 0}, {"sleep", NULL, 2},
    {"again", NULL, 5},   {"hang", NULL, 0},     {"fail", NULL, 0},    {"late_fault", NULL, 0},
    {"outer", "echo", 0}, {"outer", "block", 0}, {"outer", "hang", 0}, {"block", NULL, 0},
    {"ask", "echo", 0},   {"ask", "block", 0},   {"ask", "sleep", 1},  {"burn", NULL, 1000},
};

static struct span make_params(const struct chance *c, uint8_t *buf)
{
    static const uint8_t one[] = {0x91, 0x01};
    if (c->nested)
        return params_call(buf, c->nested, span_of(one, sizeof one));
    return params_int(buf, c->argument);
}

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct caller *c = call->owner;
    uint32_t number = call->msgid[0] | (uint32_t)call->msgid[1] << 8;
    check(c->told[number]++ == 0, "the end of a call was told twice");
    atomic_fetch_sub_explicit(&c->world->open, 1, memory_order_release);
    if (c->begun < CALLS)
        ao_activate(&c->ao);
}

/* Calls of the second half may go on for ever. */
static ao_time draw_deadline(struct caller *c)
{
    struct activator *a = c->ao.home;
    bool for_ever = c->begun >= CALLS / 2 && activator_random(a) % 4 == 0;
    return for_ever ? AO_NEVER : activator_now(a) + AO_MS(5);
}

static void call_one(struct caller *c)
{
    uint8_t buf[64];
    struct world *w = c->world;
    struct activator *a = c->ao.home;
    const struct chance *chance =
        &chances[activator_random(a) % (sizeof chances / sizeof *chances)];
    struct method *m = registry_find(w->registry, span_text(chance->method));
    uint8_t id[2] = {(uint8_t)(c->begun + 1), (uint8_t)((c->begun + 1) >> 8)};
    const struct call_request request = {.owner = c,
                                         .list = &c->list,
                                         .msgid = span_of(id, sizeof id),
                                         .params = make_params(chance, buf),
                                         .deadline = draw_deadline(c)};
    if (++c->begun == CALLS / 2)
        sem_post(&w->half_way);
    atomic_fetch_add_explicit(&w->open, 1, memory_order_relaxed);
    if (home_call(c->home, m, &request) == ERGON_OK)
        return;
    atomic_fetch_sub_explicit(&w->open, 1, memory_order_relaxed);
    c->told[c->begun] = 1;
}

static enum ao_verdict call_some(struct ao *self)
{
    struct caller *c = ao_of(self, struct caller, ao);
    struct world *w = c->world;
    /* The step counts as open while it may begin calls.  Sequentially consistent, with drain(): a
     * step that did not see `draining` is seen there. */
    atomic_fetch_add(&w->open, 1);
    for (int n = 0; n < 4 && c->begun < CALLS && !atomic_load(&w->draining); n++)
        call_one(c);
    atomic_fetch_sub_explicit(&w->open, 1, memory_order_release);
    if (atomic_load_explicit(&w->draining, memory_order_relaxed))
        return AO_DONE;
    if (c->list && activator_random(self->home) % 8 == 0)
        home_cancel(c->home, c->list);
    if (c->begun == CALLS || (c->list && activator_random(self->home) % 4 == 0))
        return AO_DONE;
    return AO_AGAIN;
}

static const struct ao_class caller_class = {.name = "caller", .step = call_some};

/* Submitted and not told; release where told, acquire by the main thread. */
static _Atomic uint32_t submits_open;

static void on_added(void *arg, const struct outcome *outcome)
{
    uint8_t *told = arg;
    check((*told)++ == 0, "the end of a submitted task was told twice");
    atomic_fetch_sub_explicit(&submits_open, 1, memory_order_release);
}

struct outsider {
    struct world *world;
    int index;
};

static void *submit_all(void *arg)
{
    const struct outsider *o = arg;
    struct world *w = o->world;
    uint64_t random = w->random + (uint64_t)o->index;
    for (int i = 0; i < SUBMITS; i++) {
        uint8_t buf[64];
        const struct chance *c = &chances[chance(&random, sizeof chances / sizeof *chances)];
        ao_time deadline = ao_clock_monotonic.now(NULL) + AO_MS(5);
        atomic_fetch_add_explicit(&submits_open, 1, memory_order_relaxed);
        enum ergon_error error = tasks_add(w->tasks, span_text(c->method), make_params(c, buf),
                                           deadline, on_added, &w->submits_told[o->index][i]);
        w->submits_taken[o->index][i] = error == ERGON_OK;
        if (error != ERGON_OK)
            atomic_fetch_sub_explicit(&submits_open, 1, memory_order_relaxed);
    }
    return NULL;
}

static struct activator *open_activator(struct world *w, const char *name)
{
    struct poller *poller = poller_eventfd_new();
    const struct activator_options options = {
        .name = name, .poller = poller, .seed = w->random + w->count, .core = -1};
    struct activator *a = poller ? activator_open(&options) : NULL;
    check(a != NULL, "no activator");
    w->pollers[w->count] = poller;
    w->activators[w->count++] = a;
    return a;
}

static uint32_t plan_executors(struct world *w, uint32_t blocking)
{
    uint32_t n = 0;
    for (; n < w->loop_count; n++)
        w->executors[n] = (struct executor_plan){.kind = ERGON_STEPPED,
                                                 .queue = 1 + chance(&w->random, 32),
                                                 .parked = 1 + chance(&w->random, 16),
                                                 .loop = n,
                                                 .core = -1,
                                                 .weight = 1 + chance(&w->random, 4)};
    for (uint32_t i = 0; i < blocking; i++, n++)
        w->executors[n] = (struct executor_plan){.kind = ERGON_BLOCKING,
                                                 .queue = 1 + chance(&w->random, 8),
                                                 .core = -1,
                                                 .weight = 1 + chance(&w->random, 4)};
    return n;
}

static void build(struct world *w)
{
    char error[200];
    w->loop_count = 1 + chance(&w->random, LOOPS_MAX);
    for (uint32_t i = 0; i < w->loop_count; i++)
        open_activator(w, "loop");
    struct activator *manager =
        chance(&w->random, 2) ? w->activators[0] : open_activator(w, "manager");
    w->registry = registry_new();
    test_handlers_add(w->registry, true);
    const struct tasks_plan plan = {
        .registry = w->registry,
        .loops = w->activators,
        .loop_count = w->loop_count,
        .manager = manager,
        .executors = w->executors,
        .executor_count = plan_executors(w, 1 + chance(&w->random, BLOCKING_MAX)),
        .policy = (enum placement_policy)chance(&w->random, PLACEMENT_COMPLETION + 1),
        .short_cut = chance(&w->random, 2),
        .queue_max = 1 + chance(&w->random, 200),
        .message_max = 1 << 20,
        .ended = on_ended};
    w->tasks = tasks_new(&plan, error, sizeof error);
    check(w->tasks != NULL, error);
    for (uint32_t i = 0; i < w->loop_count; i++) {
        struct caller *c = &w->callers[i];
        c->world = w;
        c->home = tasks_home(w->tasks, i);
        ao_init(&c->ao, &caller_class, w->activators[i]);
        ao_activate(&c->ao);
    }
}

static void *run(void *activator)
{
    activator_run(activator);
    return NULL;
}

static void start(struct world *w)
{
    check(tasks_start(w->tasks) == 0, "no threads");
    for (uint32_t i = 0; i < w->count; i++)
        check(pthread_create(&w->threads[i], NULL, run, w->activators[i]) == 0, "no thread");
}

static void press(struct world *w)
{
    pthread_t threads[OUTSIDERS];
    struct outsider outsiders[OUTSIDERS];
    for (int i = 0; i < OUTSIDERS; i++) {
        outsiders[i] = (struct outsider){.world = w, .index = i};
        check(pthread_create(&threads[i], NULL, submit_all, &outsiders[i]) == 0, "no thread");
    }
    for (int i = 0; i < OUTSIDERS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < w->loop_count; i++)
        sem_wait(&w->half_way);
}

/* A call that begins after a cancel is for the next cancel. */
static void drain(struct world *w)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    atomic_store(&w->draining, true); /* pairs with call_some() */
    do {
        tasks_cancel_all(w->tasks);
        nanosleep(&pause, NULL);
    } while (atomic_load(&w->open) > 0 ||
             atomic_load_explicit(&submits_open, memory_order_acquire) > 0);
}

static void check_ends(const struct world *w)
{
    for (uint32_t i = 0; i < w->loop_count; i++)
        for (uint32_t n = 1; n <= w->callers[i].begun; n++)
            check(w->callers[i].told[n] == 1, "the end of a call was never told");
    for (int i = 0; i < OUTSIDERS; i++)
        for (int n = 0; n < SUBMITS; n++)
            check(w->submits_told[i][n] == w->submits_taken[i][n],
                  "the end of a submitted task was never told");
}

static void stop(struct world *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        activator_stop(w->activators[i]);
    for (uint32_t i = 0; i < w->count; i++)
        pthread_join(w->threads[i], NULL);
    check(tasks_stop(w->tasks, AO_S(30)) == 0, "a blocking executor did not end");
}

static void take_apart(struct world *w)
{
    tasks_free(w->tasks);
    registry_free(w->registry);
    for (uint32_t i = 0; i < w->loop_count; i++) {
        ao_deactivate(&w->callers[i].ao);
        ao_fini(&w->callers[i].ao);
    }
    for (uint32_t i = 0; i < w->count; i++) {
        activator_close(w->activators[i]);
        poller_eventfd_free(w->pollers[i]);
    }
}

static void one_topology(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    check(w != NULL, "no memory");
    check(sem_init(&w->half_way, 0, 0) == 0, "no semaphore");
    w->random = seed * 0x9e3779b97f4a7c15u;
    atomic_store_explicit(&submits_open, 0, memory_order_relaxed); /* some may be dropped untold */
    build(w);
    start(w);
    press(w);
    bool gently = seed % 2;
    if (gently)
        drain(w);
    stop(w);
    if (gently)
        check_ends(w);
    take_apart(w);
    sem_destroy(&w->half_way);
    free(w);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : TOPOLOGIES;
    virtual_silence();
    for (uint64_t seed = first; seed < first + count; seed++)
        one_topology(seed);
    return 0;
}
