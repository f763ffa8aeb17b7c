/* ergon bench: reads the options of a load run, and leaves it to client/bench. */
#include "client/bench/compare.h"
#include "client/bench/output.h"
#include "client/bench/run.h"
#include "client/bench/submit.h"
#include "client/cli/bench_calls.h"
#include "client/cli/cli.h"
#include "client/cli/session.h"

#include <signal.h>
#include <stdlib.h>
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
    RAMP_RATES = 10,
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
    const char *method; /* NULL: echo, or what a mix has */
    const char *mix;    /* NULL: none; as all below */
    const char *calls;  /* path */
    const char *submit;
    const char *sweep;
    const char *ramp;
    const char *series;    /* path */
    const char *plot;      /* path */
    const char *compare;   /* path */
    const char *histogram; /* path */
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
    {0, "mix", "CALLS", "several calls with their weights: 'echo=90,hash sha256 x=10'", OPTION_TEXT,
     AT(mix)},
    {0, "calls", "FILE",
     "the same, each a line: {\"method\":\"sum\",\"params\":[1,2],\"weight\":3}", OPTION_TEXT,
     AT(calls)},
    {0, "submit", "OPTIONS",
     "submit the calls as tasks with these options ({}), and measure up to their end", OPTION_TEXT,
     AT(submit)},
    {'p', "payload", "SIZE",
     "bytes of the one parameter, where no ARG is given; 64, uniform:A-B, exponential:MEAN",
     OPTION_TEXT, AT(payload)},
    {0, "churn", "N", "connections a second that are closed and opened anew", OPTION_NUMBER,
     AT(churn)},
    {0, "handshake", "KIND", "of TLS: full or resumed; full", OPTION_TEXT, AT(handshake)},
    {0, "sweep", "GOAL", "find the highest rate that meets it: p99.9=5ms, max=20ms", OPTION_TEXT,
     AT(sweep)},
    {0, "ramp", "RATES", "one rate after the other: FROM:TO or FROM:TO:COUNT, at most 32 rates; 10",
     OPTION_TEXT, AT(ramp)},
    {0, "series", "FILE", "write each second of the run (CSV)", OPTION_TEXT, AT(series)},
    {0, "plot", "FILE",
     "draw the latencies by percentile, or by rate with --ramp and --sweep (SVG)", OPTION_TEXT,
     AT(plot)},
    {0, "compare", "FILE", "compare a report (--json) with another: --compare A.json B.json",
     OPTION_TEXT, AT(compare)},
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
    int given = (o->method != NULL) + (o->mix != NULL) + (o->calls != NULL);
    if (given > 1)
        complain("give one of --method, --mix and --calls");
    else if (strcmp(o->arrivals, "poisson") != 0 && strcmp(o->arrivals, "fixed") != 0)
        complain("option --arrivals: '%s' is neither poisson nor fixed", o->arrivals);
    else if (strcmp(o->handshake, "full") != 0 && strcmp(o->handshake, "resumed") != 0)
        complain("option --handshake: '%s' is neither full nor resumed", o->handshake);
    else if ((o->sweep != NULL || o->ramp != NULL) && o->requests > 0)
        complain("each rate is run for a time: give --duration instead of --requests");
    else if (o->ramp != NULL && (o->sweep != NULL || o->rate > 0))
        complain("a ramp has its rates: give --ramp without --sweep and --rate");
    else if (o->ramp != NULL && (o->series != NULL || o->histogram != NULL))
        complain("--series and --histogram are of one rate, and not of a ramp");
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

/* One to three numbers with colons between them, each at `*numbers[i]`; what is missing stays. */
static bool read_ramp(const char *text, uint64_t *from, uint64_t *to, uint64_t *count)
{
    uint64_t *const numbers[] = {from, to, count};
    const char *at = text;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        *numbers[i] = strtoull(at, &end, 10);
        if (*end == 0)
            return true;
        if (*end != ':')
            return false;
        at = end + 1;
    }
    return false;
}

