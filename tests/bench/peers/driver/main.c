/* The load driver of the comparisons: see README.md.  Without --paced it warms up for a second and
 * measures three windows; with it, each line of its input starts one window, and nothing is in
 * flight between two. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/bench/generator.h"
#include "client/bench/rpc.h"
#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/keys.h"
#include "tests/bench/peers/driver/processor.h"
#include "tests/bench/peers/driver/protocol.h"
#include "tests/bench/peers/driver/window.h"

enum { DEPTH_MAX = 256 };

struct driver {
    const struct driver_protocol *protocol;
    struct shape shape;
    uint16_t port; /* of this machine */
    bool tls;
    struct url url;
    struct rpc_work rpc; /* for MessagePack-RPC; else the shape is the work */
    struct load_plan plan;
    struct generator load;
    struct window_options window;
    bool paced, json;
};

static void usage(FILE *to)
{
    const struct driver_protocol *p;

    fprintf(to,
            "usage: peers_driver --protocol NAME --port PORT [option...]\n\n"
            "  --connections N    64\n"
            "  --depth N          tasks in flight on each, 16\n"
            "  --payload BYTES    64\n"
            "  --rate N           an open loop: so many tasks a second, by a Poisson process\n"
            "  --tls              1.3; of msgpack-rpc only\n"
            "  --keys N           that are named by chance, by protocols that name some; 10000\n"
            "  --in-order         one key after the other\n"
            "  --method NAME      of the protocol's own method, function or subject\n"
            "  --window SECONDS   2; there are three\n"
            "  --warm-up SECONDS  1, before the first\n"
            "  --pid PID          of the server, then of its workers, whose processor time counts; "
            "repeat it\n"
            "  --paced            a window for each line of input instead of three\n"
            "  --json             a line of JSON for each window\n\nprotocols:\n");
    for (size_t i = 0; (p = protocol_at(i)); i++)
        fprintf(to, "  %-18s %s\n", p->name, p->task);
}

static bool number(const char *text, double least, double most, double *to)
{
    char *end;

    errno = 0;
    *to = strtod(text, &end);
    return errno == 0 && end != text && *end == 0 && *to >= least && *to <= most;
}

enum {
    OPT_PROTOCOL = 1,
    OPT_PORT,
    OPT_CONNECTIONS,
    OPT_DEPTH,
    OPT_PAYLOAD,
    OPT_METHOD,
    OPT_RATE,
    OPT_TLS,
    OPT_KEYS,
    OPT_IN_ORDER
};
enum { OPT_WINDOW = 16, OPT_WARM_UP, OPT_PID, OPT_PACED, OPT_JSON, OPT_HELP };

static const struct option options[] = {
    {"protocol", required_argument, NULL, OPT_PROTOCOL},
    {"port", required_argument, NULL, OPT_PORT},
    {"connections", required_argument, NULL, OPT_CONNECTIONS},
    {"depth", required_argument, NULL, OPT_DEPTH},
    {"payload", required_argument, NULL, OPT_PAYLOAD},
    {"rate", required_argument, NULL, OPT_RATE},
    {"tls", no_argument, NULL, OPT_TLS},
    {"keys", required_argument, NULL, OPT_KEYS},
    {"in-order", no_argument, NULL, OPT_IN_ORDER},
    {"method", required_argument, NULL, OPT_METHOD},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"warm-up", required_argument, NULL, OPT_WARM_UP},
    {"pid", required_argument, NULL, OPT_PID},
    {"paced", no_argument, NULL, OPT_PACED},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static bool take_load(struct driver *d, int option, const char *value)
{
    double v = 0;

    switch (option) {
    case OPT_PROTOCOL:
        d->protocol = protocol_find(value);
        return d->protocol != NULL;
    case OPT_METHOD:
        d->shape.method = value;
        return strlen(value) < 64;
    case OPT_PORT:
        return number(value, 1, 65535, &v) && (d->port = (uint16_t)v, true);
    case OPT_CONNECTIONS:
        return number(value, 1, 1e6, &v) && (d->plan.connections = (uint32_t)v, true);
    case OPT_DEPTH:
        return number(value, 1, DEPTH_MAX, &v) && (d->plan.in_flight = (uint32_t)v, true);
    case OPT_TLS:
        return d->tls = true;
    case OPT_KEYS:
        return number(value, 1, KEYS_MAX, &v) && (d->shape.keys = (uint64_t)v, true);
    case OPT_IN_ORDER:
        return d->shape.in_order = true;
    case OPT_RATE:
        return number(value, 1, 1e8, &d->plan.rate);
    default:
        return number(value, 8, 1 << 24, &v) && (d->shape.payload = (size_t)v, true);
    }
}

static bool take(struct driver *d, int option, const char *value)
{
    double v = 0;

    switch (option) {
    case OPT_WINDOW:
        return number(value, 0.1, 60, &d->window.seconds);
    case OPT_WARM_UP:
        return number(value, 0, 60, &d->window.warm_up);
    case OPT_PID:
        return d->window.pid_count < WINDOW_PIDS && number(value, 1, 1 << 30, &v) &&
               (d->window.pids[d->window.pid_count++] = (pid_t)v, true);
    case OPT_PACED:
        return d->paced = true;
    case OPT_JSON:
        return d->json = true;
    default:
        return take_load(d, option, value);
    }
}

