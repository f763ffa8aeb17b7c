#include "sim/node.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/log.h"
#include "base/url.h"
#include "server/front/fronts.h"
#include "server/membership.h"
#include "server/rpc/figures.h"
#include "server/topology.h"
#include "server/modules/builtin.h"
#include "sim/acts.h"
#include "sim/disk.h"
#include "sim/guest.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/peers.h"
#include "sim/postgres.h"
#include "sim/record.h"
#include "sim/running.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum {
    FLAGS_MAX = 80,
    LOOK_MS = 1000, /* as server/system/watchdog.c has it */
    SPARE_MS = 10000
};

static const uint64_t drain = SIM_MS(2000); /* then what still runs is cancelled, and cut off */

static struct node {
    struct config *config;
    int (*add)(struct registry *r, char *error, size_t size);
    struct topology *topology;
    struct membership *membership; /* NULL: none */
    uint32_t listener, guests, for_nodes;
    unsigned drained;
    bool serves, stopping, ended; /* ended before it served: it had no memory */
    bool leaves_memory;
    bool alone;      /* the only one */
    uint32_t leaves; /* bits of enum cluster_end */
    uint64_t began;
} nodes[SIM_NODES];

static enum sim_owner owner_of(const struct node *node)
{
    return SIM_NODE + (enum sim_owner)(node - nodes);
}

/* The first node alone has the disk. */
static bool is_cut(const struct node *node)
{
    return node == nodes && sim_disk_is_cut();
}

/* --- Configuration and log --- */

static void write_record(void *arg, enum log_level level, const char *event,
                         const struct log_field *fields)
{
    char text[400] = "";
    size_t len = 0;
    (void)arg;
    sim_act_recorded(event, fields);
    for (; fields->kind != LOG_KIND_END && len < sizeof text; fields++)
        if (log_is_text(fields->kind) && fields->str)
            len +=
                (size_t)snprintf(text + len, sizeof text - len, " %s=%s", fields->key, fields->str);
    sim_tell("log %d: %s%s", (int)level, event, text);
}

bool sim_nth_configure(uint32_t n, const char *const *flags,
                       int (*add)(struct registry *r, char *error, size_t size), char *error,
                       size_t size)
{
    char *argv[FLAGS_MAX] = {"ergond", "--idle",           "sleep", "--limits-connections",
                             "100",    "--recorder-files", "0"};
    static char *envp[] = {NULL};
    int argc = 7;
    enum config_action action;
    for (; *flags; flags++)
        argv[argc++] = (char *)*flags;
    FILE *errors = fmemopen(error, size, "w");
    require(errors != NULL, "no memory for what is wrong");
    const struct config_input input = {.argc = argc, .argv = argv, .envp = envp, .errors = errors};
    nodes[n].config = config_load(&input, &action);
    fclose(errors);
    nodes[n].add = add;
    static const struct log_sink sink = {.threshold = LOG_INFO, .write = write_record};
    log_set_sink(&sink);
    return nodes[n].config != NULL;
}

bool sim_node_configure(const char *const *flags,
                        int (*add)(struct registry *r, char *error, size_t size), char *error,
                        size_t size)
{
    nodes[0].alone = true;
    return sim_nth_configure(0, flags, add, error, size);
}

void sim_node_leaves_memory(void)
{
    nodes[0].leaves_memory = true;
}

/* --- Its main thread --- */

static bool fill_registry(const struct node *node, struct registry *r, char *error, size_t size)
{
    bool good = r && (!node->add || node->add(r, error, size) == 0);
    for (size_t i = 0; good && builtin_modules[i]; i++)
        good = module_add(r, *builtin_modules[i], error, size) == 0;
    return good;
}

static void on_drained(void *arg)
{
    struct node *node = arg;
    node->drained++;
    sim_wake_all(node);
}

