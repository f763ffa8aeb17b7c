/* The rest of server.*: what the server says of itself.  Figures are read one by one while
 * everything runs: each is true, their sum may be off by what happened meanwhile. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/clock.h"
#include "server/rpc/cluster_methods.h"
#include "server/runtime/activator.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/method_ranks.h"
#include "server/tracing/tracer.h"

static void pack_connections(struct pack *p, const struct rpc_shared *s)
{
    struct net_loop_stats n = {0};

    for (uint32_t i = 0; i < s->loop_count; i++)
        net_loop_add_stats(s->net_loops[i], &n);

    pack_str(p, "connections");
    pack_map(p, 14);
    pack_key_uint(p, "open", n.connections);
    pack_key_uint(p, "accepted", n.accepted);
    pack_key_uint(p, "closed", n.closed);
    pack_key_uint(p, "messages", n.messages);
    pack_key_uint(p, "bytes_in", n.bytes_in);
    pack_key_uint(p, "bytes_out", n.bytes_out);
    pack_key_uint(p, "protocol_errors", n.protocol_errors);
    pack_key_uint(p, "unread", n.unread);
    pack_key_uint(p, "partial_bytes", accounts_figures(s->accounts).unfinished);
    pack_key_uint(p, "newcomers", n.newcomers);
    pack_key_uint(p, "gave_way", n.gave_way);
    pack_key_uint(p, "limit", s->limits.connections);
    pack_key_uint(p, "newcomers_limit", (uint64_t)s->limits.newcomers * s->loop_count);
    pack_key_uint(p, "partial_limit",
                  s->limits.partial.shared + s->limits.partial.own * s->loop_count);
}

/* A method that has run. */
struct handler {
    struct method_info info;
    uint32_t index; /* of the method */
};

/* What workers have done is that of the methods which they alone run. */
static void pack_workers(struct pack *p, const struct rpc_shared *s, const struct handler *handlers,
                         uint32_t count)
{
    uint64_t workers = 0, slots = 0, gone = 0, strange = 0, out = 0, done = 0, failed = 0;

    for (uint32_t i = 0; i < s->loop_count; i++) {
        const struct rpc_stats *r = &s->rpc_loops[i]->stats;
        workers += counter_read(&r->workers);
        slots += counter_read(&r->worker_slots);
        gone += counter_read(&r->workers_gone);
        strange += counter_read(&r->strange);
    }
    for (uint32_t i = 0; i < count; i++)
        if (handlers[i].info.at_workers) {
            out += handlers[i].info.running;
            done += handlers[i].info.done;
            failed += handlers[i].info.failed;
        }
    pack_str(p, "workers");
    pack_map(p, 7);
    pack_key_uint(p, "registered", workers);
    pack_key_uint(p, "slots", slots);
    pack_key_uint(p, "out", out);
    pack_key_uint(p, "done", done);
    pack_key_uint(p, "failed", failed);
    pack_key_uint(p, "gone", gone);
    pack_key_uint(p, "strange", strange);
}

static void pack_tasks(struct pack *p, const struct tasks_info *t)
{
    pack_str(p, "tasks");
    pack_map(p, 8);
    pack_key_uint(p, "calls", t->calls);
    pack_key_uint(p, "short_cut", t->short_cut);
    pack_key_uint(p, "through_manager", t->through_manager);
    pack_key_uint(p, "done", t->done);
    pack_key_uint(p, "failed", t->failed);
    pack_key_uint(p, "cancelled", t->cancelled);
    pack_key_uint(p, "late", t->late);
    pack_key_uint(p, "refused", t->busy_refused);
}

/* A map of the jobs' figures of this group, and of `more` pairs that follow by hand. */
static void pack_figures(struct pack *p, const char *map, const struct jobs_info *l, uint32_t more)
{
    const struct figure *f;
    uint32_t shown = 0;

    for (size_t n = 0; (f = jobs_figure(n)); n++)
        shown += f->key && figure_is_of(f, map);
    pack_str(p, map);
    pack_map(p, shown + more);
    for (size_t n = 0; (f = jobs_figure(n)); n++)
        if (f->key && figure_is_of(f, map))
            pack_key_uint(p, f->key, figure_value(f, l));
}

