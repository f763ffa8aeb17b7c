#include "server/plan.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/runtime/thread.h"
#include "server/system/machine.h"

uint32_t plan_loops(const struct config *c)
{
    return c->loops.count > 0 ? c->loops.count : cpus_count();
}

/* PARTIAL_BESIDE: what a message needs beside its own bytes: what was read after it, and the head
 * of its block. */
enum {
    PARTIAL_BESIDE = 128 << 10,
    PARTIAL_OWN_LEAST =
        16 << 10,         /* for each loop: more than the rest of a message after a short read */
    NEWCOMERS_LEAST = 16, /* for each loop: several may connect at once */
    HANDSHAKE_BYTES = 46 << 10, /* of one handshake; docs/performance.md */
    HANDSHAKES_MOST = 2048,     /* on all loops */
    HANDSHAKES_LEAST = 32       /* on all loops */
};

static uint64_t memory_in_all(const struct config *c)
{
    return c->limits.memory > 0 ? c->limits.memory : memory_usable("") / 2;
}

static uint64_t memory_of_connection(const struct config *c)
{
    return c->net.connection_bytes > 0 ? c->net.connection_bytes : memory_in_all(c) / 8;
}

/* An eighth is reserved for the loops.  The shared rest is never too small for one message of the
 * greatest size. */
static struct input_limits partial_limits(const struct config *c, uint32_t loops)
{
    uint64_t most = memory_in_all(c) / 4, least = 2 * c->limits.message + PARTIAL_BESIDE;
    uint64_t all = c->limits.partial < most ? c->limits.partial : most;
    uint64_t own = all / 8 / loops;

    own = own > PARTIAL_OWN_LEAST ? own : PARTIAL_OWN_LEAST;
    uint64_t shared = all > own * loops ? all - own * loops : 0;
    return (struct input_limits){.shared = shared > least ? shared : least, .own = own};
}

/* The share of each loop.  `connections` 0: there is no limit to take a share of. */
static uint32_t newcomers_share(const struct config *c, uint32_t connections, uint32_t loops)
{
    uint32_t all = c->net.newcomers ? c->net.newcomers : connections / 4;
    uint32_t share = (all + loops - 1) / loops, least = c->net.newcomers ? 1 : NEWCOMERS_LEAST;

    return share > least ? share : least;
}

/* The share of each loop. */
static uint32_t handshakes_share(const struct config *c, uint32_t loops)
{
    uint64_t fit = memory_in_all(c) / 16 / HANDSHAKE_BYTES;
    uint32_t all = fit < HANDSHAKES_MOST ? (uint32_t)fit : HANDSHAKES_MOST;

    if (c->net.handshakes > 0)
        all = c->net.handshakes;
    else if (all < HANDSHAKES_LEAST)
        all = HANDSHAKES_LEAST;
    return (all + loops - 1) / loops;
}

struct scan_limits plan_scan(const struct config *c)
{
    return (struct scan_limits){.message_max = (uint32_t)c->limits.message,
                                .depth_max = c->net.scan.depth_max};
}

struct net_limits plan_limits(const struct config *c, uint32_t loops)
{
    struct net_limits limits = c->net;

    limits.scan = plan_scan(c);
    limits.connection_bytes = memory_of_connection(c);
    limits.partial = partial_limits(c, loops);
    if (limits.connections == 0)
        limits.connections = fdlimit_connections(fdlimit_raise());
    limits.newcomers = newcomers_share(c, limits.connections, loops);
    limits.handshakes = handshakes_share(c, loops);
    return limits;
}

struct account_limits plan_accounts(const struct config *c)
{
    uint64_t all = memory_in_all(c);
    uint32_t most = c->limits.principal_in_flight;
    uint64_t principal = c->limits.principal_memory;

    return (struct account_limits){.bytes_in_all = all,
                                   .bytes = principal > 0 ? principal : all / 2,
                                   .calls = most > 0 ? most : UINT32_MAX};
}

static struct executor_plan plan_listed(const struct config *c, const struct config_executor *e,
                                        uint32_t nth, uint32_t loops)
{
    return (struct executor_plan){
        .kind = e->kind == CONFIG_STEPPED ? ERGON_STEPPED : ERGON_BLOCKING,
        .queue = e->queue,
        .fixed = c->executors.bound == CONFIG_BOUND_FIXED,
        .parked = c->executors.stepped_parked,
        .turns = c->executors.stepped_turns,
        .loop = e->loop == CONFIG_ANY ? nth % loops : (uint32_t)e->loop,
        .core = e->core,
        .priority = e->priority,
        .weight = e->weight,
    };
}