static bool set_ramp(struct bench *b, const struct bench_options *o)
{
    uint64_t from = 0, to = 0, count = RAMP_RATES;
    if (o->ramp == NULL)
        return true;
    if (!read_ramp(o->ramp, &from, &to, &count) || from == 0 || to <= from || to > RATE_MAX ||
        count < 2 || count > BENCH_SEARCH_STEPS) {
        complain("option --ramp: '%s' is not FROM:TO or FROM:TO:COUNT, as 1000:50000:10", o->ramp);
        return false;
    }
    b->load.rate = (double)from;
    b->ramp = (uint32_t)count;
    b->ramp_to = to;
    bench_objective_parse("p99.9=1h", &b->objective);
    return true;
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

static const char *method_of(const struct bench_options *o)
{
    return o->method != NULL ? o->method : "echo";
}

static bool plan(struct bench *b, struct url *url, const struct globals *g,
                 const struct bench_options *o)
{
    char why[WHY_SIZE];
    *b = (struct bench){
        .server = g->server,
        .method = o->mix != NULL     ? o->mix
                  : o->calls != NULL ? o->calls
                                     : method_of(o),
        .payload = o->payload,
        .submit = o->submit,
        .histogram = o->histogram,
        .series = o->series,
        .plot = o->plot,
        .json = g->json,
        .colour = colour_wanted(g, stdout),
        .live = !g->quiet && !g->json && isatty(STDERR_FILENO),
    };
    if (!check_counts(o) || !check_words(o) || !check_files(o))
        return false;
    set_load(&b->load, o);
    b->load.series = o->series != NULL;
    if (!set_payload(b, o) || !set_sweep(b, o) || !set_ramp(b, o) ||
        !set_target(&b->load.target, url, g, o))
        return false;
    const char *const files[] = {o->histogram, o->series, o->plot};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] != NULL && !output_check(files[i], why, sizeof why)) {
            complain("%s", why);
            return false;
        }
    return true;
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
    if (why[0] != 0 && end == ERGON_END_INVALID)
        complain("%s", why);
    else if (why[0] != 0 && !g->quiet)
        complain_as(session_code(end), session_advice(g, end, why), "%s", why);
    if (b->load.stop_fd < 0)
        return status_of(end, "");
    bool interrupted = read(b->load.stop_fd, &caught, sizeof caught) > 0;
    close(b->load.stop_fd);
    return interrupted ? STATUS_INTERRUPTED : status_of(end, "");
}

static enum status compare(const struct globals *g, const struct bench_options *o, int argc,
                           char **argv)
{
    char why[WHY_SIZE];
    if (argc != 1)
        complain("give two reports: --compare A.json B.json");
    else if (compare_print(o->compare, argv[0], g->json, why, sizeof why))
        return STATUS_OK;
    else
        complain("%s", why);
    return STATUS_USAGE;
}

static bool has_stray_words(const struct bench_options *o, int argc)
{
    bool stray = argc > 0 && (o->mix != NULL || o->calls != NULL);
    if (stray)
        complain("arguments belong to the calls of --mix or --calls themselves");
    return stray;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct bench_options *o = options;
    struct bench bench;
    struct bench_calls calls;
    struct url url;
    enum status status = STATUS_USAGE;
    if (o->compare != NULL)
        return compare(g, o, argc, argv);
    if (!plan(&bench, &url, g, o) || has_stray_words(o, argc))
        return status;
    const struct bench_calls_plan asked = {.method = method_of(o),
                                           .argc = argc,
                                           .argv = argv,
                                           .mix = o->mix,
                                           .file = o->calls,
                                           .submit = o->submit,
                                           .token = g->token};
    if (bench_calls_init(&calls, &asked)) {
        bench.calls = calls.names;
        bench.load.protocol = o->submit != NULL ? &RPC_SUBMITTED : &RPC;
        bench.load.work = &calls.work;
        bench.load.mix = calls.mix;
        if (!calls.payload)
            bench.load.payload = (struct bench_size){0};
        status = run_until_interrupted(g, &bench);
    }
    bench_calls_fini(&calls);
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
            "--mix draws one of several calls for each request, and reports each. --submit\n"
            "submits tasks, and the latency is that from submission to end.\n"
            "Throughput and latency are of answers without an error.\n"
            "--sweep runs one rate after the other, each for --duration, --rate first.\n"
            "The exit status is 1 when there were errors or no result, 3 when connections\n"
            "broke, 5 when answers did not come.\n",
    .examples = "  ergon bench\n"
                "  ergon bench -c 64 -i 16 -d 10s -p 1k\n"
                "  ergon bench -c 1 -i 1 -n 100000 -m server.ping\n"
                "  ergon bench -c 64 -r 20000 -w 1s -d 30s --histogram latency.hgrm\n"
                "  ergon bench --mix 'echo=90,hash sha256 x=10'\n"
                "  ergon bench -c 8 -r 2000 --submit '{\"durable\":\"fsync\",\"keep\":\"1s\"}'\n"
                "  ergon bench -c 64 -t 2 --sweep p99.9=5ms\n"
                "  ergon bench -c 64 --ramp 1000:50000 -d 5s --plot rates.svg\n"
                "  ergon bench --json >a.json; ergon bench --json >b.json\n"
                "  ergon bench --compare a.json b.json\n"
                "  ergon -s ergons://localhost:7467 --cacert ca.pem bench --churn 200 \\\n"
                "      --handshake resumed --json\n",
    .options = OPTIONS,
    .options_size = sizeof(struct bench_options),
    .defaults = &DEFAULTS,
    .arguments_max = -1,
    .run = run,
};
