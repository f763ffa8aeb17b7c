#include "sim/node.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/log.h"
#include "base/url.h"
#include "server/rpc/figures.h"
#include "server/topology.h"
#include "server/modules/builtin.h"
#include "sim/acts.h"
#include "sim/disk.h"
#include "sim/guest.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/record.h"
#include "sim/running.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum { FLAGS_MAX = 80, LOOK_MS = 1000 /* as server/system/watchdog.c has it */ };

static const uint64_t drain = SIM_MS(2000); /* then what still runs is cancelled, and cut off */

static struct {
    struct config *config;
    int (*add)(struct registry *r, char *error, size_t size);
    struct topology *topology;
    uint32_t listener, guests;
    unsigned drained;
    bool serves, stopping, ended; /* ended before it served: it had no memory */
    bool leaves_memory;
    uint64_t began;
} node;

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

bool sim_node_configure(const char *const *flags,
                        int (*add)(struct registry *r, char *error, size_t size), char *error,
                        size_t size)
{
    static char *argv[FLAGS_MAX] = {"ergond", "--idle",           "sleep", "--limits-connections",
                                    "100",    "--recorder-files", "0"};
    static char *envp[] = {NULL};
    int argc = 7;
    enum config_action action;
    for (; *flags; flags++)
        argv[argc++] = (char *)*flags;
    FILE *errors = fmemopen(error, size, "w");
    require(errors != NULL, "no memory for what is wrong");
    const struct config_input input = {.argc = argc, .argv = argv, .envp = envp, .errors = errors};
    node.config = config_load(&input, &action);
    fclose(errors);
    node.add = add;
    static const struct log_sink sink = {.threshold = LOG_INFO, .write = write_record};
    log_set_sink(&sink);
    return node.config != NULL;
}

void sim_node_leaves_memory(void)
{
    node.leaves_memory = true;
}

/* --- Its main thread --- */

static bool fill_registry(struct registry *r, char *error, size_t size)
{
    bool good = r && node.add(r, error, size) == 0;
    for (size_t i = 0; good && builtin_modules[i]; i++)
        good = module_add(r, *builtin_modules[i], error, size) == 0;
    return good;
}

static void on_drained(void *arg)
{
    (void)arg;
    node.drained++;
    sim_wake_all(&node);
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

/* As server/lifecycle.c does it, whose loop waits for descriptors of the system's. */
static void stop(struct topology *t)
{
    uint64_t until = sim_now() + drain;
    topology_drain(t, on_drained, NULL);
    while (node.drained < TOPOLOGY_DRAINED_PARTS && sim_now() < until)
        sim_wait_for(&node, until);
    if (node.drained < TOPOLOGY_DRAINED_PARTS) {
        tasks_cancel_all(t->tasks);
        sim_sleep_for(drain / 10);
    }
    net_abort(t->acceptor);
    if (topology_stop(t, SIM_MS(60000)) != 0) /* it may be away at each of its steps */
        sim_finding("a thread did not come back from the stop");
    topology_free(t);
}

/* As server/main.c does it.  NULL: it cannot, without memory. */
static struct topology *start(struct registry *registry)
{
    char error[512] = "";
    struct topology *t = NULL;
    if (fill_registry(registry, error, sizeof error))
        t = topology_build(node.config, registry, error, sizeof error);
    while (!t && sim_disk_is_cut()) /* it never comes to see that */
        sim_sleep(SIM_NEVER);
    if (t && listen_inside(t, NULL, &node.listener, error, sizeof error) &&
        listen_inside(t, SIM_GUEST_MAY, &node.guests, error, sizeof error) &&
        topology_start(t, error, sizeof error) == 0)
        return t;
    if (!sim_memory_failed_within(sim_now() - node.began))
        sim_finding("the server does not start: %s", error);
    sim_tell("the server does not start: %s", error);
    if (t)
        topology_free(t);
    return NULL;
}

static void serve(struct topology *t)
{
    node.topology = t;
    node.serves = true;
    sim_memory_serves();
    sim_wake_all(&node);
    while (!node.stopping) {
        sim_wait_for(&node, sim_now() + SIM_MS(LOOK_MS));
        tasks_look(t->tasks);
        figures_look(t->shared.figures, sim_now(), sim_wall());
    }
    stop(t);
}

static void run(void *arg)
{
    int64_t live = sim_memory_live();
    (void)arg;
    struct registry *registry = registry_new();
    struct topology *t = start(registry);
    if (t)
        serve(t);
    registry_free(registry);
    if (sim_memory_live() != live && !node.leaves_memory)
        sim_finding("memory: %" PRId64 " blocks are left by a server that has ended",
                    sim_memory_live() - live);
    node.ended = true;
    sim_wake_all(&node);
}

/* --- From outside --- */

bool sim_node_start(void)
{
    uint64_t until = sim_now() + SIM_MS(60000);
    node.began = sim_now();
    node.topology = NULL;
    node.drained = 0;
    node.serves = node.stopping = node.ended = false;
    sim_memory_starts();
    sim_spawn(SIM_NODE, "main", run, NULL);
    while (!node.serves && !node.ended && !sim_disk_is_cut() && sim_now() < until)
        sim_wait_for(&node, sim_now() + SIM_MS(10));
    if (!node.serves && !node.ended && !sim_disk_is_cut())
        sim_finding("the server did not start within a minute");
    return sim_node_up();
}

bool sim_node_up(void)
{
    return node.serves && !node.stopping && !sim_disk_is_cut();
}

struct sim_link *sim_node_connect(void)
{
    return sim_net_connect(node.topology->acceptor, node.listener);
}

struct sim_link *sim_node_connect_guest(void)
{
    return sim_net_connect(node.topology->acceptor, node.guests);
}

static void stop_in_order(void)
{
    node.stopping = true;
    sim_wake_all(&node);
    while (!node.ended && !sim_disk_is_cut())
        sim_wait_for(&node, sim_now() + SIM_MS(10));
}

/* A thread that was dropped leaves its memory behind: the process ends with the run. */
void sim_node_end(enum sim_end how)
{
    sim_record_end(how);
    if (how == SIM_STOP)
        stop_in_order();
    bool cut = sim_disk_is_cut();
    sim_tell("the node ends: %s", cut || how == SIM_POWER ? "power"
                                  : how == SIM_KILL       ? "kill"
                                                          : "stop");
    node.serves = false;
    sim_drop(SIM_NODE);
    sim_net_died();
    sim_disk_died(how == SIM_POWER || cut);
    sim_running_died(how == SIM_POWER || cut);
}