static void pack_jobs(struct pack *p, const struct jobs_info *l)
{
    pack_figures(p, "kept", l, 1);
    pack_str(p, "states");
    pack_map(p, JOB_STATE_COUNT);
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        pack_key_uint(p, job_state_names[i], l->by_state[i]);
    pack_figures(p, "shared", l, 0);
    pack_figures(p, "actors", l, 0);
    pack_figures(p, "feed", l, 0);
}

static void pack_store(struct pack *p, const struct jobs_info *l)
{
    pack_str(p, "store");
    if (!l->has_store) {
        pack_nil(p);
        return;
    }
    pack_map(p, 13);
    pack_key_str(p, "engine", l->store_engine);
    pack_key_str(p, "level", job_durable_names[l->store_level]);
    pack_key_uint(p, "lag_us", l->store_lag / AO_US(1));
    pack_key_uint(p, "commits", l->commits);
    pack_key_uint(p, "operations", l->operations);
    pack_key_uint(p, "bytes", l->store_bytes);
    pack_key_uint(p, "commit_us", l->commit_ns / AO_US(1));
    pack_key_uint(p, "backlog", l->store_under_way);
    pack_key_uint(p, "unfolded", l->store_unfolded);
    if (l->store_room_known)
        pack_key_uint(p, "free_bytes", l->store_room);
    else
        pack_key_str(p, "free_bytes", NULL);
    if (l->store_backup > 0)
        pack_key_uint(p, "backup", l->store_backup);
    else
        pack_key_str(p, "backup", NULL);
    pack_key_str(p, "error", l->store_error);
    pack_key_bool(p, "failing", l->store_failing);
}

static void pack_memory(struct pack *p, const struct rpc_shared *s)
{
    struct accounts_figures f = accounts_figures(s->accounts);
    const struct account_limits *limits = accounts_limits(s->accounts);

    pack_str(p, "memory");
    pack_map(p, 7);
    pack_key_uint(p, "bytes", f.bytes);
    pack_key_uint(p, "input", f.input);
    pack_key_uint(p, "limit", limits->bytes_in_all);
    pack_key_uint(p, "principal_limit", limits->bytes);
    pack_key_uint(p, "connection_limit", s->limits.connection_bytes);
    pack_key_uint(p, "stopped", f.stopped);
    pack_key_uint(p, "refused", f.refused);
}

static void pack_end(struct pack *p, const char *key, const _Atomic int64_t *at)
{
    int64_t ends = atomic_load_explicit(at, memory_order_relaxed);

    if (ends == INT64_MAX)
        pack_key_str(p, key, NULL);
    else
        pack_key_int(p, key, ends * 1000);
}

static void pack_listeners(struct pack *p, const struct rpc_setup *setup)
{
    uint32_t count = atomic_load_explicit(&setup->listener_count, memory_order_acquire);

    pack_str(p, "listeners");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) {
        pack_map(p, 3);
        pack_key_str(p, "url", setup->listeners[i].url);
        pack_end(p, "certificate_ends", &setup->listeners[i].certificate_ends);
        pack_end(p, "crl_ends", &setup->listeners[i].crl_ends);
    }
}

static void pack_setup(struct pack *p, const struct rpc_shared *s)
{
    const struct rpc_setup *setup = &s->setup;
    struct rlimit files = {0};

    getrlimit(RLIMIT_NOFILE, &files);
    pack_str(p, "setup");
    pack_map(p, 10);
    pack_key_uint(p, "files", files.rlim_cur);
    pack_key_uint(p, "memory", s->memory_usable);
    pack_key_int(p, "exposed_files",
                 atomic_load_explicit(&setup->exposed_files, memory_order_relaxed));
    pack_key_int(p, "open_listeners",
                 atomic_load_explicit(&setup->open_listeners, memory_order_relaxed));
    pack_end(p, "certificate_ends", &setup->certificate_ends);
    pack_end(p, "crl_ends", &setup->crl_ends);
    pack_end(p, "token_ends", &setup->token_ends);
    pack_end(p, "crashed", &setup->crashed);
    pack_end(p, "reload_refused", &setup->reload_refused);
    pack_listeners(p, setup);
}

