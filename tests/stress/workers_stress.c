/* Workers on real threads: they join, answer, are quiet, do not read, and are lost, on each of
 * several loops, while the loops call their methods, cancel, and miss deadlines.
 *
 * A hundred topologies, each from a seed.  In half of them one of the methods is a handler's as
 * well, which each loop has an executor for.  Half are taken apart with work in flight; of the
 * others the end of each call is told once, and in the end no worker is left. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ergon/poller.h>

#include "server/tasks/task_result.h"
#include "server/workers/worker_loop.h"
#include "tests/support/random.h"
#include "tests/support/virtual.h"

enum { TOPOLOGIES = 100, LOOPS_MAX = 3, CALLS = 1000, PEERS = 4, SLOTS_MAX = 8, METHODS = 3 };

static const char *const names[METHODS] = {"one", "two", "three"};

struct world;

struct peer {
    struct worker_executor *executor; /* NULL: it is not there */
    bool in, full, quiet;
    uint32_t slots, count;
    struct task *has[SLOTS_MAX];
};

/* One a loop: it calls, and plays the loop's workers. */
struct player {
    struct ao ao;
    struct world *world;
    struct home *home;
    struct worker_loop *worker_loop;
    struct call *list;
    struct peer peers[PEERS];
    uint32_t begun;
    bool ends; /* its workers are lost, and no other joins */
    uint8_t told[CALLS + 1];
};

struct world {
    uint64_t random;
    uint32_t loop_count, count; /* activators: the loops, and a manager's own */
    struct poller *pollers[LOOPS_MAX + 1];
    struct activator *activators[LOOPS_MAX + 1];
    pthread_t threads[LOOPS_MAX + 1];
    struct registry *registry;
    struct executor_plan executors[LOOPS_MAX];
    bool joined; /* the first method is a handler's, too */
    struct tasks *tasks;
    struct player players[LOOPS_MAX];
    _Atomic uint32_t busy; /* players that have calls to begin; release, and acquire by main */
    _Atomic uint32_t open; /* begun and not told; the same */
    _Atomic bool ending;   /* all workers are to be lost (relaxed) */
    _Atomic uint32_t done; /* calls that were answered (relaxed) */
};

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "workers_stress: %s\n", what);
    abort();
}

/* --- Workers --- */

static bool on_send(void *arg, struct worker_executor *r, struct task *t)
{
    struct peer *p = arg;
    check(p->executor == r, "sent to another");
    check(p->full || p->count < p->slots, "more tasks than slots");
    if (p->full)
        return false;
    p->has[p->count++] = t;
    return true;
}

static void on_unwanted(void *arg, struct task *t, enum task_flag why)
{
    const struct peer *p = arg;
    uint32_t i = 0;
    while (i < p->count && p->has[i] != t)
        i++;
    check(i < p->count, "told of a task that it has not");
    (void)why;
}

static void on_joined(void *arg, struct worker_executor *r, enum ergon_error error,
                      const char *text)
{
    struct peer *p = arg;
    check(error == ERGON_OK && p->executor == r, text ? text : "not joined");
    p->in = true;
}

static void on_settled(void *arg, struct worker_executor *r, bool open)
{
    const struct peer *p = arg;
    check(p->executor == r && open == !p->quiet, "settled otherwise");
}

static uint32_t draw(const struct player *c, uint32_t below)
{
    return (uint32_t)(activator_random(c->ao.home) % below);
}

static void join(struct player *c, struct peer *p)
{
    struct span methods[METHODS];
    uint32_t which = 1 + draw(c, (1 << METHODS) - 1);
    struct worker_executor_spec spec = {.methods = methods, .share = WORKER_SHARE_ALL};
    for (uint32_t i = 0; i < METHODS; i++)
        if (which & 1u << i)
            methods[spec.count++] = span_text(names[i]);
    *p = (struct peer){.slots = 1 + draw(c, SLOTS_MAX)};
    spec.slots = p->slots;
    p->executor = worker_executor_register(c->worker_loop, &spec, p);
    check(p->executor != NULL, "no memory");
}

static void lose(struct peer *p)
{
    struct worker_executor *r = p->executor;
    p->executor = NULL;
    p->count = 0;
    worker_executor_lost(r, "lost by chance");
}

