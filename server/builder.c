#include "server/builder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <ergon/poller.h>

#include "server/builder_jobs.h"
#include "server/net/auth/principal.h"
#include "server/plan.h"

/* A thread that has only to notice the order to stop has come back within this. */
static const ao_time least_join = AO_MS(200);

struct loop {
    struct poller *poller;
    struct activator *activator;
    struct net_loop *net;
    struct rpc_loop rpc;
};

struct topology {
    struct loop *loops;
    uint32_t loop_count;
    struct activator **activators; /* of the loops; lent to tasks and rpc */
    struct net_loop **nets;        /* of the loops; lent to acceptor and rpc */

    struct poller *manager_poller; /* NULL when the manager lives on loop 0 */
    struct activator *manager;

    struct tasks *tasks;
    struct lasting lasting;
    struct acceptor *acceptor;
    struct rpc_shared shared;

    struct runners runners; /* of the manager, if it has a thread of its own, then of the loops */
};

static ao_time monotonic_now(void)
{
    return ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static int fail(char *error, size_t size, const char *what)
{
    char reason[128];

    snprintf(error, size, "%s: %s", what, strerror_r(errno, reason, sizeof reason));
    return -1;
}

/* What chance decides must not be known to strangers: names are hashed by it, back-offs spread. */
static uint64_t secret_seed(void)
{
    uint64_t seed = (uint64_t)monotonic_now();
    ssize_t got = getrandom(&seed, sizeof seed, 0);
    (void)got; /* an old kernel: the clock has to do */
    return seed;
}

static int build_loop(struct topology *t, const struct config *c, uint32_t index)
{
    struct loop *l = &t->loops[index];
    struct activator_options options = plan_loop(c, index);
    char name[24];

    snprintf(name, sizeof name, "loop %u", index);
    l->poller = poller_libevent_new();
    if (!l->poller)
        return -1;
    options.name = name;
    options.seed ^= secret_seed();
    options.poller = l->poller;
    l->activator = activator_open(&options);
    if (!l->activator)
        return -1;
    const struct net_loop_options net = {.index = index,
                                         .activator = l->activator,
                                         .poller = l->poller,
                                         .limits = &t->shared.limits,
                                         .port = rpc_port(&l->rpc)};
    l->net = net_loop_new(&net);
    if (!l->net)
        return -1;
    l->rpc.shared = &t->shared;
    l->rpc.activator = l->activator;
    t->activators[index] = l->activator;
    t->nets[index] = l->net;
    return 0;
}

static int build_manager(struct topology *t, const struct config *c)
{
    struct activator_options options = plan_loop(c, UINT32_MAX);

    if (c->manager.place == CONFIG_PLACE_LOOP) {
        t->manager = t->activators[0];
        return 0;
    }
    t->manager_poller = poller_eventfd_new();
    if (!t->manager_poller)
        return -1;
    options.name = "manager";
    options.seed ^= secret_seed();
    options.poller = t->manager_poller;
    t->manager = activator_open(&options);
    return t->manager ? 0 : -1;
}

static enum placement_policy policy_of(enum config_measure m)
{
    switch (m) {
    case CONFIG_MEASURE_OCCUPANCY:
        return PLACEMENT_OCCUPANCY;
    case CONFIG_MEASURE_LENGTH:
        return PLACEMENT_LENGTH;
    case CONFIG_MEASURE_PRIORITY:
        return PLACEMENT_PRIORITY;
    case CONFIG_MEASURE_WEIGHT:
        return PLACEMENT_WEIGHT;
    case CONFIG_MEASURE_COMPLETION:
        return PLACEMENT_COMPLETION;
    }
    return PLACEMENT_OCCUPANCY;
}

static int build_tasks(struct topology *t, const struct config *c, struct registry *registry,
                       char *error, size_t size)
{
    uint32_t count;
    struct executor_plan *executors = plan_executors(c, t->loop_count, &count);

    if (!executors)
        return fail(error, size, "executors");
    const struct tasks_plan plan = {.registry = registry,
                                    .loops = t->activators,
                                    .loop_count = t->loop_count,
                                    .manager = t->manager,
                                    .executors = executors,
                                    .executor_count = count,
                                    .policy = policy_of(c->measure),
                                    .short_cut = c->shortcut,
                                    .queue_max = c->manager.queue,
                                    .message_max = c->limits.message,
                                    .step_limit = c->step_limit,
                                    .ended = rpc_call_ended};
    t->tasks = tasks_new(&plan, error, size);
    free(executors);
    if (!t->tasks)
        return -1;
    for (uint32_t i = 0; i < t->loop_count; i++) {
        t->loops[i].rpc.home = tasks_home(t->tasks, i);
        tasks_set_owner(t->tasks, i, &t->loops[i].rpc);
    }
    return 0;
}

static int build_lasting(struct topology *t, const struct config *c, struct registry *registry,
                         char *error, size_t size)
{
    if (lasting_build(&t->lasting, c, t->tasks, registry, error, size) != 0)
        return -1;
    for (uint32_t i = 0; i < t->loop_count; i++)
        if (lasting_open_door(&t->lasting, &t->loops[i].rpc) != 0)
            return fail(error, size, "doors to the tasks that last");
    return 0;
}

static int allocate(struct topology *t)
{
    uint32_t n = t->loop_count;

    t->loops = calloc(n, sizeof *t->loops);
    t->activators = calloc(n, sizeof *t->activators);
    t->nets = calloc(n, sizeof *t->nets);
    if (runners_init(&t->runners, n + 1) < 0)
        return -1;
    return t->loops && t->activators && t->nets ? 0 : -1;
}

static void share(struct topology *t, const struct config *c, struct registry *registry)
{
    t->shared.registry = registry;
    t->shared.tasks = t->tasks;
    t->shared.jobs = t->lasting.jobs;
    t->shared.has_store = t->lasting.store != NULL;
    t->shared.net_loops = t->nets;
    t->shared.loops = t->activators;
    t->shared.loop_count = t->loop_count;
    t->shared.started = monotonic_now();
    t->shared.idle = plan_idle_name(c);
}

struct topology *topology_build(const struct config *config, struct registry *registry, char *error,
                                size_t size)
{
    struct topology *t = calloc(1, sizeof *t);

    if (!t) {
        fail(error, size, "topology");
        return NULL;
    }
    t->loop_count = plan_loops(config);
    t->shared.limits = plan_limits(config, t->loop_count);
    if (allocate(t) < 0)
        goto failed;
    for (uint32_t i = 0; i < t->loop_count; i++)
        if (build_loop(t, config, i) < 0)
            goto failed;
    if (build_manager(t, config) < 0)
        goto failed;
    if (build_tasks(t, config, registry, error, size) < 0 ||
        build_lasting(t, config, registry, error, size) < 0)
        goto failed_with_text;
    t->acceptor = acceptor_new(t->nets, t->loop_count, &t->shared.limits);
    if (!t->acceptor)
        goto failed;
    share(t, config, registry);
    return t;

failed:
    fail(error, size, "cannot build the topology");
failed_with_text:
    topology_free(t);
    return NULL;
}

static int load_tokens(struct topology *t, const struct config *config, char *error, size_t size)
{
    if (!config->tokens_file)
        return 0;
    struct token_table *tokens = token_table_load(config->tokens_file, error, size);
    if (!tokens)
        return -1;
    int failed = net_reload(t->acceptor, tokens, error, size);
    token_table_unref(tokens);
    return failed;
}

int topology_listen(struct topology *t, const struct config *config, char *error, size_t size)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        struct listener_options options;
        if (!plan_listener(config, &config->listeners[i], &options))
            return fail(error, size, config->listeners[i].url);
        int failed = acceptor_listen(t->acceptor, &options, error, size);
        free((char *)options.methods);
        if (failed)
            return -1;
    }
    return load_tokens(t, config, error, size);
}