static void pack_log(struct pack *p, const char *name, struct log_figures l)
{
    pack_str(p, name);
    pack_map(p, 4);
    pack_key_uint(p, "records", l.records);
    pack_key_uint(p, "repeated", l.repeated);
    pack_key_uint(p, "dropped", l.dropped);
    pack_key_uint(p, "waiting", l.waiting);
}

static void pack_spans(struct pack *p, const struct rpc_shared *s)
{
    struct tracer_figures f;

    tracer_figures(s->tracer, &f);
    pack_str(p, "spans");
    pack_map(p, 5);
    pack_key_uint(p, "ended", f.spans);
    pack_key_uint(p, "exported", f.exported);
    pack_key_uint(p, "dropped", f.dropped);
    pack_key_uint(p, "waiting", f.waiting);
    pack_key_bool(p, "failing", f.failing);
}

static bool has_run(const struct method_info *m)
{
    return m->steps > 0 || m->running > 0 || m->parked > 0;
}

/* Those that have run, read once: how many they are must be known first. */
static uint32_t find_handlers(const struct rpc_shared *s, uint32_t methods, struct handler *out)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < methods; i++) {
        tasks_method_info(s->tasks, i, &out[count].info);
        out[count].index = i;
        count += has_run(&out[count].info);
    }
    return count;
}

static unsigned magnitude(uint64_t n)
{
    return n > 0 ? 64u - (unsigned)__builtin_clzll(n) : 0;
}

/* Percentiles are read from hundreds of counters: of at most TIMED methods, those that ran most.
 * Returns how often a method ran at least that has them, which is a power of two. */
static uint64_t find_timed(const struct handler *handlers, uint32_t count)
{
    enum { TIMED = 200, MAGNITUDES = 65 };
    uint32_t having[MAGNITUDES] = {0}, timed = 0;
    unsigned least = MAGNITUDES;

    for (uint32_t i = 0; i < count; i++)
        having[magnitude(handlers[i].info.steps)]++;
    while (least > 0 && timed + having[least - 1] <= TIMED)
        timed += having[--least];
    return least > 64 ? UINT64_MAX : least > 0 ? UINT64_C(1) << (least - 1) : 0;
}

/* nil where nothing was noted. */
static void pack_percentiles(struct pack *p, const char *key, const struct histogram_sum *h)
{
    static const struct {
        const char *key;
        uint64_t per_mille;
    } shown[] = {{"p50", 500}, {"p95", 950}, {"p99", 990}};
    enum { SHOWN = sizeof shown / sizeof shown[0] };

    pack_str(p, key);
    if (histogram_count(h) == 0) {
        pack_nil(p);
        return;
    }
    pack_map(p, SHOWN);
    for (unsigned i = 0; i < SHOWN; i++)
        pack_key_uint(p, shown[i].key, histogram_quantile(h, shown[i].per_mille) / AO_US(1));
}

static void pack_handlers(struct pack *p, const struct rpc_shared *s,
                          const struct handler *handlers, uint32_t count)
{
    uint64_t timed = find_timed(handlers, count);

    pack_str(p, "handlers");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct method_info *m = &handlers[i].info;
        struct times_sum times = {0};

        if (m->steps >= timed)
            tasks_method_times(s->tasks, handlers[i].index, &times);
        pack_map(p, 8);
        pack_key_str(p, "name", m->name);
        pack_key_uint(p, "running", m->running);
        pack_key_uint(p, "parked", m->parked);
        pack_key_uint(p, "steps", m->steps);
        pack_key_uint(p, "busy_ms", m->busy_ns / AO_MS(1));
        pack_key_uint(p, "cpu_ms", m->cpu_ns / AO_MS(1));
        pack_percentiles(p, "wait_us", &times.wait);
        pack_percentiles(p, "run_us", &times.run);
    }
}