static void answer(struct peer *p, uint32_t n)
{
    struct task *t = p->has[n];
    p->has[n] = p->has[--p->count];
    worker_executor_begun(p->executor, t);
    worker_executor_answer(p->executor, t);
}

static void play(struct player *c, struct peer *p)
{
    if (!p->executor) {
        if (draw(c, 8) == 0 && !c->ends)
            join(c, p);
    } else if (c->ends || draw(c, 200) == 0) {
        lose(p);
    } else if (p->in && draw(c, 50) == 0) {
        p->quiet = !p->quiet;
        worker_executor_quiet(p->executor, p->quiet);
    } else if (p->in && draw(c, 50) == 0) {
        p->full = !p->full;
        if (!p->full)
            worker_executor_flushed(p->executor);
    } else if (p->count > 0) {
        answer(p, draw(c, p->count));
    }
}

/* --- Calls --- */

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct player *c = call->owner;
    uint32_t number = call->msgid[0] | (uint32_t)call->msgid[1] << 8;
    (void)arg;
    check(c->told[number]++ == 0, "the end of a call was told twice");
    if (outcome->error == ERGON_OK)
        atomic_fetch_add_explicit(&c->world->done, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->world->open, 1, memory_order_release);
}

static void call_one(struct player *c)
{
    static const uint8_t params[] = {0x90};
    struct world *w = c->world;
    struct method *m = registry_find(w->registry, span_text(names[draw(c, METHODS)]));
    if (!m)
        return;
    uint32_t number = c->begun + 1;
    uint8_t id[2] = {(uint8_t)number, (uint8_t)(number >> 8)};
    ao_time now = activator_now(c->ao.home);
    const struct call_request request = {.owner = c,
                                         .list = &c->list,
                                         .msgid = span_of(id, sizeof id),
                                         .params = span_of(params, sizeof params),
                                         .deadline = draw(c, 4) ? AO_NEVER : now + AO_MS(1)};
    atomic_fetch_add_explicit(&w->open, 1, memory_order_relaxed);
    if (home_call(c->home, m, &request) == ERGON_OK)
        c->begun = number;
    else
        atomic_fetch_sub_explicit(&w->open, 1, memory_order_relaxed);
    if (c->begun == CALLS)
        atomic_fetch_sub_explicit(&w->busy, 1, memory_order_release);
}

/* Always active, so that all threads have something to do. */
static enum ao_verdict play_some(struct ao *self)
{
    struct player *c = ao_of(self, struct player, ao);
    c->ends = atomic_load_explicit(&c->world->ending, memory_order_relaxed);
    for (uint32_t n = draw(c, 4); n > 0 && c->begun < CALLS; n--)
        call_one(c);
    if (c->list && draw(c, 8) == 0)
        home_cancel(c->home, c->list);
    for (uint32_t i = 0; i < PEERS; i++)
        play(c, &c->peers[i]);
    return AO_AGAIN;
}

static const struct ao_class player_class = {.name = "player", .step = play_some};

/* --- Topologies --- */

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

static enum ao_verdict step_twice(struct ao *self, struct ergon_task *task, void *state)
{
    bool *again = state;
    (void)self, (void)task;
    *again = !*again;
    return *again ? AO_AGAIN : AO_DONE;
}

static const struct ergon_handler twice = {.size = sizeof twice,
                                           .kind = ERGON_STEPPED,
                                           .name = "one",
                                           .summary = "",
                                           .params = "[]",
                                           .step = step_twice,
                                           .state_size = sizeof(bool)};

/* An executor a loop for it. */
static void add_handler(struct world *w)
{
    char error[200];
    if (registry_add(w->registry, "stress", &twice, error, sizeof error) < 0)
        check(false, error);
    method_join(registry_find(w->registry, span_text(twice.name)));
    for (uint32_t i = 0; i < w->loop_count; i++)
        w->executors[i] = (struct executor_plan){.kind = ERGON_STEPPED,
                                                 .queue = 1 + chance(&w->random, 8),
                                                 .parked = 1 + chance(&w->random, 8),
                                                 .loop = i,
                                                 .core = -1,
                                                 .weight = 1};
}

