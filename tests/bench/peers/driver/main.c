/* The load driver of the comparisons: see README.md.  Without --paced it warms up for a second and
 * measures three windows; with it, each line of its input starts one window, and nothing is in
 * flight between two. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/load.h"
#include "tests/bench/peers/driver/window.h"

struct arguments {
    struct load_options load;
    struct window_options window;
    bool paced, json;
};

static void usage(FILE *to)
{
    const struct protocol *p;

    fprintf(to, "usage: peers_driver --protocol NAME --port PORT [option...]\n\n"
                "  --connections N    64\n"
                "  --depth N          tasks in flight on each, 16\n"
                "  --payload BYTES    64\n"
                "  --rate N           an open loop: so many tasks a second, by a Poisson process\n"
                "  --tls              1.3; of msgpack-rpc only\n"
                "  --method NAME      of the protocol's own method, function or subject\n"
                "  --window SECONDS   2; there are three\n"
                "  --warm-up SECONDS  1, before the first\n"
                "  --pid PID          of the server or its workers, whose processor time counts; "
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
    OPT_TLS
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
    {"method", required_argument, NULL, OPT_METHOD},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"warm-up", required_argument, NULL, OPT_WARM_UP},
    {"pid", required_argument, NULL, OPT_PID},
    {"paced", no_argument, NULL, OPT_PACED},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static bool take_load(struct load_options *l, int option, const char *value)
{
    double v = 0;

    switch (option) {
    case OPT_PROTOCOL:
        l->protocol = protocol_find(value);
        return l->protocol != NULL;
    case OPT_METHOD:
        l->shape.method = value;
        return strlen(value) < 64;
    case OPT_PORT:
        return number(value, 1, 65535, &v) && (l->port = (uint16_t)v, true);
    case OPT_CONNECTIONS:
        return number(value, 1, 1e6, &v) && (l->connections = (uint32_t)v, true);
    case OPT_DEPTH:
        return number(value, 1, LOAD_DEPTH_MAX, &v) && (l->depth = (uint32_t)v, true);
    case OPT_TLS:
        return l->tls = true;
    case OPT_RATE:
        return number(value, 1, 1e8, &l->rate);
    default:
        return number(value, 8, 1 << 24, &v) && (l->shape.payload = (size_t)v, true);
    }
}

static bool take(struct arguments *a, int option, const char *value)
{
    double v = 0;

    switch (option) {
    case OPT_WINDOW:
        return number(value, 0.1, 60, &a->window.seconds);
    case OPT_WARM_UP:
        return number(value, 0, 60, &a->window.warm_up);
    case OPT_PID:
        return a->window.pid_count < WINDOW_PIDS && number(value, 1, 1 << 30, &v) &&
               (a->window.pids[a->window.pid_count++] = (pid_t)v, true);
    case OPT_PACED:
        return a->paced = true;
    case OPT_JSON:
        return a->json = true;
    default:
        return take_load(&a->load, option, value);
    }
}

/* -1: go on; else the exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (option == OPT_HELP)
            return usage(stdout), 0;
        if (option == '?')
            return usage(stderr), 2;
        if (!take(a, option, optarg))
            return fprintf(stderr, "peers_driver: not a value for this option: %s\n", optarg), 2;
    }
    if (!a->load.protocol || a->load.port == 0 || optind < argc)
        return usage(stderr), 2;
    if (a->load.tls && a->load.protocol != protocol_find("msgpack-rpc"))
        return fprintf(stderr, "peers_driver: --tls is for msgpack-rpc\n"), 2;
    if (!a->load.shape.method)
        a->load.shape.method = a->load.protocol->method;
    return -1;
}

static bool run(void *load, uint64_t ns, struct histogram *record)
{
    return load_run(load, ns, record);
}

static bool measure(struct load *l, const struct arguments *a, struct window *w)
{
    load_lag(l);
    bool ok = window_measure(run, l, &a->window, w);

    w->lag = load_lag(l) / 1e3;
    return ok;
}

static bool three(struct load *l, const struct arguments *a)
{
    struct window w[3];

    for (int i = 0; i < 3; i++) {
        if (!measure(l, a, &w[i]))
            return false;
        if (a->json)
            window_print_json(&w[i]);
    }
    if (!a->json)
        window_print(w, 3);
    return load_drain(l);
}

static bool paced(struct load *l, const struct arguments *a)
{
    static const uint64_t ramp_ns = 150000000;
    char line[64];
    struct window w;

    if (!load_drain(l))
        return false;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!load_run(l, ramp_ns, NULL) || !measure(l, a, &w) || !load_drain(l))
            return false;
        window_print_json(&w);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct arguments a = {.load = {.connections = 64, .depth = 16, .shape.payload = 64},
                          .window = {.seconds = 2, .warm_up = 1}};
    int status = parse(&a, argc, argv);

    if (status >= 0)
        return status;
    socket_raise_limit();
    struct load *l = load_open(&a.load);
    if (!l)
        return 1;
    bool ok = load_run(l, (uint64_t)(a.window.warm_up * 1e9), NULL) &&
              (a.paced ? paced(l, &a) : three(l, &a));
    load_close(l);
    return ok ? 0 : 1;
}