static struct executor_plan plan_stepped(const struct config *c, uint32_t loop)
{
    return (struct executor_plan){.kind = ERGON_STEPPED,
                                  .queue = c->executors.stepped_queue,
                                  .fixed = c->executors.bound == CONFIG_BOUND_FIXED,
                                  .parked = c->executors.stepped_parked,
                                  .turns = c->executors.stepped_turns,
                                  .loop = loop,
                                  .core = CONFIG_ANY,
                                  .weight = 1};
}

static struct executor_plan plan_blocking(const struct config *c)
{
    return (struct executor_plan){.kind = ERGON_BLOCKING,
                                  .queue = c->executors.blocking_queue,
                                  .fixed = c->executors.bound == CONFIG_BOUND_FIXED,
                                  .core = CONFIG_ANY,
                                  .weight = 1};
}

static uint32_t count_blocking(const struct config *c)
{
    uint32_t count = 0;

    for (size_t i = 0; i < c->executors.count; i++)
        count += c->executors.list[i].kind == CONFIG_BLOCKING;
    return c->executors.count > 0 ? count : c->executors.blocking_count;
}

static uint32_t count_spares(const struct config *c)
{
    uint32_t blocking = count_blocking(c), most = c->executors.blocking_max;

    if (most == 0)
        return blocking;
    return most > blocking && blocking > 0 ? most - blocking : 0;
}

/* The spares copy the blocking executors before them, in turn. */
static void plan_spares(struct executor_plan *plans, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0, like = 0; i < count; i++, like++) {
        while (plans[like].kind != ERGON_BLOCKING)
            like++;
        plans[from + i] = plans[like];
        plans[from + i].spare = true;
    }
}

struct executor_plan *plan_executors(const struct config *c, uint32_t loops, uint32_t *count)
{
    uint32_t listed = (uint32_t)c->executors.count, stepped = 0, spares = count_spares(c);
    uint32_t n = listed > 0 ? listed : loops + c->executors.blocking_count;
    struct executor_plan *plans = calloc(n + spares, sizeof *plans);

    if (!plans)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (listed == 0)
            plans[i] = i < loops ? plan_stepped(c, i) : plan_blocking(c);
        else
            plans[i] = plan_listed(c, &c->executors.list[i], stepped, loops);
        stepped += plans[i].kind == ERGON_STEPPED;
    }
    plan_spares(plans, n, spares);
    *count = n + spares;
    return plans;
}

struct tasks_plan plan_tasks(const struct config *c)
{
    return (struct tasks_plan){.policy = c->placement,
                               .short_cut = c->shortcut,
                               .queue_max = c->manager.queue,
                               .workers_max = c->workers.max,
                               .message_max = c->limits.message,
                               .step_limit = c->step_limit,
                               .dev = c->dev};
}

/* A quarter of the memory.  Connections and calls may hold a half (memory_in_all()), so a quarter
 * is left for everything else. */
static uint64_t memory_of_jobs(const struct config *c)
{
    return c->tasks.limits.bytes > 0 ? c->tasks.limits.bytes : memory_usable("") / 4;
}

static uint64_t memory_of_kept(const struct config *c)
{
    bool is_given = c->tasks.limits.kept_bytes != (uint64_t)CONFIG_ANY;

    return is_given ? c->tasks.limits.kept_bytes : memory_of_jobs(c) / 4;
}

struct jobs_settings plan_jobs(const struct config *c)
{
    struct jobs_settings settings = c->tasks;

    settings.limits.bytes = memory_of_jobs(c);
    settings.limits.kept_bytes = memory_of_kept(c);
    if (settings.limits.actors.bytes == 0)
        settings.limits.actors.bytes = memory_of_jobs(c) / 2;
    return settings;
}

uint8_t plan_durable(const struct config *c)
{
    if (!c->store)
        return DURABLE_NONE;
    return plan_store_require(c) == DURABLE_REPLICATED ? DURABLE_REPLICATED : DURABLE_FSYNC;
}

uint8_t plan_store_require(const struct config *c)
{
    if (c->store_require != CONFIG_REQUIRE_AUTO)
        return (uint8_t)c->store_require;
    return c->cluster.exists ? DURABLE_REPLICATED : DURABLE_NONE;
}

struct jobs_tenant *plan_tenants(const struct config *c)
{
    struct jobs_tenant *tenants = calloc(c->tenant_count + 1, sizeof *tenants);

    for (size_t i = 0; tenants && i < c->tenant_count; i++)
        tenants[i] = (struct jobs_tenant){c->tenants[i].name, c->tenants[i].weight};
    return tenants;
}

/* Activators do not spin if that would cost others processor time: with more activators than
 * processors, or with a quota. */
static bool may_spin(const struct config *c)
{
    return cpus_spare(plan_loops(c) + (c->manager.place == CONFIG_PLACE_OWN));
}

enum idle_mode plan_idle(const struct config *c)
{
    return c->idle.mode == IDLE_AUTO && !may_spin(c) ? IDLE_SLEEP : c->idle.mode;
}

