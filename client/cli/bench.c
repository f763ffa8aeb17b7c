/* ergon bench: reads the options of a load run, and leaves it to client/bench. */
#include "client/bench/hgrm.h"
#include "client/bench/rpc.h"
#include "client/bench/run.h"
#include "client/cli/cli.h"
#include "client/cli/params.h"
#include "proto/envelope.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    DEFAULT_CONNECTIONS = 16,
    DEFAULT_IN_FLIGHT = 16,
    CONNECTIONS_MAX = 1000 * 1000,
    IN_FLIGHT_MAX = 1000 * 1000,
    FILES_BESIDE = 16, /* descriptors that are no connections, and one for each thread */
    SWEEP_FIRST_RATE = 1000,
    WHY_SIZE = 1024
};

static const uint64_t RATE_MAX = 1000 * 1000 * 1000;
static const uint64_t OPENING_NS = UINT64_C(10000000000);
static const uint64_t DEFAULT_DURATION_NS = UINT64_C(5000000000); /* unless --requests ends it */

struct bench_options {
    uint64_t connections;
    uint64_t in_flight;
    uint64_t threads;
    uint64_t rate; /* 0: closed loop */
    uint64_t churn;
    uint64_t warmup_ns;
    uint64_t duration_ns;
    uint64_t requests;
    const char *arrivals;
    const char *handshake;
    const char *payload;
    const char *method;
    const char *sweep;     /* NULL: none */
    const char *histogram; /* path; NULL: none */
};

#define AT(field) offsetof(struct bench_options, field)
static const struct option_spec OPTIONS[] = {
    {'c', "connections", "N", "connections at a time; 16", OPTION_NUMBER, AT(connections)},
    {'i', "in-flight", "N", "requests in flight on each, at most; 16", OPTION_NUMBER,
     AT(in_flight)},
    {'t', "threads", "N", "threads of the generator; 1", OPTION_NUMBER, AT(threads)},
    {'r', "rate", "N", "requests a second (open loop); without, as fast as answers come",
     OPTION_NUMBER, AT(rate)},
    {'a', "arrivals", "KIND", "of an open loop: poisson or fixed; poisson", OPTION_TEXT,
     AT(arrivals)},
    {'w', "warmup", "TIME", "send so long before anything counts; 0", OPTION_DURATION,
     AT(warmup_ns)},
    {'d', "duration", "TIME", "how long to send; 5s, or no limit with --requests", OPTION_DURATION,
     AT(duration_ns)},
    {'n', "requests", "N", "how many requests to send in all", OPTION_NUMBER, AT(requests)},
    {'m', "method", "NAME", "method to call; echo", OPTION_TEXT, AT(method)},
    {'p', "payload", "SIZE",
     "bytes of the one parameter, where no ARG is given; 64, uniform:A-B, exponential:MEAN",
     OPTION_TEXT, AT(payload)},
    {0, "churn", "N", "connections a second that are closed and opened anew", OPTION_NUMBER,
     AT(churn)},
    {0, "handshake", "KIND", "of TLS: full or resumed; full", OPTION_TEXT, AT(handshake)},
    {0, "sweep", "GOAL", "find the highest rate that meets it: p99.9=5ms, max=20ms", OPTION_TEXT,
     AT(sweep)},
    {0, "histogram", "FILE", "write the latencies as HdrHistogram percentiles (.hgrm)", OPTION_TEXT,
     AT(histogram)},
    {0},
};
#undef AT

static const struct bench_options DEFAULTS = {
    .connections = DEFAULT_CONNECTIONS,
    .in_flight = DEFAULT_IN_FLIGHT,
    .threads = 1,
    .arrivals = "poisson",
    .handshake = "full",
    .payload = "64",
    .method = "echo",
};

/* ---- checks; each prints what is wrong ---- */