/* Methods that no executor runs. */
static uint32_t without_executor(const struct registry *registry)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < registry_count(registry); i++)
        count += registry_at(registry, i)->no_executor;
    return count;
}

/* server.info [] */
void serve_server_info(struct rpc_request *rq)
{
    const struct rpc_shared *s = rq->loop->shared;
    struct tasks_info tasks;
    struct jobs_info kept;
    uint32_t methods = registry_count(s->registry);
    struct handler *handlers = malloc((methods + 1) * sizeof *handlers);
    struct pack p;

    if (!handlers) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    uint32_t count = find_handlers(s, methods, handlers);
    tasks_info(s->tasks, &tasks);
    jobs_info(s->jobs, &kept);
    jobs_look(s->jobs); /* for the next request */
    pack_init(&p);
    pack_map(&p, 25);
    pack_key_str(&p, "server", "ergon");
    pack_key_str(&p, "version", ERGON_VERSION);
    pack_key_int(&p, "pid", getpid());
    pack_key_uint(&p, "uptime_ms",
                  (ao_clock_monotonic.now(ao_clock_monotonic.arg) - s->started) / AO_MS(1));
    pack_key_uint(&p, "time", clock_wall() / AO_MS(1));
    pack_key_bool(&p, "draining", atomic_load_explicit(&s->draining, memory_order_relaxed));
    pack_key_uint(&p, "loops", s->loop_count);
    pack_key_uint(&p, "executors", tasks.executors);
    pack_key_uint(&p, "methods", methods);
    pack_key_uint(&p, "no_executor", without_executor(s->registry));
    pack_connections(&p, s);
    pack_memory(&p, s);
    pack_setup(&p, s);
    pack_tasks(&p, &tasks);
    pack_handlers(&p, s, handlers, count);
    pack_workers(&p, s, handlers, count);
    pack_jobs(&p, &kept);
    pack_store(&p, &kept);
    pack_log(&p, "log", log_figures());
    pack_log(&p, "audit", audit_figures());
    pack_spans(&p, s);
    cluster_pack(&p, s);
    free(handlers);
    rpc_answer_packed(rq, &p);
}

/* server.methods [] */
void serve_server_methods(struct rpc_request *rq)
{
    const struct registry *registry = rq->loop->shared->registry;
    uint32_t handlers = registry_count(registry);
    struct pack p;

    pack_init(&p);
    pack_array(&p, handlers + METHOD_COUNT);
    for (uint32_t i = 0; i < handlers; i++)
        pack_span(&p, registry_at(registry, i)->name);
    for (uint32_t i = 0; i < METHOD_COUNT; i++)
        pack_str(&p, rq->loop->methods[i].name);
    rpc_answer_packed(rq, &p);
}

/* Of its kind; -1: it needs none, or has workers. */
static int32_t executors_for(const struct rpc_shared *s, const struct method *m)
{
    struct tasks_info all;
    struct executor_info e;
    int32_t count = 0;

    if (!m || method_of_workers(m))
        return m && method_nobody_runs(m) ? 0 : -1;
    tasks_info(s->tasks, &all);
    for (uint32_t i = 0; i < all.executors; i++) {
        tasks_executor_info(s->tasks, i, &e);
        count += e.kind == m->handler->kind;
    }
    return count;
}

/* `m` NULL: one of the server's own. */
static void describe(struct rpc_request *rq, const struct method *m, struct span name,
                     const char *kind, const char *summary, const char *params, const char *module)
{
    struct pack p;

    pack_init(&p);
    pack_map(&p, 6);
    pack_str(&p, "name");
    pack_span(&p, name);
    pack_key_str(&p, "kind", kind);
    pack_key_str(&p, "summary", summary);
    pack_key_str(&p, "params", params);
    pack_key_str(&p, "module", module);
    pack_key_int(&p, "executors", executors_for(rq->loop->shared, m));
    rpc_answer_packed(rq, &p);
}