const char *plan_idle_name(const struct config *c)
{
    static const char *const names[] = {
        [IDLE_SLEEP] = "sleep", [IDLE_SPIN] = "spin", [IDLE_NEVER] = "never", [IDLE_AUTO] = "auto"};

    return names[plan_idle(c)];
}

struct activator_options plan_loop(const struct config *c, uint32_t index)
{
    return (struct activator_options){
        .core = index < c->loops.cores.count ? (int)c->loops.cores.at[index] : CONFIG_ANY,
        .idle = plan_idle(c),
        .spin = c->idle.spin,
        .preemptions = thread_preemptions,
        .step_limit = c->step_limit,
        .seed = index,
    };
}

/* Joins the patterns with commas; NULL if there are none, or without memory. */
static char *join(const struct config_texts *patterns)
{
    size_t size = 2;

    for (size_t i = 0; i < patterns->count; i++)
        size += strlen(patterns->at[i]) + 1;
    char *joined = patterns->count > 0 ? calloc(1, size) : NULL, *end = joined;
    if (!joined)
        return NULL;
    for (size_t i = 0; i < patterns->count; i++) {
        if (i > 0)
            *end++ = ',';
        end = stpcpy(end, patterns->at[i]);
    }
    return joined;
}

bool plan_listener(const struct config *c, const struct config_listener *l,
                   struct listener_options *out)
{
    *out = (struct listener_options){
        .url = l->url,
        .auth = l->auth,
        .methods = join(&l->allow),
        .tls = {.cert = l->way.scheme == URL_TLS ? l->cert : NULL,
                .key = l->key,
                .client_ca = l->client_ca,
                .crl = l->client_cert == CLIENT_CERT_NONE ? NULL : l->crl,
                .key_password = c->tls.key_password,
                .client_cert = l->client_cert,
                .min_tls13 = c->tls.min_version == CONFIG_TLS_1_3},
        .connections = l->max_connections,
        .idle_timeout = l->idle_timeout == 0 ? AO_NEVER : l->idle_timeout,
        .unix_mode = l->mode,
        .raw = l->raw,
        .penalties = l->penalties,
    };
    return l->allow.count == 0 || out->methods != NULL;
}

struct listener_options *plan_admin(const struct config *c)
{
    struct listener_options *all = calloc(c->admin.count + 1, sizeof *all);

    for (size_t i = 0; all && i < c->admin.count; i++)
        if (!plan_listener(c, &c->admin.listeners[i], &all[i])) {
            plan_admin_free(all, i);
            return NULL;
        }
    return all;
}

void plan_admin_free(struct listener_options *listeners, size_t count)
{
    for (size_t i = 0; listeners && i < count; i++)
        free((char *)(uintptr_t)listeners[i].methods);
    free(listeners);
}

bool plan_patterns(const struct config_texts *patterns, char **out)
{
    *out = join(patterns);
    return *out || patterns->count == 0;
}

bool plan_worker_methods(const struct config *c, char **out)
{
    return plan_patterns(&c->workers.methods, out);
}

struct role_table *plan_roles(const struct config *c)
{
    struct role *roles = calloc(c->role_count + 1, sizeof *roles);
    struct role_table *table = NULL;
    bool good = roles != NULL;

    for (size_t i = 0; good && i < c->role_count; i++) {
        const struct config_role *from = &c->roles[i];
        roles[i] = (struct role){.name = from->name,
                                 .tenant = from->tenant,
                                 .members = join(&from->members),
                                 .methods = join(&from->methods),
                                 .tenants = join(&from->tenants),
                                 .queues = join(&from->queues),
                                 .keys = join(&from->keys)};
        good = roles[i].members && roles[i].methods &&
               (roles[i].tenants || from->tenants.count == 0) &&
               (roles[i].queues || from->queues.count == 0) &&
               (roles[i].keys || from->keys.count == 0);
    }
    if (good)
        table = role_table_new(roles, c->role_count);
    for (size_t i = 0; roles && i < c->role_count; i++) {
        free((char *)(uintptr_t)roles[i].members);
        free((char *)(uintptr_t)roles[i].methods);
        free((char *)(uintptr_t)roles[i].tenants);
        free((char *)(uintptr_t)roles[i].queues);
        free((char *)(uintptr_t)roles[i].keys);
    }
    free(roles);
    return table;
}

bool plan_recorder_folder(const struct config *c, char out[PATH_MAX])
{
    char store[PATH_MAX];
    const char *folder = c->recorder.directory;

    if (!folder && c->cluster.exists) {
        folder = c->cluster.state;
    } else if (!folder && c->store) {
        snprintf(store, sizeof store, "%s", c->store);
        folder = dirname(store);
    }
    if (c->recorder.files == 0 || !folder)
        return false;
    snprintf(out, PATH_MAX, "%s", folder);
    return true;
}
