#include "server/topology.h"

#include "server/tasks/actor_offer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ergon/poller.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/recorder.h"
#include "server/access/rights.h"
#include "server/membership.h"
#include "server/front/fronts.h"
#include "server/intake/intake.h"
#include "server/plan.h"
#include "server/processes/processes.h"
#include "server/reload.h"
#include "server/rpc/figures.h"
#include "server/rpc/job_requests.h"
#include "server/rpc/spec_options.h"
#include "server/runtime/activator.h"
#include "server/store/driver.h"
#include "server/store/inbox_source.h"
#include "server/store/store.h"
#include "server/system/machine.h"
#include "server/tasks/tasks_rings.h"
#include "server/tracing/exporter.h"
#include "server/tracing/tracer.h"
#include "server/workers/worker_executor.h"

/* ==== building ==== */

static int fail(char *error, size_t size, const char *what)
{
    char reason[128];

    snprintf(error, size, "%s: %s", what, strerror_r(errno, reason, sizeof reason));
    return -1;
}

/* A seed that clients cannot guess: names are hashed with it, and back-offs spread. */
static uint64_t secret_seed(void)
{
    uint64_t seed;
    return chance_bytes(&seed, sizeof seed) ? seed : clock_monotonic();
}

/* ---- activators ---- */

static struct activator *open_activator(const struct config *c, uint32_t index, const char *name,
                                        struct poller *poller)
{
    struct activator_options options = plan_loop(c, index);

    options.name = name;
    options.seed ^= secret_seed();
    options.poller = poller;
    return activator_open(&options);
}

static int build_loop(struct topology *t, const struct config *c, uint32_t index)
{
    struct loop *l = &t->loops[index];
    char name[24];

    snprintf(name, sizeof name, "loop %u", index);
    l->poller = poller_libevent_new();
    if (!l->poller)
        return -1;
    l->activator = open_activator(c, index, name, l->poller);
    if (!l->activator)
        return -1;
    tally_book_init(&l->tallies, t->accounts, l->activator);
    const struct net_loop_options net = {.index = index,
                                         .activator = l->activator,
                                         .poller = l->poller,
                                         .limits = &t->shared.limits,
                                         .port = rpc_port(&l->rpc),
                                         .tallies = &l->tallies};
    l->net = net_loop_new(&net);
    if (!l->net)
        return -1;
    l->rpc.shared = &t->shared;
    l->rpc.activator = l->activator;
    t->activators[index] = l->activator;
    t->nets[index] = l->net;
    t->rpcs[index] = &l->rpc;
    return 0;
}

static int build_manager(struct topology *t, const struct config *c)
{
    if (c->manager.place == CONFIG_PLACE_LOOP) {
        t->manager = t->activators[0];
        return 0;
    }
    t->manager_poller = poller_eventfd_new();
    if (!t->manager_poller)
        return -1;
    t->manager = open_activator(c, UINT32_MAX, "manager", t->manager_poller);
    if (!t->manager)
        return -1;
    threads_add(&t->threads, t->manager);
    return 0;
}

