#include "client/cli/bench_plan.h"

#include "proto/envelope.h"

#include <string.h>
#include <sys/resource.h>

enum {
    DEFAULT_CONNECTIONS = 16,
    DEFAULT_IN_FLIGHT = 16,
    CONNECTIONS_MAX = 1000 * 1000,
    IN_FLIGHT_MAX = 1000 * 1000,
    FILES_BESIDE = 16, /* descriptors that are no connections, and one for each thread */
    SWEEP_FIRST_RATE = 1000
};

static const uint64_t RATE_MAX = 1000 * 1000 * 1000;
static const uint64_t OPENING_NS = UINT64_C(10000000000);
static const uint64_t DEFAULT_DURATION_NS = UINT64_C(5000000000); /* unless --requests ends it */

#define BENCH(field) offsetof(struct bench_options, field)
const struct option_spec BENCH_OPTIONS[] = {
    {'c', "connections", "N", "connections at a time; 16", OPTION_NUMBER, BENCH(connections)},
    {'i', "in-flight", "N", "requests in flight on each, at most; 16", OPTION_NUMBER,
     BENCH(in_flight)},
    {'t', "threads", "N", "threads of the generator; 1", OPTION_NUMBER, BENCH(threads)},
    {'r', "rate", "N", "requests a second (open loop); without, as fast as answers come",
     OPTION_NUMBER, BENCH(rate)},
    {'a', "arrivals", "KIND", "of an open loop: poisson or fixed; poisson", OPTION_TEXT,
     BENCH(arrivals)},
    {'w', "warmup", "TIME", "send so long before anything counts; 0", OPTION_DURATION,
     BENCH(warmup_ns)},
    {'d', "duration", "TIME", "how long to send; 5s, or no limit with --requests", OPTION_DURATION,
     BENCH(duration_ns)},
    {'n', "requests", "N", "how many requests to send in all", OPTION_NUMBER, BENCH(requests)},
    {'m', "method", "NAME", "method to call; echo", OPTION_TEXT, BENCH(method)},
    {'p', "payload", "SIZE",
     "bytes of the one parameter, where no ARG is given; 64, uniform:A-B, exponential:MEAN",
     OPTION_TEXT, BENCH(payload)},
    {0, "churn", "N", "connections a second that are closed and opened anew", OPTION_NUMBER,
     BENCH(churn)},
    {0, "handshake", "KIND", "of TLS: full or resumed; full", OPTION_TEXT, BENCH(handshake)},
    {0, "sweep", "GOAL", "find the highest rate that meets it: p99.9=5ms, max=20ms", OPTION_TEXT,
     BENCH(sweep)},
    {0, "histogram", "FILE", "write the latencies as HdrHistogram percentiles (.hgrm)", OPTION_TEXT,
     BENCH(histogram)},
    {0},
};
#undef BENCH

const struct bench_options BENCH_DEFAULTS = {
    .connections = DEFAULT_CONNECTIONS,
    .in_flight = DEFAULT_IN_FLIGHT,
    .threads = 1,
    .arrivals = "poisson",
    .handshake = "full",
    .payload = "64",
    .method = "echo",
};

/* ---- checks ---- */

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

static bool set_target(struct bench_plan *b, const struct globals *g, const struct bench_options *o)
{
    const char *wrong = url_parse(g->server, &b->url);
    bool resume = strcmp(o->handshake, "resumed") == 0;
    if (wrong != NULL) {
        complain("%s: %s", g->server, wrong);
        return false;
    }
    if (resume && b->url.kind != URL_TLS) {
        complain("--handshake is for TLS; %s is plain", g->server);
        return false;
    }
    b->load.target = (struct load_target){
        .url = &b->url,
        .tls = {g->cacert, g->cert, g->key, g->insecure},
        .server_name = g->server_name != NULL ? g->server_name : b->url.host,
        .resume = resume,
        .token = g->token,
        .timeout_ns = g->timeout_ns > 0 ? g->timeout_ns : OPENING_NS,
    };
    return true;
}

static bool set_payload(struct bench_plan *b, const struct bench_options *o)
{
    const char *wanted = bench_size_parse(o->payload, &b->load.payload);
    if (wanted != NULL)
        complain("option --payload: '%s' is not %s", o->payload, wanted);
    return wanted == NULL;
}

static bool set_sweep(struct bench_plan *b, const struct bench_options *o)
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
        .method = span_text(o->method),
        .stop_fd = -1,
    };
    if (load->requests == 0 && load->duration_ns == 0)
        load->duration_ns = DEFAULT_DURATION_NS;
    if (load->requests > 0 && load->requests < load->threads)
        load->threads = (uint32_t)load->requests;
}

bool bench_plan_make(struct bench_plan *b, const struct globals *g, const struct bench_options *o)
{
    *b = (struct bench_plan){0};
    if (!check_counts(o) || !check_words(o) || !check_files(o))
        return false;
    set_load(&b->load, o);
    return set_payload(b, o) && set_sweep(b, o) && set_target(b, g, o);
}
