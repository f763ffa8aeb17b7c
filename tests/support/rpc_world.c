#include "tests/support/rpc_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/net/auth/principal.h"
#include "server/rpc/asks.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/notation.h"
#include "tests/support/tasks_handlers.h"

enum { MESSAGE_MAX = 1 << 20, REQUEST_MAX = 1024 };

/* --- The method `large` --- */

static enum ao_verdict large_step(struct ao *self, struct ergon_task *task, void *state)
{
    const struct ergon_host *host = host_table();
    struct ergon_reader r;
    uint64_t size = 0;

    (void)self;
    (void)state;
    host->params_open(task, &r);
    host->read_uint(&r, &size);
    uint8_t *p = host->result_room(task, ENC_HEAD_MAX + size);
    if (p == NULL)
        return AO_DONE;
    uint8_t *body = enc_bin_head(p, (uint32_t)size);
    memset(body, 'x', size);
    host->result_done(task, (size_t)(body - p) + size);
    return AO_DONE;
}

static const struct ergon_handler large = {
    .size = sizeof large, .kind = ERGON_STEPPED, .name = "large", .step = large_step};

/* --- Set-up --- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static void keep_some(void *arg, const char *line)
{
    struct rpc_world *w = arg;
    const char *who = strchr(line, ']');

    if (who == NULL || strstr(line, "ACTIVE") != NULL || strstr(line, "SLEEPING") != NULL)
        return;
    who += 2;
    if (starts_with(who, "conn ") || starts_with(who, "manager") || starts_with(who, "executor") ||
        starts_with(who, "server"))
        w->record(&w->v, line);
}

void rpc_world_init(struct rpc_world *w)
{
    *w = (struct rpc_world){.short_cut = true};
    virtual_init(&w->v);
    virtual_silence();
    w->record = w->v.trace.line;
    w->v.trace.line = keep_some;
    w->v.trace.arg = w;
    w->activator = w->loops[0] = virtual_open(&w->v, "loop");
    w->rules = (struct listener_rules){
        .auth = LISTENER_AUTH_NONE, .methods = "*", .anybody = principal_new("anybody", "*")};
    w->limits = (struct net_limits){.scan = {.message_max = MESSAGE_MAX, .depth_max = 32},
                                    .in_flight = 1000,
                                    .output_max = 4 * MESSAGE_MAX,
                                    .partial_total = 4 * MESSAGE_MAX,
                                    .auth_failures = 3};
}

static void open_tasks(struct rpc_world *w)
{
    static const struct executor_plan executors[] = {
        {.kind = ERGON_STEPPED, .queue = 64, .parked = 1000, .core = -1, .weight = 1},
        {.kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1},
    };
    const struct tasks_plan plan = {.registry = w->registry,
                                    .loops = w->loops,
                                    .loop_count = 1,
                                    .manager = w->activator,
                                    .executors = executors,
                                    .executor_count = 2,
                                    .short_cut = w->short_cut,
                                    .queue_max = 1000,
                                    .message_max = MESSAGE_MAX,
                                    .ended = rpc_call_ended,
                                    .clock = &w->v.clock};
    char error[256] = "";

    w->tasks = tasks_new(&plan, error, sizeof error);
    if (w->tasks == NULL)
        fail_msg("%s", error);
    w->rpc.home = tasks_home(w->tasks, 0);
    tasks_set_owner(w->tasks, 0, &w->rpc);
}

static void open_jobs(struct rpc_world *w)
{
    const struct jobs_options options = {.tasks = w->tasks,
                                         .registry = w->registry,
                                         .tasks_max = 1000,
                                         .bytes_max = 1 << 24,
                                         .kept_bytes_max = 1 << 24,
                                         .history_max = 100};
    char error[256] = "";

    w->jobs = jobs_new(&options, error, sizeof error);
    if (w->jobs == NULL)
        fail_msg("%s", error);
    w->rpc.door = jobs_channel_open(w->jobs, w->activator, rpc_operation_answered,
                                    rpc_operation_pushed, &w->rpc);
    assert_non_null(w->rpc.door);
}

void rpc_world_open(struct rpc_world *w)
{
    char error[256];

    w->registry = registry_new();
    test_handlers_add(w->registry, true);
    assert_int_equal(registry_add(w->registry, "test", &large, error, sizeof error), 0);
    open_tasks(w);
    open_jobs(w);
    w->rpc.shared = &w->shared;
    w->rpc.activator = w->activator;
    w->net = w->nets[0] = net_loop_new(&(struct net_loop_options){
        .activator = w->activator, .limits = &w->limits, .port = rpc_port(&w->rpc)});
    w->shared.registry = w->registry;
    w->shared.tasks = w->tasks;
    w->shared.jobs = w->jobs;
    w->shared.net_loops = w->nets;
    w->shared.loops = w->loops;
    w->shared.loop_count = 1;
    w->shared.limits = w->limits;
    w->shared.idle = "sleep";
}

void rpc_world_fini(struct rpc_world *w)
{
    jobs_stop(w->jobs); /* asks are answered while their connections stand */
    net_loop_free(w->net);
    tasks_clear(w->tasks);
    jobs_free(w->jobs);
    tasks_free(w->tasks);
    registry_free(w->registry);
    principal_unref(w->rules.anybody);
    virtual_fini(&w->v);
}