static int build_activators(struct topology *t, const struct config *c)
{
    uint32_t n = t->loop_count;
    const struct account_limits limits = plan_accounts(c);
    const uint64_t seed[2] = {secret_seed(), secret_seed()};

    t->accounts = accounts_new(&limits, seed);
    t->loops = calloc(n, sizeof *t->loops);
    t->activators = calloc(n, sizeof *t->activators);
    t->nets = calloc(n, sizeof *t->nets);
    t->rpcs = calloc(n, sizeof *t->rpcs);
    if (threads_init(&t->threads, n + 1) < 0 || !t->accounts || !t->loops || !t->activators ||
        !t->nets || !t->rpcs)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (build_loop(t, c, i) < 0)
            return -1;
    if (build_manager(t, c) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        threads_add(&t->threads, t->activators[i]);
    return 0;
}

/* ---- traces ---- */

static int build_tracer(struct topology *t, const struct config *c, char *error, size_t size)
{
    if (!c->trace.endpoint)
        return 0;
    t->tracer = tracer_new(c->trace.sample);
    if (!t->tracer)
        return fail(error, size, "the list of spans");
    const struct exporter_options options = {.endpoint = c->trace.endpoint,
                                             .ca = c->trace.ca,
                                             .headers_file = c->trace.headers_file,
                                             .version = ERGON_VERSION,
                                             .tracer = t->tracer};
    t->exporter = exporter_open(&options, error, size);
    return t->exporter ? 0 : -1;
}

/* ---- tasks ---- */

static int build_tasks(struct topology *t, const struct config *c, struct registry *registry,
                       char *error, size_t size)
{
    uint32_t count;
    struct executor_plan *executors = plan_executors(c, t->loop_count, &count);

    if (!executors)
        return fail(error, size, "executors");
    struct tasks_plan plan = plan_tasks(c);
    plan.registry = registry;
    plan.loops = t->activators;
    plan.loop_count = t->loop_count;
    plan.manager = t->manager;
    plan.executors = executors;
    plan.executor_count = count;
    plan.ended = rpc_call_ended;
    plan.accounts = t->accounts;
    plan.tracer = t->tracer;
    plan.workers = &worker_executors;
    plan.opened = rpc_call_opened;
    t->tasks = tasks_new(&plan, error, size);
    for (uint32_t i = 0; i < count; i++)
        if (executors[i].kind == ERGON_STEPPED)
            t->stepped_slots += executors[i].queue;
        else
            t->blocking_slots += !executors[i].spare;
    free(executors);
    if (!t->tasks)
        return -1;
    for (uint32_t i = 0; i < t->loop_count; i++) {
        t->loops[i].rpc.home = tasks_home(t->tasks, i);
        t->loops[i].rpc.sampler = c->trace.sample > 0 ? t->tracer : NULL;
        tasks_set_owner(t->tasks, i, &t->loops[i].rpc);
        rpc_serve_workers(&t->loops[i].rpc, worker_loop_at(t->tasks, i));
    }
    return 0;
}

/* ---- modules in processes ---- */

static int build_processes(struct topology *t, const struct config *c, struct registry *registry,
                           char *error, size_t size)
{
    if (!processes_configured(c))
        return 0;
    t->processes = processes_new(c, registry, error, size);
    if (!t->processes)
        return -1;
    t->shared.processes = processes_port(t->processes);
    return 0;
}

/* ---- submitted tasks ---- */

static int open_store(struct topology *t, const struct config *c, char *error, size_t size)
{
    struct store_options options = {.path = c->store,
                                    .states = job_state_names,
                                    .state_count = JOB_STATE_COUNT,
                                    .require = plan_store_require(c),
                                    .by_storage =
                                        c->store_replicated == CONFIG_REPLICATED_BY_STORAGE};

    if (c->cluster.exists) {
        t->membership = membership_new(c, error, size);
        if (!t->membership)
            return -1;
        membership_set_store(t->membership, &options);
    }
    membership_wait_begins(t->membership);
    t->store = store_open(&options, error, size);
    membership_wait_ends(t->membership);
    return t->store ? 0 : -1;
}

static int new_jobs(struct topology *t, const struct config *c, struct registry *registry,
                    char *error, size_t size)
{
    struct jobs_tenant *tenants = plan_tenants(c);
    if (!tenants) {
        snprintf(error, size, "no memory for the tenants");
        return -1;
    }
    const struct jobs_options options = {
        .settings = plan_jobs(c),
        .tasks = t->tasks,
        .registry = registry,
        .store = t->store,
        .store_require = plan_store_require(c),
        .default_durable = plan_durable(c),
        .tenants = tenants,
        .tenant_count = (uint32_t)c->tenant_count,
        .read_turn_options = spec_read_turn_options,
        .read_cron_options = spec_reread_cron_options,
        .worker_methods = t->worker_methods,
        .tracer = t->tracer,
        .cluster = t->membership ? membership_jobs(t->membership) : NULL,
    };
    t->jobs = jobs_new(&options, error, size);
    free(tenants);
    return t->jobs ? 0 : -1;
}

static int read_back(struct topology *t, const struct config *c, char *error, size_t size)
{
    ao_time began = clock_monotonic();
    struct jobs_info info;

    if (jobs_recover(t->jobs, error, size) != 0)
        return -1;
    if (t->membership)
        return 0; /* the rows are the owner's */
    jobs_info(t->jobs, &info);
    log_info("store read back",
             LOG_STR("store", c->cluster.exists ? store_name(t->store) : c->store),
             LOG_UINT("tasks", info.tasks), LOG_NS("took", clock_monotonic() - began));
    return 0;
}

static int build_jobs(struct topology *t, const struct config *c, struct registry *registry,
                      char *error, size_t size)
{
    if (c->store && open_store(t, c, error, size) != 0)
        return -1;
    if (new_jobs(t, c, registry, error, size) != 0)
        return -1;
    if (t->store && read_back(t, c, error, size) != 0)
        return -1;
    for (uint32_t i = 0; i < t->loop_count; i++) {
        struct rpc_loop *loop = &t->loops[i].rpc;
        const struct channel_port port = rpc_channel_port(loop);
        loop->channel = channel_open(t->jobs, loop->activator, &port);
        if (!loop->channel)
            return fail(error, size, "channels of the submitted tasks");
    }
    return 0;
}

/* ---- handlers that workers may offer, too ---- */

static int join_workers(const struct config *c, struct registry *registry)
{
    uint32_t joined = 0;
    char *patterns;

    if (!plan_patterns(&c->workers.join, &patterns))
        return -1;
    for (uint32_t i = 0; patterns && i < registry_count(registry); i++) {
        struct method *m = registry_at(registry, i);
        if (!patterns_fit(patterns, m->name) || method_actor(m))
            continue;
        method_join(m);
        joined++;
    }
    if (patterns && joined == 0)
        log_warn("workers.join names no handler", LOG_STR("patterns", patterns));
    free(patterns);
    return 0;
}

/* ---- handlers that other nodes run, too ---- */

/* -1 and a text: none is offered, though some should be. */
static int spread_handlers(const struct config *c, struct registry *registry, char *error,
                           size_t size)
{
    uint32_t count = registry_count(registry), offered = 0;
    char *patterns;

    if (!plan_patterns(&c->cluster.offer, &patterns))
        return fail(error, size, "patterns of cluster.offer");
    for (uint32_t i = 0; i < count; i++) {
        struct method *m = registry_at(registry, i);
        if (method_actor(m)) /* their turns run where the state is */
            continue;
        bool here = c->cluster.work && (!patterns || patterns_fit(patterns, m->name));
        method_spread(m, here);
        offered += here;
    }
    if (patterns && count > 0 && offered == 0)
        snprintf(error, size,
                 "cluster.offer: no handler of this node fits \"%s\" (see 'ergon methods'; write "
                 "cluster.work: false to offer none)",
                 patterns);
    bool good = !patterns || count == 0 || offered > 0;
    free(patterns);
    return good ? 0 : -1;
}

/* ---- requests for the owner of the tasks ---- */

static int build_fronts(struct topology *t, const struct config *c, struct registry *registry,
                        char *error, size_t size)
{
    struct cluster *cluster = membership_cluster(t->membership);
    struct poller **pollers = calloc(t->loop_count, sizeof *pollers);
    struct cluster_view view;

    if (!pollers)
        return fail(error, size, "fronts");
    for (uint32_t i = 0; i < t->loop_count; i++)
        pollers[i] = t->loops[i].poller;
    cluster_view(cluster, &view);
    const struct fronts_options options = {
        .roles = {cluster, cluster_role, cluster_view, cluster_note},
        .loops = t->rpcs,
        .pollers = pollers,
        .loop_count = t->loop_count,
        .limits = &t->shared.limits,
        .listen = c->cluster.listen,
        .tls = {.cert = c->cluster.cert,
                .key = c->cluster.key,
                .client_ca = c->cluster.ca,
                .client_cert = c->cluster.cert ? CLIENT_CERT_REQUIRED : CLIENT_CERT_NONE},
        .patience = c->cluster.patience,
        .unix_users = c->cluster.unix_users,
        .registry = registry,
        .node = view.node,
        .blocking_slots = t->blocking_slots,
        .stepped_slots = t->stepped_slots};
    t->fronts = fronts_new(&options, error, size);
    free(pollers);
    if (!t->fronts)
        return -1;
    cluster_on_change(cluster, fronts_changed, t->fronts);
    return 0;
}

/* Where other nodes reach this one, unless the configuration says. */
static int listen_for_nodes(struct topology *t, const struct config *c, char *error, size_t size)
{
    if (fronts_listen(t->fronts, t->acceptor, error, size) < 0)
        return -1;
    if (fronts_url(t->fronts) && !c->cluster.address)
        membership_set_address(t->membership, fronts_url(t->fronts));
    return 0;
}

/* ---- what applications submit in transactions of their own ---- */

static int build_intake(struct topology *t, const struct config *c, char *error, size_t size)
{
    const struct intake_options options = {
        .source = driver_symbol(c->store, INBOX_SOURCE_SYMBOL, error, size),
        .where = c->store,
        .cluster = membership_cluster(t->membership),
        .acceptor = t->acceptor,
        .scan = t->shared.limits.scan};

    t->intake = options.source ? intake_new(&options, error, size) : NULL;
    return t->intake ? 0 : -1;
}

/* ---- flight recorders ---- */

static void list_ring(struct recorder_rings *rings, const struct activator *a)
{
    struct recorder_ring *ring = &rings->at[rings->count++];

    ring->recorder = activator_recorder(a);
    snprintf(ring->name, sizeof ring->name, "%s", activator_name(a));
}

static int list_rings(struct topology *t)
{
    struct recorder_rings *rings = &t->rings;

    rings->at = calloc(t->loop_count + 1 + tasks_rings(t->tasks, NULL), sizeof *rings->at);
    if (!rings->at)
        return -1;
    for (uint32_t i = 0; i < t->loop_count; i++)
        list_ring(rings, t->activators[i]);
    if (t->manager_poller)
        list_ring(rings, t->manager);
    rings->count += tasks_rings(t->tasks, rings->at + rings->count);
    return 0;
}

/* ---- the whole ---- */

static int share(struct topology *t, const struct config *c, struct registry *registry)
{
    t->shared.registry = registry;
    t->shared.tasks = t->tasks;
    t->shared.jobs = t->jobs;
    t->shared.cluster = membership_cluster(t->membership);
    t->shared.default_durable = plan_durable(c);
    t->shared.worker_methods = t->worker_methods;
    t->shared.give_up = c->workers.give_up;
    t->shared.net_loops = t->nets;
    t->shared.rpc_loops = t->rpcs;
    t->shared.loops = t->activators;
    t->shared.manager = t->manager_poller ? t->manager : NULL;
    t->shared.loop_count = t->loop_count;
    t->shared.rings = &t->rings;
    t->shared.accounts = t->accounts;
    t->shared.tracer = t->tracer;
    t->shared.started = clock_monotonic();
    t->shared.idle = plan_idle_name(c);
    t->shared.memory_usable = memory_usable("");
    t->shared.figures = figures_new(&t->shared);
    return t->shared.figures ? 0 : -1;
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
    if (!plan_worker_methods(config, &t->worker_methods) || join_workers(config, registry) < 0)
        goto failed;
    t->shared.limits = plan_limits(config, t->loop_count);
    if (build_activators(t, config) < 0)
        goto failed;
    if ((config->cluster.exists && spread_handlers(config, registry, error, size) < 0) ||
        build_tracer(t, config, error, size) < 0 ||
        build_tasks(t, config, registry, error, size) < 0 ||
        build_processes(t, config, registry, error, size) < 0 ||
        build_jobs(t, config, registry, error, size) < 0)
        goto failed_with_text;
    t->acceptor = acceptor_new(t->nets, t->loop_count, &t->shared.limits);
    if (!t->acceptor || list_rings(t) < 0 || share(t, config, registry) < 0)
        goto failed;
    if (t->membership && build_fronts(t, config, registry, error, size) < 0)
        goto failed_with_text;
    return t;

failed:
    fail(error, size, "cannot build the topology");
failed_with_text:
    topology_free(t);
    return NULL;
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
    if (t->fronts && listen_for_nodes(t, config, error, size) < 0)
        return -1;
    if (t->membership && build_intake(t, config, error, size) < 0)
        return -1;
    if (t->processes && processes_listen(t->processes, t->acceptor, error, size) < 0)
        return -1;
    return reload_secrets(config, t->acceptor, NULL, error, size);
}

/* ==== starting, draining and stopping ==== */

/* The least time for joining the threads.  A loop ends each of its calls before its thread ends,
 * and the manager each attempt; for a million of them that takes time, and is no sign that a
 * handler hangs.  A thread that runs for longer is abandoned, and what it had to write is lost. */
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
    if (t->membership && membership_start(t->membership, t->store, t->jobs, error, size) < 0) {
        jobs_stop(t->jobs);
        tasks_stop(t->tasks, AO_S(1));
        return -1;
    }
    if (t->fronts && fronts_start(t->fronts, error, size) < 0) {
        membership_stop(t->membership);
        jobs_stop(t->jobs);
        tasks_stop(t->tasks, AO_S(1));
        return -1;
    }
    what = "the thread of the inbox";
    why = t->intake ? intake_start(t->intake) : 0;
    if (why == 0) {
        what = "the thread of the processes";
        why = t->processes ? processes_start(t->processes) : 0;
    }
    if (why == 0) {
        what = "a loop's thread";
        if (threads_start(&t->threads) == 0)
            return 0;
        why = errno;
        intake_stop(t->intake);
        threads_stop(&t->threads, AO_NEVER);
    }
    processes_stop(t->processes);
    fronts_stop(t->fronts);
    jobs_stop(t->jobs);
    membership_stop(t->membership);
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
    if (t->membership)
        cluster_leave(membership_cluster(t->membership));
    net_drain(t->acceptor, drained, arg);
    if (t->fronts)
        fronts_drain(t->fronts);
    if (t->fronts)
        fronts_on_drained(t->fronts, drained, arg);
    tasks_drain_jobs(t->tasks, t->fronts ? fronts_tasks_drained : drained,
                     t->fronts ? t->fronts : arg);
}