static bool listen_inside(struct topology *t, const char *methods, uint32_t *out, char *error,
                          size_t size)
{
    struct url way;
    const struct listener_options options = {.auth = LISTENER_AUTH_NONE, .methods = methods};
    require(url_parse("http://127.0.0.1:1", URL_ADMIN, &way) == NULL, "a URL that is none");
    int index = acceptor_listen_inside(t->acceptor, &way, &options, error, size);
    *out = (uint32_t)index;
    return index >= 0;
}

/* As topology_listen() does it.  The URL goes into this node's row: peers.c knows it. */
static bool listen_for_nodes(struct node *node, struct topology *t, char *error, size_t size)
{
    if (!t->fronts)
        return true;
    if (fronts_listen(t->fronts, t->acceptor, error, size) < 0)
        return false;
    node->for_nodes = acceptor_count(t->acceptor) - 1;
    return true;
}

int __wrap_acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                           size_t size);

/* A listener of nodes. */
int __wrap_acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                           size_t size)
{
    struct url way;
    require(url_parse(options->url, URL_LISTEN, &way) == NULL, "a URL that is none");
    return acceptor_listen_inside(a, &way, options, error, size) >= 0 ? 0 : -1;
}

/* As server/lifecycle.c does it, whose loop waits for descriptors of the system's. */
static void stop(struct node *node, struct topology *t)
{
    uint64_t until = sim_now() + drain;
    bool at_once = (node->leaves & ~(1U << CLUSTER_END_DRAIN)) != 0;
    topology_drain(t, on_drained, node);
    while (!at_once && node->drained < TOPOLOGY_DRAINED_PARTS && sim_now() < until)
        sim_wait_for(node, until);
    if (node->drained < TOPOLOGY_DRAINED_PARTS) {
        tasks_cancel_all(t->tasks);
        if (!at_once)
            sim_sleep_for(drain / 10);
    }
    net_abort(t->acceptor);
    if (topology_stop(t, SIM_MS(60000)) != 0) /* it may be away at each of its steps */
        sim_finding("a thread did not come back from the stop");
    topology_free(t);
}

static void on_cluster_end(void *arg)
{
    struct node *node = arg;
    node->leaves = membership_ended(node->membership);
    sim_wake_all(node);
}

/* As server/main.c does it.  NULL: it cannot, without memory. */
static struct topology *start(struct node *node, struct registry *registry)
{
    char error[512] = "";
    struct topology *t = NULL;
    if (fill_registry(node, registry, error, sizeof error))
        t = topology_build(node->config, registry, error, sizeof error);
    while (!t && is_cut(node)) /* it never comes to see that */
        sim_sleep(SIM_NEVER);
    node->membership = t ? t->membership : NULL;
    if (node->membership)
        membership_on_end(t->membership, on_cluster_end, node);
    if (t && listen_inside(t, NULL, &node->listener, error, sizeof error) &&
        listen_inside(t, SIM_GUEST_MAY, &node->guests, error, sizeof error) &&
        listen_for_nodes(node, t, error, sizeof error) &&
        topology_start(t, error, sizeof error) == 0)
        return t;
    bool may_fail = node->config->cluster.exists && !node->alone; /* the database may refuse it */
    if (!may_fail && !sim_memory_failed_within(sim_now() - node->began))
        sim_finding("the server does not start: %s", error);
    sim_tell("the server does not start: %s", error);
    if (t)
        topology_free(t);
    return NULL;
}

static void serve(struct node *node, struct topology *t)
{
    node->topology = t;
    node->serves = true;
    sim_memory_serves();
    sim_wake_all(node);
    while (!node->stopping && !node->leaves) {
        sim_wait_for(node, sim_now() + SIM_MS(LOOK_MS));
        tasks_look(t->tasks);
        figures_look(t->shared.figures, sim_now(), sim_wall());
    }
    node->stopping = true;
    stop(node, t);
}

static void run(void *arg)
{
    struct node *node = arg;
    int64_t live = sim_memory_live();
    struct registry *registry = registry_new();
    struct topology *t = start(node, registry);
    if (t)
        serve(node, t);
    registry_free(registry);
    if (sim_memory_live() != live && !node->leaves_memory)
        sim_finding("memory: %" PRId64 " blocks are left by a server that has ended",
                    sim_memory_live() - live);
    node->ended = true;
    sim_wake_all(node);
}

