#include "tests/support/rpc_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/net/auth/principal.h"
#include "server/net/auth/token.h"
#include "server/rpc/figures.h"
#include "server/rpc/job_requests.h"
#include "server/runtime/activator.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/handlers/host.h"
#include "server/workers/worker_executor.h"
#include "tests/support/notation.h"
#include "tests/support/tasks_handlers.h"

enum { MESSAGE_MAX = 1 << 20, REQUEST_MAX = 256 * 1024 };

/* --- The method `large` --- */

static enum ao_verdict large_step(struct ao *self, struct ergon_task *task, void *state)
{
    const struct ergon_host *host = host_table();
    struct ergon_reader r;
    uint64_t size = 0;

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

struct rpc_stage stage;

/* sha256 of the tokens in rpc_stage.h */
static const char tokens[] =
    "sha256:19c28a50b1a09097592e7ceddb7e0771ff4d469747541a7536579eef857e05ce alice "
    "*,task.any,worker.offer.*\n"
    "sha256:800480042268218663feef3ea54d81ed3f976c98c38d5fd7afbe22810ec16334 bob echo,server.*\n"
    "sha256:7efa3d541f0c00bd394d267ad3e2b99c0870ce0bd7dcadb9f89a82aa8de48941 carol "
    "echo,server.*,task.get,task.wait,task.watch,task.cancel,task.retry,"
    "task.forget,task.explain,task.list\n";

static void keep_some(void *arg, const char *line)
{
    const char *who = strchr(line, ']');

    if (who == NULL || strstr(line, "ACTIVE") != NULL || strstr(line, "SLEEPING") != NULL)
        return;
    who += 2;
    if (starts_with(who, "conn ") || starts_with(who, "manager") || starts_with(who, "executor") ||
        starts_with(who, "server"))
        net.record(&net.v, line);
}

static void open_tasks(void)
{
    static const struct executor_plan executors[] = {
        {.kind = ERGON_STEPPED, .queue = 64, .parked = 1000, .core = -1, .weight = 1},
        {.kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1},
    };
    const struct tasks_plan plan = {.registry = stage.registry,
                                    .loops = stage.loops,
                                    .loop_count = 1,
                                    .manager = net.activator,
                                    .executors = executors,
                                    .executor_count = 2,
                                    .short_cut = true,
                                    .queue_max = 1000,
                                    .message_max = MESSAGE_MAX,
                                    .workers = &worker_executors,
                                    .ended = rpc_call_ended,
                                    .opened = rpc_call_opened,
                                    .clock = &net.v.clock};
    char error[256] = "";

    stage.tasks = tasks_new(&plan, error, sizeof error);
    if (stage.tasks == NULL)
        fail_msg("%s", error);
    stage.rpc.home = tasks_home(stage.tasks, 0);
    tasks_set_owner(stage.tasks, 0, &stage.rpc);
    rpc_serve_workers(&stage.rpc, worker_loop_at(stage.tasks, 0));
}

static void open_jobs(void)
{
    const struct jobs_options options = {.tasks = stage.tasks,
                                         .registry = stage.registry,
                                         .settings.limits.max = 2000,
                                         .settings.limits.bytes = 1 << 24,
                                         .settings.limits.kept_bytes = 1 << 24,
                                         .settings.limits.actors = {.bytes = (uint64_t)1 << 28,
                                                                    .max = 10000000,
                                                                    .state = 1 << 20,
                                                                    .messages = 100000},
                                         .settings.limits.keep_failed = AO_S(7 * 86400),
                                         .settings.events = 4096,
                                         .settings.history = 100};
    char error[256] = "";

    stage.jobs = jobs_new(&options, error, sizeof error);
    if (stage.jobs == NULL)
        fail_msg("%s", error);
    const struct channel_port port = rpc_channel_port(&stage.rpc);
    stage.rpc.channel = channel_open(stage.jobs, net.activator, &port);
    assert_non_null(stage.rpc.channel);
}

static void open_server(void)
{
    char error[256];

    stage.registry = registry_new();
    test_handlers_add(stage.registry, true);
    assert_int_equal(registry_add(stage.registry, "test", &large, error, sizeof error), 0);
    stage.loops[0] = net.activator;
    open_tasks();
    open_jobs();
    stage.rpc.shared = &stage.shared;
    stage.rpc.activator = net.activator;
    net.port = rpc_port(&stage.rpc);
    net_start();
    stage.nets[0] = net.loop;
    stage.rpcs[0] = &stage.rpc;
    stage.ring = (struct recorder_ring){.recorder = activator_recorder(net.activator)};
    stage.rings = (struct recorder_rings){.at = &stage.ring, .count = 1};
    stage.shared = (struct rpc_shared){.registry = stage.registry,
                                       .rings = &stage.rings,
                                       .accounts = net.accounts,
                                       .tasks = stage.tasks,
                                       .jobs = stage.jobs,
                                       .net_loops = stage.nets,
                                       .rpc_loops = stage.rpcs,
                                       .loops = stage.loops,
                                       .loop_count = 1,
                                       .limits = net.limits,
                                       .idle = "sleep"};
    stage.shared.figures = figures_new(&stage.shared);
    assert_non_null(stage.shared.figures);
}

static int open_with(enum listener_auth auth, struct token_table *table)
{
    stage_close(NULL);
    net_open(NULL);
    virtual_silence();
    net.v.trace.line = keep_some;
    net.rules.auth = auth;
    net.limits.scan.message_max = MESSAGE_MAX;
    net.limits.output_max = net.limits.partial.shared = 4 * MESSAGE_MAX;
    open_server();
    net.loop->tokens = table;
    stage.conn = net_connect(&peer);
    assert_non_null(stage.conn);
    return 0;
}

int stage_open(void **state)
{
    return open_with(LISTENER_AUTH_NONE, NULL);
}

static struct token_table *load_tokens(void)
{
    char path[] = "/tmp/ergon-tokens-XXXXXX", error[256] = "";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, tokens, sizeof tokens - 1), sizeof tokens - 1);
    close(fd);
    struct token_table *table = token_table_load(path, NULL, error, sizeof error);
    unlink(path);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