/* server.describe [method] */
void serve_server_describe(struct rpc_request *rq)
{
    struct span name;

    if (!rpc_read_only(rq, read_text, &name))
        return;
    const struct method *m = registry_find(rq->loop->shared->registry, name);
    const struct rpc_method *own = m ? NULL : rpc_find_own(rq->loop, name);
    if (m)
        describe(rq, m, m->name, method_kind(m), m->handler->summary, m->handler->params,
                 m->module);
    else if (own)
        describe(rq, NULL, span_text(own->name), "server", own->summary, own->params, "server");
    else
        rpc_refuse(rq, ERGON_E_NOT_FOUND, "no method \"%.*s\"",
                   (int)(name.len < 256 ? name.len : 256), (const char *)name.at);
}

static void pack_loop(struct pack *p, const struct rpc_shared *s, uint32_t i)
{
    struct activator_stats a;
    struct net_loop_stats n = {0};

    activator_stats(s->loops[i], &a);
    net_loop_add_stats(s->net_loops[i], &n);
    pack_map(p, 12);
    pack_key_str(p, "name", activator_name(s->loops[i]));
    pack_key_uint(p, "connections", n.connections);
    pack_key_uint(p, "workers", counter_read(&s->rpc_loops[i]->stats.workers));
    pack_key_uint(p, "active", a.active);
    pack_key_uint(p, "sleeping", a.sleeping);
    pack_key_uint(p, "rounds", a.rounds);
    pack_key_uint(p, "steps", a.steps);
    pack_key_uint(p, "long_steps", a.long_steps);
    pack_key_uint(p, "longest_step_us", activator_longest_step(s->loops[i]) / AO_US(1));
    pack_key_uint(p, "longest_step_minute_us",
                  activator_longest_step_lately(s->loops[i]) / AO_US(1));
    pack_key_uint(p, "blocks", a.blocks);
    pack_key_uint(p, "wakes_sent", a.wakes_sent);
}

static void pack_executor(struct pack *p, const struct rpc_shared *s, uint32_t i)
{
    struct executor_info e;

    tasks_executor_info(s->tasks, i, &e);
    pack_map(p, 16);
    pack_key_str(p, "name", e.name);
    pack_key_str(p, "kind", e.kind == ERGON_STEPPED ? "stepped" : "blocking");
    pack_key_int(p, "loop", e.loop);
    pack_key_int(p, "core", e.core);
    pack_key_int(p, "priority", e.priority);
    pack_key_uint(p, "weight", e.weight);
    pack_key_uint(p, "queue", e.queue);
    pack_key_uint(p, "bound", e.bound);
    pack_key_uint(p, "outstanding", e.outstanding);
    pack_key_uint(p, "parked", e.parked);
    pack_key_uint(p, "turning", e.turning);
    pack_key_uint(p, "done", e.done);
    pack_key_uint(p, "failed", e.failed);
    pack_key_uint(p, "busy_ms", e.busy_ns / AO_MS(1));
    pack_key_str(p, "running", e.running);
    pack_key_str(p, "state", e.state);
}

/* The principals with the most tasks in the queue and parked. */
static void pack_principals(struct pack *p, const struct tasks *t)
{
    enum { MOST = 5 };
    struct account_top top[MOST];
    uint32_t count = tasks_top(t, top, MOST);

    pack_str(p, "principals");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) {
        pack_map(p, 3);
        pack_key_str(p, "name", top[i].name);
        pack_key_uint(p, "queued", top[i].queued);
        pack_key_uint(p, "parked", top[i].places);
    }
}

static void pack_manager(struct pack *p, const struct tasks *tasks, const struct tasks_info *t)
{
    pack_map(p, 5);
    pack_key_str(p, "place", t->manager_on_loop ? "loop" : "own");
    pack_key_uint(p, "queued", t->queued);
    pack_key_uint(p, "queue", t->queue_max);
    pack_key_bool(p, "short_cut", t->short_cut_on);
    pack_principals(p, tasks);
}