/* --- From outside --- */

bool sim_nth_start(uint32_t n)
{
    struct node *node = &nodes[n];
    uint64_t until = sim_now() + SIM_MS(60000);
    node->began = sim_now();
    node->topology = NULL;
    node->drained = 0;
    node->leaves = 0;
    node->serves = node->stopping = node->ended = false;
    sim_memory_starts();
    sim_spawn(owner_of(node), "main", run, node);
    while (!node->serves && !node->ended && !node->leaves && !is_cut(node) && sim_now() < until)
        sim_wait_for(node, sim_now() + SIM_MS(10));
    if (!node->serves && !node->ended && !node->leaves && !is_cut(node))
        sim_finding("the server did not start within a minute");
    return sim_nth_up(n);
}

/* The only node of a cluster serves tasks once it owns them. */
static void wait_to_own(const struct node *node)
{
    const struct cluster *cluster = membership_cluster(node->topology->membership);
    uint64_t until = sim_now() + SIM_MS(120000);
    while (sim_nth_up(0) && cluster_role(cluster) != CLUSTER_OWNER && sim_now() < until) {
        sim_postgres_spare(sim_now() - node->began > SIM_MS(SPARE_MS));
        sim_sleep_for(SIM_MS(1));
    }
    sim_postgres_spare(false);
    if (sim_nth_up(0) && cluster_role(cluster) != CLUSTER_OWNER)
        sim_finding("the only node does not own the tasks within two minutes");
}

bool sim_node_start(void)
{
    if (sim_nth_start(0) && nodes[0].topology->membership)
        wait_to_own(&nodes[0]);
    return sim_nth_up(0);
}

bool sim_nth_up(uint32_t n)
{
    return nodes[n].serves && !nodes[n].stopping && !nodes[n].leaves && !is_cut(&nodes[n]);
}

bool sim_node_up(void)
{
    return sim_nth_up(0);
}

struct sim_link *sim_nth_connect(uint32_t n)
{
    return sim_net_connect(owner_of(&nodes[n]), nodes[n].topology->acceptor, nodes[n].listener);
}

struct sim_link *sim_node_connect(void)
{
    return sim_nth_connect(0);
}

struct sim_link *sim_node_connect_guest(void)
{
    return sim_net_connect(SIM_NODE, nodes[0].topology->acceptor, nodes[0].guests);
}

uint32_t sim_nth_leaves(uint32_t n)
{
    return nodes[n].leaves;
}

bool sim_nth_listens(uint32_t n, struct acceptor **acceptor, uint32_t *listener)
{
    if (n >= SIM_NODES || !sim_nth_up(n))
        return false;
    *acceptor = nodes[n].topology->acceptor;
    *listener = nodes[n].for_nodes;
    return true;
}

static void stop_in_order(struct node *node)
{
    node->stopping = true;
    sim_wake_all(node);
    while (!node->ended && !is_cut(node))
        sim_wait_for(node, sim_now() + SIM_MS(10));
}

/* A thread that was dropped leaves its memory behind: the process ends with the run. */
void sim_nth_end(uint32_t n, enum sim_end how)
{
    struct node *node = &nodes[n];
    sim_record_end(how);
    if (how == SIM_STOP)
        stop_in_order(node);
    bool power = is_cut(node) || how == SIM_POWER;
    sim_tell("the node ends: %s", power ? "power" : how == SIM_KILL ? "kill" : "stop");
    node->serves = false;
    node->ended = true;
    sim_drop(owner_of(node));
    if (node->config->cluster.exists)
        sim_postgres_died(node->config->cluster.node, power);
    if (how == SIM_POWER)
        sim_peers_power(owner_of(node));
    sim_net_died(owner_of(node));
    if (n == 0)
        sim_disk_died(power);
    sim_running_died(owner_of(node), power);
}

void sim_node_end(enum sim_end how)
{
    sim_nth_end(0, how);
}