int stage_open_guarded(void **state)
{
    return open_with(LISTENER_AUTH_TOKEN, load_tokens());
}

int stage_close(void **state)
{
    if (stage.registry != NULL) {
        jobs_stop(stage.jobs); /* requests are answered while their connections stand */
        net_stop();
        assert_int_equal(stage.rpc.home->calls.taken, 0); /* no call outlives its connection */
        tasks_clear(stage.tasks);
        jobs_free(stage.jobs);
        tasks_free(stage.tasks);
        figures_free(stage.shared.figures);
        registry_free(stage.registry);
    }
    stage = (struct rpc_stage){0};
    return net_close(state);
}

/* --- The peer --- */

void stage_ask(struct script *k, uint8_t id, const char *method, const char *params)
{
    static uint8_t message[REQUEST_MAX];
    uint8_t *p = enc_array(message, 4);

    p = enc_str(enc_uint(enc_uint(p, 0), id), span_text(method));
    p += notation_pack(params, p, (size_t)(message + REQUEST_MAX - p));
    script_send(k, span_of(message, (size_t)(p - message)));
}

void stage_notify(struct script *k, const char *method, const char *params)
{
    static uint8_t message[REQUEST_MAX];
    uint8_t *p = enc_uint(enc_array(message, 3), 2);

    p = enc_str(p, span_text(method));
    p += notation_pack(params, p, (size_t)(message + REQUEST_MAX - p));
    script_send(k, span_of(message, (size_t)(p - message)));
}

static bool run_blocking(void)
{
    return blocking_round(ao_of(stage.tasks->executors[1], struct blocking, base));
}

void stage_run_ms(uint64_t ms)
{
    do
        virtual_run_until(&net.v, AO_MS(ms));
    while (run_blocking());
}

/* Blocking executors take part before the clock goes on. */
void stage_run(void)
{
    do {
        stage_run_ms(net.v.now / AO_MS(1));
        virtual_run(&net.v);
    } while (run_blocking());
}

static size_t add_line(char *buf, size_t size, const char *format, const char *first,
                       const char *second, const char *third)
{
    int n = snprintf(buf, size, format, first, second, third);

    assert_true(n > 0 && (size_t)n < size);
    return (size_t)n;
}

/* Of a worker: what it is asked, and told. */
static size_t say_request(struct span message, bool notification, char *buf, size_t size)
{
    struct reader r = reader_of(message);
    struct span msgid = {0}, method = {0}, params = {0};
    char id[32] = "", name[128], values[2048];
    uint32_t count;
    uint64_t type;

    if (!read_array(&r, &count) || !read_uint(&r, &type) ||
        (!notification && !read_any(&r, &msgid)) || !read_any(&r, &method) ||
        !read_any(&r, &params))
        fail_msg("no message: %s", notation_show(message, buf, size));
    if (!notification)
        notation_show(msgid, id, sizeof id);
    notation_show(method, name, sizeof name);
    notation_show(params, values, sizeof values);
    return add_line(buf, size, notification ? "tells%s: %s %s\n" : "asks %s: %s %s\n", id, name,
                    values);
}

static size_t say_response(struct span response, char *buf, size_t size)
{
    struct reader r = reader_of(response);
    struct span msgid = {0}, error = {0}, result = {0};
    char id[32], value[4096];
    uint32_t count;
    uint64_t type = 0;

    if (!read_array(&r, &count) || !read_uint(&r, &type))
        fail_msg("no message: %s", notation_show(response, buf, size));
    if (type != 1)
        return say_request(response, type == 2, buf, size);
    if (count != 4 || !read_any(&r, &msgid) || !read_any(&r, &error) || !read_any(&r, &result))
        fail_msg("not a response: %s", notation_show(response, buf, size));
    bool good = error.len == 1 && *error.at == 0xc0;
    notation_show(msgid, id, sizeof id);
    notation_show(good ? result : error, value, sizeof value);
    return add_line(buf, size, good ? "%s%s: %s\n" : "%s%s failed: %s\n", id, "", value);
}

const char *stage_said_to(struct script *k)
{
    struct span left = span_of(k->out, k->out_len);
    size_t at = 0, len;

    stage.said[0] = '\0';
    while (left.len > 0 && (len = value_length(left)) > 0) {
        at += say_response(span_of(left.at, len), stage.said + at, sizeof stage.said - at);
        left = span_behind(left, len);
    }
    assert_int_equal(left.len, 0);
    script_forget(k);
    return stage.said;
}

const char *stage_said(void)
{
    stage_run();
    return stage_said_to(&peer);
}

const char *stage_answer(const char *method, const char *params)
{
    stage_ask(&peer, 1, method, params);
    return stage_said();
}