/* server.topology [] */
void serve_server_topology(struct rpc_request *rq)
{
    static const char *const measures[] = {[PLACEMENT_OCCUPANCY] = "occupancy",
                                           [PLACEMENT_LENGTH] = "length",
                                           [PLACEMENT_PRIORITY] = "priority",
                                           [PLACEMENT_WEIGHT] = "weight",
                                           [PLACEMENT_COMPLETION] = "completion"};
    const struct rpc_shared *s = rq->loop->shared;
    struct tasks_info tasks;
    struct pack p;

    tasks_info(s->tasks, &tasks);
    pack_init(&p);
    pack_map(&p, 5);
    pack_str(&p, "loops");
    pack_array(&p, s->loop_count);
    for (uint32_t i = 0; i < s->loop_count; i++)
        pack_loop(&p, s, i);
    pack_str(&p, "executors");
    pack_array(&p, tasks.executors);
    for (uint32_t i = 0; i < tasks.executors; i++)
        pack_executor(&p, s, i);
    pack_str(&p, "manager");
    pack_manager(&p, s->tasks, &tasks);
    pack_key_str(&p, "measure", measures[tasks.policy]);
    pack_key_str(&p, "idle", s->idle);
    rpc_answer_packed(rq, &p);
}

/* --- server.times: how long tasks of the busiest methods waited and ran, as histograms whose
 * counts only grow, so that a client can take the difference of two answers --- */

enum {
    TIMES_USUAL = 20, /* methods in the answer by default */
    TIMES_MOST = 64   /* each has up to 2 x 54 counters at each executor, all of which are read */
};

/* [bucket, count, bucket, count, ...], of those that are not empty. */
static void pack_histogram(struct pack *p, const char *key, const struct histogram_sum *h)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        used += h->buckets[i] > 0;
    pack_str(p, key);
    pack_array(p, 2 * used);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (h->buckets[i] > 0) {
            pack_uint(p, i);
            pack_uint(p, h->buckets[i]);
        }
}

static void pack_bounds(struct pack *p)
{
    pack_str(p, "bounds");
    pack_array(p, HISTOGRAM_LAST);
    for (unsigned i = 0; i < HISTOGRAM_LAST; i++)
        pack_uint(p, histogram_bound(i));
}

static void pack_rows(struct pack *p, const struct tasks *tasks, const struct method_rank *ranks,
                      uint32_t count)
{
    pack_str(p, "methods");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) {
        struct times_sum times;
        struct method_info m;
        tasks_method_times(tasks, ranks[i].index, &times);
        tasks_method_info(tasks, ranks[i].index, &m);
        pack_map(p, 5);
        pack_key_str(p, "name", m.name);
        pack_key_uint(p, "done", m.done);
        pack_key_uint(p, "failed", m.failed);
        pack_histogram(p, "wait", &times.wait);
        pack_histogram(p, "run", &times.run);
    }
}

static bool read_limit(struct reader *r, void *out)
{
    uint64_t n;
    if (!read_uint(r, &n) || n == 0 || n > TIMES_MOST)
        return false;
    *(uint32_t *)out = (uint32_t)n;
    return true;
}

/* [{limit}].  False: answered. */
static bool read_options(struct rpc_request *rq, uint32_t *most)
{
    const struct option options[] = {{"limit", read_limit, most, "a number from 1 to 64"}};
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count <= 1)
        return count == 0 || rpc_read_options(rq, &r, options, 1);
    rpc_refuse_params(rq, "");
    return false;
}

/* server.times [{limit}] */
void serve_server_times(struct rpc_request *rq)
{
    const struct rpc_shared *s = rq->loop->shared;
    uint32_t most = TIMES_USUAL, methods = registry_count(s->registry);
    struct pack p;

    if (!read_options(rq, &most))
        return;
    struct method_rank *ranks = malloc((methods + 1) * sizeof *ranks);
    if (!ranks) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    uint32_t count = method_ranks(s->tasks, methods, true, ranks);
    pack_init(&p);
    pack_map(&p, 4);
    pack_key_uint(&p, "time", clock_wall() / AO_MS(1));
    pack_key_uint(&p, "more", count > most ? count - most : 0);
    pack_bounds(&p);
    pack_rows(&p, s->tasks, ranks, count < most ? count : most);
    free(ranks);
    rpc_answer_packed(rq, &p);
}