/* -1: go on; else the exit status. */
static int parse(struct driver *d, int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (option == OPT_HELP)
            return usage(stdout), 0;
        if (option == '?')
            return usage(stderr), 2;
        if (!take(d, option, optarg))
            return fprintf(stderr, "peers_driver: not a value for this option: %s\n", optarg), 2;
    }
    if (!d->protocol || d->port == 0 || optind < argc)
        return usage(stderr), 2;
    if (d->tls && d->protocol->wire != &RPC)
        return fprintf(stderr, "peers_driver: --tls is for msgpack-rpc\n"), 2;
    if (!d->shape.method)
        d->shape.method = d->protocol->method;
    return -1;
}

/* ---- the load ---- */

static void make_rpc(struct rpc_work *w, const char *method, const char *submitted)
{
    rpc_work_init(w, NULL);
    if (submitted)
        rpc_work_submission(w, span_text(method), span_of(NULL, 0), span_text(submitted));
    else
        rpc_work_call(w, span_text(method), span_of(NULL, 0));
}

static bool driver_open(struct driver *d)
{
    d->url = (struct url){.scheme = d->tls ? URL_TLS : URL_TCP,
                          .kind = URL_HOST_V4,
                          .host = "127.0.0.1",
                          .port = d->port};
    make_rpc(&d->rpc, d->shape.method, d->protocol->submitted);
    d->plan.target = (struct load_target){.url = &d->url,
                                          .tls.insecure = true,
                                          .server_name = d->url.host,
                                          .timeout_ns = 10000000000u};
    d->plan.protocol = d->protocol->wire;
    d->plan.work = d->protocol->wire == &RPC ? (const void *)&d->rpc : &d->shape;
    d->plan.payload = (struct bench_size){.least = d->shape.payload, .most = d->shape.payload};
    d->load =
        (struct generator){.plan = &d->plan, .connections = d->plan.connections, .progress_fd = -1};
    generator_open(&d->load);
    if (d->load.end == ERGON_END_OK)
        return true;
    fprintf(stderr, "driver: port %u: %s\n", d->port, d->load.result.why);
    return false;
}

/* Whether all has gone well so far: what fails is cheaper than a task. */
static bool well(const struct driver *d)
{
    const struct load_result *r = &d->load.result;

    if (r->broken == 0 && r->error_kinds == 0)
        return true;
    fprintf(stderr, "driver: %s%s\n", r->broken > 0 ? r->why : "answered with an error: ",
            r->broken > 0 ? "" : r->errors[0].code);
    return false;
}

static bool run_until(void *driver, uint64_t end_ns)
{
    struct driver *d = driver;

    generator_run(&d->load, end_ns);
    return well(d);
}

static bool run_for(struct driver *d, double seconds)
{
    return run_until(d, processor_clock_ns() + (uint64_t)(seconds * 1e9));
}

/* Asks for no more and takes what is in flight. */
static bool drain(struct driver *d)
{
    generator_drain(&d->load);
    if (d->load.result.lost > 0)
        fprintf(stderr, "driver: %llu tasks are not answered\n",
                (unsigned long long)d->load.result.lost);
    return well(d) && d->load.result.lost == 0;
}

static bool measure(struct driver *d, struct window *w)
{
    struct load_result *r = &d->load.result;

    hdr_reset(&r->lag);
    bool ok = window_measure(run_until, d, &r->latency, &d->window, w);
    w->lag = hdr_mean(&r->lag) / 1e3;
    return ok;
}

static bool three(struct driver *d)
{
    struct window w[3];

    for (int i = 0; i < 3; i++) {
        if (!measure(d, &w[i]))
            return false;
        if (d->json)
            window_print_json(&w[i]);
    }
    if (!d->json)
        window_print(w, 3);
    return drain(d);
}

static bool paced(struct driver *d)
{
    static const double ramp = 0.15;
    char line[64];
    struct window w;

    if (!drain(d))
        return false;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        generator_start(&d->load, processor_clock_ns());
        if (!run_for(d, ramp) || !measure(d, &w) || !drain(d))
            return false;
        window_print_json(&w);
    }
    return true;
}

static bool drive(struct driver *d)
{
    if (!driver_open(d))
        return false;
    generator_start(&d->load, processor_clock_ns());
    return run_for(d, d->window.warm_up) && (d->paced ? paced(d) : three(d));
}

int main(int argc, char **argv)
{
    /* An open loop looks at the socket all the time, and sends what is due in one write. */
    static struct driver d = {.shape = {.payload = 64, .keys = 10000},
                              .plan = {.threads = 1,
                                       .connections = 64,
                                       .in_flight = 16,
                                       .bursts = true,
                                       .spins = true,
                                       .stop_fd = -1},
                              .window = {.seconds = 2, .warm_up = 1}};
    int status = parse(&d, argc, argv);

    if (status >= 0)
        return status;
    socket_raise_limit();
    bool ok = drive(&d);
    generator_close(&d.load);
    load_result_fini(&d.load.result);
    return ok ? 0 : 1;
}
