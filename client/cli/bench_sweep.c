#include "client/cli/bench_sweep.h"

#include "client/cli/bench_hgrm.h"
#include "client/cli/bench_report.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static bool interrupted(const struct load_plan *plan)
{
    struct pollfd p = {.fd = plan->stop_fd, .events = POLLIN};
    return plan->stop_fd >= 0 && poll(&p, 1, 0) > 0;
}

enum status bench_run(const struct globals *g, struct load_plan *plan, struct load_result *result)
{
    bool live = !g->quiet && !g->json && isatty(STDERR_FILENO);
    plan->progress = live ? bench_progress : NULL;
    plan->progress_arg = plan;
    enum status status = load_run(plan, result);
    if (live)
        bench_progress_end();
    if (status != STATUS_OK && status != STATUS_INTERRUPTED && !g->quiet)
        complain("no load on %s: %s", g->server, result->why);
    return status;
}

/* A run at one rate. */
static enum status probe(const struct globals *g, struct bench_plan *b, struct bench_row *row,
                         struct load_result *result)
{
    b->load.rate = (double)row->rate;
    enum status status = bench_run(g, &b->load, result);
    if (status != STATUS_OK)
        return status;
    if (interrupted(&b->load))
        return STATUS_INTERRUPTED;
    row->verdict = bench_verdict_of(&b->load, result);
    row->reached_ns = histogram_percentile(&result->latency, b->objective.percent);
    row->lag_ns = histogram_percentile(&result->lag, b->objective.percent);
    row->met = row->verdict == BENCH_KEPT && result->latency.count > 0 &&
               result->good == result->latency.count && result->lost == 0 && result->broken == 0 &&
               row->reached_ns <= b->objective.limit_ns;
    return STATUS_OK;
}

static void keep_best(struct load_result *best, struct load_result *latest)
{
    struct load_result before = *best;
    *best = *latest;
    *latest = before;
}

static enum status finish(const struct globals *g, const struct bench_plan *b,
                          const struct bench_search *s, struct load_result *best,
                          struct bench_rows *rows, const char *histogram)
{
    rows->highest = s->good;
    if (!bench_report_sweep(g, b, rows, best) || s->good == 0)
        return STATUS_REMOTE;
    if (histogram != NULL && !bench_hgrm_write(histogram, &best->latency))
        return STATUS_USAGE;
    return STATUS_OK;
}

enum status bench_sweep(const struct globals *g, struct bench_plan *b, const char *histogram)
{
    struct bench_search search;
    struct bench_rows rows = {0};
    struct load_result best = {0};
    enum status status;
    bool more = true;
    bench_search_init(&search, (uint64_t)b->load.rate);
    while (more) {
        struct load_result latest;
        struct bench_row *row = &rows.at[rows.count];
        *row = (struct bench_row){.rate = search.next};
        status = probe(g, b, row, &latest);
        if (status == STATUS_OK) {
            rows.count++;
            bench_report_row(g, b, &rows, &latest);
            more = bench_search_told(&search, row->met);
            if (row->met)
                keep_best(&best, &latest);
        }
        load_result_fini(&latest);
        if (status != STATUS_OK)
            break;
    }
    if (status == STATUS_OK)
        status = finish(g, b, &search, &best, &rows, histogram);
    load_result_fini(&best);
    return status;
}