/* --- server.whoami: the identity of the peer, and its rights, for programs that show what their
 * user can do --- */

/* A list of patterns, or nil. */
static void pack_patterns(struct pack *p, const char *key, const char *list)
{
    size_t count = list && *list ? 1 : 0;

    pack_str(p, key);
    if (!list) {
        pack_nil(p);
        return;
    }
    for (const char *at = list; (at = strchr(at, ',')); at++)
        count++;
    pack_array(p, count);
    for (const char *at = list; count > 0; count--) {
        size_t len = strcspn(at, ",");
        pack_span(p, span_of(at, len));
        at += len + (at[len] == ',');
    }
}

static void pack_grants(struct pack *p, const struct rights *r)
{
    struct rights_grant g;
    uint32_t count = 0;

    while (rights_grant(r, count, &g))
        count++;
    pack_str(p, "grants");
    pack_array(p, count);
    for (uint32_t i = 0; rights_grant(r, i, &g); i++) {
        pack_map(p, 4);
        pack_patterns(p, "methods", g.methods);
        pack_patterns(p, "tenants", g.tenants);
        pack_patterns(p, "queues", g.queues);
        pack_patterns(p, "keys", g.keys);
    }
}

static bool may(const struct connection *c, const struct rpc_method *own)
{
    return own->access != RPC_GUARDED || conn_may(c, span_text(own->name));
}

/* Of the server's own methods those that it may call, here. */
static void pack_methods(struct pack *p, struct rpc_request *rq)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < METHOD_COUNT; i++)
        count += may(rq->conn, &rq->loop->methods[i]);
    pack_str(p, "methods");
    pack_array(p, count);
    for (uint32_t i = 0; i < METHOD_COUNT; i++)
        if (may(rq->conn, &rq->loop->methods[i]))
            pack_str(p, rq->loop->methods[i].name);
}

static void pack_limits(struct pack *p, const struct rpc_shared *s)
{
    pack_str(p, "limits");
    pack_map(p, 5);
    pack_key_uint(p, "message", s->limits.scan.message_max);
    pack_key_uint(p, "depth", s->limits.scan.depth_max);
    pack_key_uint(p, "in_flight", s->limits.in_flight);
    pack_key_uint(p, "connection_bytes", s->limits.connection_bytes);
    pack_key_uint(p, "principal_bytes", accounts_limits(s->accounts)->bytes);
}

/* server.whoami [] */
void serve_server_whoami(struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);
    const struct rights *rights = principal_rights(who);
    const char *allow = conn_allow(rq->conn);
    uint64_t expires = principal_expires(who);
    struct pack p;

    pack_init(&p);
    pack_map(&p, 10);
    pack_key_str(&p, "principal", principal_name(who));
    pack_key_str(&p, "tenant", principal_tenant(who));
    if (expires > 0)
        pack_key_uint(&p, "expires", expires / AO_MS(1));
    else
        pack_key_str(&p, "expires", NULL);
    pack_key_bool(&p, "unconfigured", rights_unconfigured(rights));
    pack_key_bool(&p, "others",
                  rights_may(rights, span_text("task.any")) && rpc_others_count(rq->conn));
    pack_key_bool(&p, "params",
                  rights_may(rights, span_text(RIGHT_CONTENTS)) &&
                      (!allow || patterns_fit(allow, span_text(RIGHT_CONTENTS))));
    pack_grants(&p, rights);
    pack_patterns(&p, "allow", allow);
    pack_methods(&p, rq);
    pack_limits(&p, rq->loop->shared);
    rpc_answer_packed(rq, &p);
}