static void build(struct world *w)
{
    static const struct worker_port port = {on_send, on_unwanted, on_joined, on_settled};
    char error[200];
    w->loop_count = 1 + chance(&w->random, LOOPS_MAX);
    for (uint32_t i = 0; i < w->loop_count; i++)
        open_activator(w, "loop");
    struct activator *manager =
        chance(&w->random, 2) ? w->activators[0] : open_activator(w, "manager");
    w->registry = registry_new();
    w->joined = chance(&w->random, 2);
    if (w->joined)
        add_handler(w);
    const struct tasks_plan plan = {.registry = w->registry,
                                    .executors = w->executors,
                                    .executor_count = w->joined ? w->loop_count : 0,
                                    .short_cut = true,
                                    .loops = w->activators,
                                    .loop_count = w->loop_count,
                                    .manager = manager,
                                    .queue_max = 1 + chance(&w->random, 200),
                                    .message_max = 1 << 20,
                                    .workers = &worker_executors,
                                    .ended = on_ended};
    w->tasks = tasks_new(&plan, error, sizeof error);
    check(w->tasks != NULL, error);
    atomic_init(&w->busy, w->loop_count);
    for (uint32_t i = 0; i < w->loop_count; i++) {
        struct player *c = &w->players[i];
        c->world = w;
        c->home = tasks_home(w->tasks, i);
        c->worker_loop = worker_loop_at(w->tasks, i);
        worker_loop_set_port(c->worker_loop, &port);
        ao_init(&c->ao, &player_class, w->activators[i]);
        ao_activate(&c->ao);
    }
}

static void *run(void *activator)
{
    activator_run(activator);
    return NULL;
}

static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    nanosleep(&pause, NULL);
}

/* Until all have begun their calls; of those that end gently, until each was told, and all workers
 * are gone. */
static void press(struct world *w, bool gently)
{
    for (uint32_t i = 0; i < w->count; i++)
        check(pthread_create(&w->threads[i], NULL, run, w->activators[i]) == 0, "no thread");
    while (atomic_load_explicit(&w->busy, memory_order_acquire) > 0)
        nap();
    while (gently && atomic_load_explicit(&w->open, memory_order_acquire) > 0) {
        tasks_cancel_all(w->tasks);
        nap();
    }
    if (gently)
        atomic_store_explicit(&w->ending, true, memory_order_relaxed);
}

static bool all_gone(const struct world *w)
{
    for (uint32_t i = 0; i < w->loop_count; i++)
        if (!LIST_EMPTY(&w->players[i].worker_loop->executors))
            return false;
    return true;
}

static void stop(struct world *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        activator_stop(w->activators[i]);
    for (uint32_t i = 0; i < w->count; i++)
        pthread_join(w->threads[i], NULL);
}

/* What the threads have not come to yet: here all is of this one. */
static void settle(struct world *w)
{
    for (unsigned n = 0; n < 1000 && !all_gone(w); n++)
        for (uint32_t i = 0; i < w->count; i++)
            activator_round(w->activators[i], false);
    check(all_gone(w), "a worker that was lost is still there");
    for (uint32_t i = 0; i < w->loop_count; i++)
        for (uint32_t n = 1; n <= w->players[i].begun; n++)
            check(w->players[i].told[n] == 1, "the end of a call was never told");
}

static void take_apart(struct world *w)
{
    tasks_free(w->tasks);
    registry_free(w->registry);
    for (uint32_t i = 0; i < w->loop_count; i++) {
        ao_deactivate(&w->players[i].ao);
        ao_fini(&w->players[i].ao);
    }
    for (uint32_t i = 0; i < w->count; i++) {
        activator_close(w->activators[i]);
        poller_eventfd_free(w->pollers[i]);
    }
}

/* Calls that workers answered: of one without a handler. */
static uint64_t one_topology(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    bool gently = seed % 2;
    check(w != NULL, "no memory");
    w->random = seed * 0x9e3779b97f4a7c15u;
    build(w);
    press(w, gently);
    stop(w);
    if (gently)
        settle(w);
    take_apart(w);
    uint64_t done = w->joined ? 0 : atomic_load_explicit(&w->done, memory_order_relaxed);
    free(w);
    return done;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : TOPOLOGIES;
    uint64_t done = 0;
    virtual_silence();
    for (uint64_t seed = first; seed < first + count; seed++)
        done += one_topology(seed);
    /* Of a single topology all may have been cancelled before the manager's thread ran at all. */
    check(done > 0, "no call was answered");
    return 0;
}