uint32_t topology_stop(struct topology *t, ao_time limit)
{
    if (limit < least_join)
        limit = least_join;
    ao_time began = clock_monotonic();
    intake_stop(t->intake);
    uint32_t stuck = threads_stop(&t->threads, began + limit - least_join / 2);
    processes_stop(t->processes);
    fronts_stop(t->fronts);
    ao_time passed = clock_monotonic() - began;

    if (stuck > 0 && t->membership &&
        cluster_role(membership_cluster(t->membership)) == CLUSTER_OWNER)
        log_warn("a handler does not return to its loop, so the tasks are not handed over: another "
                 "node waits for the end of the lease");
    if (stuck == 0)
        jobs_stop(t->jobs); /* while blocking handlers may still run */
    membership_stop(t->membership);
    return stuck + tasks_stop(t->tasks, passed < limit ? limit - passed : 0);
}

/* In the reverse order of building: objects are freed before the activator on which they live. */
void topology_free(struct topology *t)
{
    if (!t)
        return;
    intake_free(t->intake);
    processes_stop(t->processes);
    if (t->acceptor)
        acceptor_free(t->acceptor);
    for (uint32_t i = 0; t->loops && i < t->loop_count; i++)
        if (t->loops[i].net)
            net_loop_free(t->loops[i].net);
    if (t->tasks)
        tasks_clear(t->tasks);
    processes_free(t->processes); /* connections have no board of it any more */
    fronts_free(t->fronts);
    jobs_free(t->jobs);
    store_close(t->store);
    membership_free(t->membership);
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
    exporter_close(t->exporter); /* it sends the last spans, too */
    tracer_free(t->tracer);
    accounts_free(t->accounts);
    threads_fini(&t->threads);
    figures_free(t->shared.figures);
    free(t->worker_methods);
    free(t->rings.at);
    free(t->nets);
    free(t->rpcs);
    free(t->activators);
    free(t->loops);
    free(t);
}