static bool check_counts(const struct bench_options *o)
{
    if (o->connections > CONNECTIONS_MAX || o->in_flight > IN_FLIGHT_MAX)
        complain("at most %d connections, and %d requests in flight on each", CONNECTIONS_MAX,
                 IN_FLIGHT_MAX);
    else if (o->threads > LOAD_THREADS_MAX || o->threads > o->connections)
        complain("at most %d threads, and a connection for each; --connections is %llu",
                 LOAD_THREADS_MAX, (unsigned long long)o->connections);
    else if (o->rate > RATE_MAX || o->churn > RATE_MAX)
        complain("at most %llu a second", (unsigned long long)RATE_MAX);
    else
        return true;
    return false;
}

static bool check_words(const struct bench_options *o)
{
    if (o->method[0] == 0 || strlen(o->method) > METHOD_NAME_MAX)
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
    else if (strcmp(o->arrivals, "poisson") != 0 && strcmp(o->arrivals, "fixed") != 0)
        complain("option --arrivals: '%s' is neither poisson nor fixed", o->arrivals);
    else if (strcmp(o->handshake, "full") != 0 && strcmp(o->handshake, "resumed") != 0)
        complain("option --handshake: '%s' is neither full nor resumed", o->handshake);
    else if (o->sweep != NULL && o->requests > 0)
        complain("a sweep runs each rate for a time: give --duration instead of --requests");
    else
        return true;
    return false;
}

/* Each connection is an open file. */
static bool check_files(const struct bench_options *o)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true; /* the connection that is too many will say so */
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (o->connections + o->threads + FILES_BESIDE <= limit.rlim_max)
        return true;
    complain("%llu connections are more than the limit of %llu open files allows; "
             "see ulimit -Hn",
             (unsigned long long)o->connections, (unsigned long long)limit.rlim_max);
    return false;
}

/* ---- the plan ---- */

static bool set_target(struct load_target *target, struct url *url, const struct globals *g,
                       const struct bench_options *o)
{
    const char *wrong = url_parse(g->server, URL_CONNECT, url);
    bool resume = strcmp(o->handshake, "resumed") == 0;
    if (wrong != NULL)
        complain("%s: %s", g->server, wrong);
    else if (resume && url->scheme != URL_TLS)
        complain("--handshake is for TLS; %s is plain", g->server);
    *target = (struct load_target){
        .url = url,
        .tls = {g->cacert, g->cert, g->key, g->insecure},
        .server_name = g->server_name != NULL ? g->server_name : url->host,
        .resume = resume,
        .timeout_ns = g->timeout_ns > 0 ? g->timeout_ns : OPENING_NS,
    };
    return wrong == NULL && (!resume || url->scheme == URL_TLS);
}

static bool set_payload(struct bench *b, const struct bench_options *o)
{
    const char *wanted = bench_size_parse(o->payload, &b->load.payload);
    if (wanted != NULL)
        complain("option --payload: '%s' is not %s", o->payload, wanted);
    return wanted == NULL;
}

static bool set_sweep(struct bench *b, const struct bench_options *o)
{
    if (o->sweep == NULL)
        return true;
    b->sweeps = true;
    if (b->load.rate == 0)
        b->load.rate = SWEEP_FIRST_RATE;
    if (bench_objective_parse(o->sweep, &b->objective))
        return true;
    complain("option --sweep: '%s' is not a goal, as p99.9=5ms or max=20ms", o->sweep);
    return false;
}

static void set_load(struct load_plan *load, const struct bench_options *o)
{
    *load = (struct load_plan){
        .threads = (uint32_t)o->threads,
        .connections = (uint32_t)o->connections,
        .in_flight = (uint32_t)o->in_flight,
        .rate = (double)o->rate,
        .pace = strcmp(o->arrivals, "fixed") == 0 ? PACE_FIXED : PACE_POISSON,
        .churn = (double)o->churn,
        .warmup_ns = o->warmup_ns,
        .duration_ns = o->duration_ns,
        .requests = o->requests,
        .stop_fd = -1,
    };
    if (load->requests == 0 && load->duration_ns == 0)
        load->duration_ns = DEFAULT_DURATION_NS;
    if (load->requests > 0 && load->requests < load->threads)
        load->threads = (uint32_t)load->requests;
}

