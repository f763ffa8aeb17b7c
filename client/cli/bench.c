/* ergon bench: a load run, and what it measured. */
#include "client/cli/bench_report.h"
#include "client/cli/params.h"
#include "proto/envelope.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    DEFAULT_CONNECTIONS = 16,
    DEFAULT_IN_FLIGHT = 16,
    DEFAULT_PAYLOAD = 64, /* bytes */
    CONNECTIONS_MAX = 1000 * 1000,
    IN_FLIGHT_MAX = 1000 * 1000,
    PAYLOAD_MAX = 1 << 30, /* bytes */
    CONNECT_MS = 10 * 1000
};

static const uint64_t DEFAULT_DURATION_NS = UINT64_C(5000000000); /* unless --requests ends it */

struct bench_options {
    uint64_t connections;
    uint64_t in_flight;
    uint64_t duration_ns;
    uint64_t requests;
    uint64_t payload; /* bytes */
    const char *method;
};

#define BENCH(field) offsetof(struct bench_options, field)
static const struct option_spec OPTIONS[] = {
    {'c', "connections", "N", "connections at a time; 16", OPTION_NUMBER, BENCH(connections)},
    {'i', "in-flight", "N", "requests in flight on each; 16", OPTION_NUMBER, BENCH(in_flight)},
    {'d', "duration", "TIME", "how long to send; 5s, or no limit with --requests", OPTION_DURATION,
     BENCH(duration_ns)},
    {'n', "requests", "N", "how many requests to send in all", OPTION_NUMBER, BENCH(requests)},
    {'m', "method", "NAME", "method to call; echo", OPTION_TEXT, BENCH(method)},
    {'p', "payload", "SIZE", "bytes of the one parameter, where no ARG is given; 64", OPTION_SIZE,
     BENCH(payload)},
    {0},
};
#undef BENCH

static const struct bench_options DEFAULTS = {
    .connections = DEFAULT_CONNECTIONS,
    .in_flight = DEFAULT_IN_FLIGHT,
    .payload = DEFAULT_PAYLOAD,
    .method = "echo",
};

/* A readable descriptor instead of an early end: what was measured is still printed. */
static int catch_interrupt(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* else the connection that is too many says so */
}

static bool check(const struct bench_options *o)
{
    if (o->connections > CONNECTIONS_MAX || o->in_flight > IN_FLIGHT_MAX)
        complain("at most %d connections, and %d requests in flight on each", CONNECTIONS_MAX,
                 IN_FLIGHT_MAX);
    else if (o->payload > PAYLOAD_MAX)
        complain("the payload has at most 1g");
    else if (o->method[0] == 0 || strlen(o->method) > METHOD_NAME_MAX)
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
    else
        return true;
    return false;
}

/* Bytes that do not compress to nothing, the same in every run. */
static bool pack_payload(msgpack_packer *to, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    uint32_t x = 2463534242u;
    if (bytes == NULL)
        return false;
    for (size_t i = 0; i < size; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        bytes[i] = (uint8_t)x;
    }
    bool good = msgpack_pack_array(to, 1) == 0 && msgpack_pack_bin_with_body(to, bytes, size) == 0;
    free(bytes);
    return good;
}

static uint32_t timeout_ms(const struct globals *g)
{
    uint64_t ms = g->timeout_ns / 1000000;
    return ms == 0 || ms > INT32_MAX ? CONNECT_MS : (uint32_t)ms;
}

static enum status open_target(const struct globals *g, struct url *url, struct load_plan *plan)
{
    char why[256];
    struct tls_files files = {g->cacert, g->cert, g->key, g->insecure};
    const char *wrong = url_parse(g->server, url);
    if (wrong != NULL) {
        complain("%s: %s", g->server, wrong);
        return STATUS_USAGE;
    }
    plan->target = (struct peer_target){
        .url = url,
        .server_name = g->server_name != NULL ? g->server_name : url->host,
        .token = g->token,
        .timeout_ms = (int)timeout_ms(g),
    };
    if (url->kind == URL_TLS)
        plan->target.tls = tls_new(&files, why, sizeof why);
    if (url->kind != URL_TLS || plan->target.tls != NULL)
        return STATUS_OK;
    complain("%s", why);
    return STATUS_USAGE;
}

static enum status run_and_report(const struct globals *g, struct load_plan *plan)
{
    struct load_result result;
    bool live = !g->quiet && !g->json && isatty(STDERR_FILENO);
    plan->progress = live ? bench_progress : NULL;
    plan->progress_arg = plan;
    enum status status = load_run(plan, &result);
    if (live)
        bench_progress_end();
    if (status == STATUS_OK)
        status = bench_report(g, plan, &result);
    else if (status != STATUS_INTERRUPTED && !g->quiet)
        complain("no load on %s: %s", g->server, result.why);
    struct signalfd_siginfo caught;
    if (read(plan->stop_fd, &caught, sizeof caught) > 0)
        status = STATUS_INTERRUPTED;
    load_result_fini(&result);
    return status;
}

static enum status run_plan(const struct globals *g, const struct bench_options *o,
                            struct span params)
{
    struct url url;
    struct load_plan plan = {
        .connections = (uint32_t)o->connections,
        .in_flight = (uint32_t)o->in_flight,
        .requests = o->requests,
        .duration_ns = o->duration_ns,
        .method = span_text(o->method),
        .params = params,
    };
    if (plan.requests == 0 && plan.duration_ns == 0)
        plan.duration_ns = DEFAULT_DURATION_NS;
    enum status status = open_target(g, &url, &plan);
    if (status != STATUS_OK)
        return status;
    raise_file_limit();
    plan.stop_fd = catch_interrupt();
    status = run_and_report(g, &plan);
    if (plan.stop_fd >= 0)
        close(plan.stop_fd);
    tls_free(plan.target.tls);
    return status;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct bench_options *o = options;
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    if (!check(o))
        return status;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    bool payload = argc == 0 && strcmp(o->method, "server.ping") != 0;
    if (payload ? pack_payload(&packer, o->payload) : params_pack(&packer, argc, argv))
        status = run_plan(g, o, span_of(params.data, params.size));
    msgpack_sbuffer_destroy(&params);
    return status;
}

const struct command BENCH = {
    .name = "bench",
    .arguments = "[ARG...]",
    .summary = "load a server and measure it",
    .text = "Opens the connections, then keeps the given number of requests in flight on each\n"
            "(closed loop) until the time or the number of requests is over, and prints the\n"
            "throughput and the percentiles of the latency. The call is METHOD [ARG...], as in\n"
            "ergon call; without ARG its one parameter is of --payload bytes (server.ping has\n"
            "none). One thread; errors are counted by their code. The exit status is 1 when\n"
            "there were errors, 3 when connections broke.\n",
    .examples = "  ergon bench\n"
                "  ergon bench -c 64 -i 16 -d 10s -p 1k\n"
                "  ergon bench -c 1 -i 1 -n 100000 -m server.ping\n"
                "  ergon -s ergons://localhost:7467 --cacert ca.pem bench --json\n",
    .options = OPTIONS,
    .options_size = sizeof(struct bench_options),
    .defaults = &DEFAULTS,
    .arguments_max = -1,
    .run = run,
};