struct connection *rpc_world_connect(struct rpc_world *w, struct script *k)
{
    static const char peer[] = "192.0.2.1:4711";
    struct conn_slot *slot = calloc(1, sizeof *slot + sizeof peer);

    script_init(k, &w->v, w->activator);
    assert_non_null(slot);
    slot->message.fd = -1;
    slot->id = ++w->next_id;
    slot->rules = &w->rules;
    memcpy(slot->peer, peer, sizeof peer);
    struct connection *c = conn_new(w->net, slot);
    assert_non_null(c);
    script_open(k, &c->stream, conn_on_event);
    conn_start(c);
    return c;
}

/* --- The peer --- */

void rpc_world_ask(struct script *k, uint8_t id, const char *method, const char *params)
{
    uint8_t message[REQUEST_MAX];
    uint8_t *p = enc_array(message, 4);

    p = enc_str(enc_uint(enc_uint(p, 0), id), span_text(method));
    p += notation_pack(params, p, (size_t)(message + REQUEST_MAX - p));
    script_send(k, span_of(message, (size_t)(p - message)));
}

void rpc_world_notify(struct script *k, const char *method, const char *params)
{
    uint8_t message[REQUEST_MAX];
    uint8_t *p = enc_uint(enc_array(message, 3), 2);

    p = enc_str(p, span_text(method));
    p += notation_pack(params, p, (size_t)(message + REQUEST_MAX - p));
    script_send(k, span_of(message, (size_t)(p - message)));
}

static bool run_blocking(struct rpc_world *w)
{
    return blocking_round(ao_of(w->tasks->executors[1], struct blocking, base));
}

void rpc_world_run_ms(struct rpc_world *w, uint64_t ms)
{
    do
        virtual_run_until(&w->v, AO_MS(ms));
    while (run_blocking(w));
}

/* Blocking executors take part before the clock goes on. */
void rpc_world_run(struct rpc_world *w)
{
    do {
        rpc_world_run_ms(w, w->v.now / AO_MS(1));
        virtual_run(&w->v);
    } while (run_blocking(w));
}

static size_t say_response(struct span response, char *buf, size_t size)
{
    struct reader r = reader_of(response);
    struct span msgid = {0}, error = {0}, result = {0};
    char id[32], value[1024];
    uint32_t count;
    uint64_t type;

    if (!read_array(&r, &count) || count != 4 || !read_uint(&r, &type) || type != 1 ||
        !read_any(&r, &msgid) || !read_any(&r, &error) || !read_any(&r, &result))
        fail_msg("not a response: %s", notation_show(response, buf, size));
    bool good = error.len == 1 && *error.at == 0xc0;
    notation_show(msgid, id, sizeof id);
    notation_show(good ? result : error, value, sizeof value);
    int n = snprintf(buf, size, good ? "%s: %s\n" : "%s failed: %s\n", id, value);
    assert_true(n > 0 && (size_t)n < size);
    return (size_t)n;
}

const char *rpc_world_said(struct rpc_world *w, struct script *k)
{
    struct span left = span_of(k->out, k->out_len);
    size_t at = 0, len;

    w->said[0] = '\0';
    while (left.len > 0 && (len = value_length(left)) > 0) {
        at += say_response(span_of(left.at, len), w->said + at, sizeof w->said - at);
        left = span_of(left.at + len, left.len - len);
    }
    assert_int_equal(left.len, 0);
    script_forget(k);
    return w->said;
}
