/* ergon bench: a load run, and what it measured. */
#include "client/cli/bench_hgrm.h"
#include "client/cli/bench_report.h"
#include "client/cli/bench_sweep.h"
#include "client/cli/params.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A readable descriptor instead of an early end: what was measured is still printed. */
static int catch_interrupt(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum status run_once(const struct globals *g, struct bench_plan *b, const char *histogram)
{
    struct load_result result;
    enum status status = bench_run(g, &b->load, &result);
    if (status == STATUS_OK) {
        status = bench_report(g, &b->load, &result);
        if (histogram != NULL && bench_verdict_of(&b->load, &result) == BENCH_KEPT &&
            !bench_hgrm_write(histogram, &result.latency))
            status = STATUS_USAGE;
    }
    load_result_fini(&result);
    return status;
}

static enum status run_plan(const struct globals *g, struct bench_plan *b, const char *histogram)
{
    struct signalfd_siginfo caught;
    b->load.stop_fd = catch_interrupt();
    enum status status = b->sweeps ? bench_sweep(g, b, histogram) : run_once(g, b, histogram);
    if (b->load.stop_fd < 0)
        return status;
    if (read(b->load.stop_fd, &caught, sizeof caught) > 0)
        status = STATUS_INTERRUPTED;
    close(b->load.stop_fd);
    return status;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct bench_options *o = options;
    struct bench_plan plan;
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    if (!bench_plan_make(&plan, g, o) || (o->histogram != NULL && !bench_hgrm_check(o->histogram)))
        return status;
    plan.load.has_payload = argc == 0 && strcmp(o->method, "server.ping") != 0;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    if (params_pack(&packer, argc, argv)) {
        plan.load.params = span_of(params.data, params.size);
        status = run_plan(g, &plan, o->histogram);
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
    .options = BENCH_OPTIONS,
    .options_size = sizeof(struct bench_options),
    .defaults = &BENCH_DEFAULTS,
    .arguments_max = -1,
    .run = run,
};