int topology_start(struct topology *t, char *error, size_t size)
{
    if (tasks_start(t->tasks) < 0)
        return fail(error, size, "cannot start the executors' threads");
    if (lasting_start(&t->lasting) < 0) {
        fail(error, size, "cannot start the store's thread");
        tasks_stop(t->tasks, AO_S(1));
        return -1;
    }
    if (t->manager_poller && runners_start(&t->runners, t->manager) < 0)
        goto failed;
    for (uint32_t i = 0; i < t->loop_count; i++)
        if (runners_start(&t->runners, t->activators[i]) < 0)
            goto failed;
    return 0;

failed:
    fail(error, size, "cannot start a loop's thread");
    runners_stop(&t->runners, AO_NEVER);
    tasks_stop(t->tasks, AO_S(1));
    lasting_stop(&t->lasting);
    return -1;
}

struct acceptor *topology_acceptor(struct topology *t)
{
    return t->acceptor;
}

struct tasks *topology_tasks(struct topology *t)
{
    return t->tasks;
}

void topology_set_draining(struct topology *t)
{
    atomic_store_explicit(&t->shared.draining, true, memory_order_relaxed);
}

void topology_watch(struct topology *t, struct waker *watcher)
{
    for (uint32_t i = 0; i < t->loop_count; i++)
        activator_watch(t->activators[i], watcher);
    if (t->manager_poller)
        activator_watch(t->manager, watcher);
}

uint32_t topology_activators(const struct topology *t)
{
    return t->loop_count + (t->manager_poller ? 1 : 0);
}

const struct runners *topology_runners(const struct topology *t)
{
    return &t->runners;
}

uint32_t topology_stop(struct topology *t, ao_time limit)
{
    if (limit < least_join)
        limit = least_join;
    ao_time began = monotonic_now();
    uint32_t stuck = runners_stop(&t->runners, began + limit - least_join / 2);
    ao_time passed = monotonic_now() - began;

    if (stuck == 0)
        lasting_stop(&t->lasting); /* whatever handlers do meanwhile */
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
    lasting_free(&t->lasting);
    if (t->tasks)
        tasks_free(t->tasks);
    if (t->manager_poller) {
        if (t->manager)
            activator_close(t->manager);
        poller_eventfd_free(t->manager_poller);
    }
    for (uint32_t i = 0; t->loops && i < t->loop_count; i++) {
        if (t->loops[i].activator)
            activator_close(t->loops[i].activator);
        if (t->loops[i].poller)
            poller_libevent_free(t->loops[i].poller);
    }
    runners_fini(&t->runners);
    free(t->nets);
    free(t->activators);
    free(t->loops);
    free(t);
}