static bool plan(struct bench *b, struct url *url, const struct globals *g,
                 const struct bench_options *o)
{
    char why[WHY_SIZE];
    *b = (struct bench){
        .server = g->server,
        .method = o->method,
        .histogram = o->histogram,
        .json = g->json,
        .colour = colour_wanted(g, stdout),
        .live = !g->quiet && !g->json && isatty(STDERR_FILENO),
    };
    if (!check_counts(o) || !check_words(o) || !check_files(o))
        return false;
    set_load(&b->load, o);
    if (!set_payload(b, o) || !set_sweep(b, o) || !set_target(&b->load.target, url, g, o))
        return false;
    if (o->histogram == NULL || hgrm_check(o->histogram, why, sizeof why))
        return true;
    complain("%s", why);
    return false;
}

/* ---- the run ---- */

/* A readable descriptor instead of an early end: what was measured is still printed. */
static int catch_interrupt(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum status run_until_interrupted(const struct globals *g, struct bench *b)
{
    struct signalfd_siginfo caught;
    char why[WHY_SIZE];
    b->load.stop_fd = catch_interrupt();
    enum ergon_end end = bench_run(b, why, sizeof why);
    if (why[0] != 0 && (!g->quiet || end == ERGON_END_INVALID))
        complain("%s", why);
    if (b->load.stop_fd < 0)
        return status_of(end, "");
    bool interrupted = read(b->load.stop_fd, &caught, sizeof caught) > 0;
    close(b->load.stop_fd);
    return interrupted ? STATUS_INTERRUPTED : status_of(end, "");
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct bench_options *o = options;
    struct bench bench;
    struct url url;
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    if (!plan(&bench, &url, g, o))
        return status;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    if (params_pack(&packer, argc, argv)) {
        bool has_payload = argc == 0 && strcmp(o->method, "server.ping") != 0;
        struct span given = has_payload ? span_of(NULL, 0) : span_of(params.data, params.size);
        struct rpc_work work;
        rpc_work_init(&work, span_text(o->method), given, g->token);
        bench.load.protocol = &RPC;
        bench.load.work = &work;
        if (!has_payload)
            bench.load.payload = (struct bench_size){0};
        status = run_until_interrupted(g, &bench);
    }
    msgpack_sbuffer_destroy(&params);
    return status;
}

const struct command BENCH = {
    .name = "bench",
    .arguments = "[ARG...]",
    .summary = "load a server and measure it",
    .text = "Opens the connections and calls METHOD [ARG...], as in ergon call; without ARG\n"
            "the one parameter is of --payload bytes (server.ping has none). Then it prints\n"
            "the throughput and the percentiles of the latency.\n"
            "Closed loop: the given number of requests stays in flight on each connection.\n"
            "Open loop, with --rate: requests are sent when they are due, whatever the\n"
            "answers do, and the latency counts from then. If that rate was not kept, by the\n"
            "server or by this program, there is no result.\n"
            "--sweep runs one rate after the other, each for --duration, --rate first.\n"
            "The exit status is 1 when there were errors or no result, 3 when connections\n"
            "broke, 5 when answers did not come.\n",
    .examples = "  ergon bench\n"
                "  ergon bench -c 64 -i 16 -d 10s -p 1k\n"
                "  ergon bench -c 1 -i 1 -n 100000 -m server.ping\n"
                "  ergon bench -c 64 -r 20000 -w 1s -d 30s --histogram latency.hgrm\n"
                "  ergon bench -c 64 -t 2 --sweep p99.9=5ms\n"
                "  ergon -s ergons://localhost:7467 --cacert ca.pem bench --churn 200 \\\n"
                "      --handshake resumed --json\n",
    .options = OPTIONS,
    .options_size = sizeof(struct bench_options),
    .defaults = &DEFAULTS,
    .arguments_max = -1,
    .run = run,
};
