#include "client/bench/run.h"

#include "client/bench/hgrm.h"
#include "client/bench/load.h"
#include "client/bench/plot.h"
#include "client/bench/report_json.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { TITLE_SIZE = 256 };

static bool interrupted(const struct load_plan *plan)
{
    struct pollfd p = {.fd = plan->stop_fd, .events = POLLIN};
    return plan->stop_fd >= 0 && poll(&p, 1, 0) > 0;
}

static enum ergon_end load(struct bench *b, struct load_result *result, char *why, size_t why_size)
{
    b->load.progress = b->live ? report_progress : NULL;
    b->load.progress_arg = &b->load;
    enum ergon_end end = load_run(&b->load, result);
    if (b->live)
        report_progress_end();
    if (end != ERGON_END_OK && end != ERGON_END_CANCELLED)
        snprintf(why, why_size, "no load on %s: %s", b->server, result->why);
    return end;
}

/* ---- files ---- */

/* What is written of each run, and of the best one of a sweep. */
static bool write_run(const struct bench *b, const struct load_result *r, char *why,
                      size_t why_size)
{
    return (b->histogram == NULL || hgrm_write(b->histogram, &r->latency, why, why_size)) &&
           (b->series == NULL || series_write(b->series, &r->series, why, why_size));
}

/* With the title in a buffer of the caller.  NULL without memory. */
static struct plot *new_plot(const struct bench *b, enum plot_axis axis, char title[TITLE_SIZE])
{
    struct plot *p = calloc(1, sizeof *p);
    snprintf(title, TITLE_SIZE, "%s: %u connections x %u in flight", b->method, b->load.connections,
             b->load.in_flight);
    if (p != NULL) {
        p->title = title;
        p->axis = axis;
    }
    return p;
}

static bool plot_run(const struct bench *b, const struct load_result *r, char *why, size_t why_size)
{
    char title[TITLE_SIZE];
    if (b->plot == NULL)
        return true;
    struct plot *p = new_plot(b, PLOT_PERCENT, title);
    if (p == NULL)
        return false;
    p->lines[0].name = "latency";
    plot_add_histogram(&p->lines[0], &r->latency);
    p->lines[1].name = "accepted";
    plot_add_histogram(&p->lines[1], &r->accepted);
    p->count = r->accepted.count > 0 ? 2 : 1;
    bool good = plot_write(b->plot, p, why, why_size);
    free(p);
    return good;
}

static int by_rate(const void *a, const void *b)
{
    const struct bench_row *x = a, *y = b;
    return (x->rate > y->rate) - (x->rate < y->rate);
}

/* Of the rates that were kept. */
static bool plot_rows(const struct bench *b, const struct bench_rows *rows, char *why,
                      size_t why_size)
{
    char title[TITLE_SIZE];
    if (b->plot == NULL)
        return true;
    struct plot *p = new_plot(b, PLOT_RATE, title);
    if (p == NULL)
        return false;
    struct bench_rows sorted = *rows;
    qsort(sorted.at, sorted.count, sizeof *sorted.at, by_rate);
    for (p->count = 0; p->count < PERCENTILE_COUNT; p->count++) {
        struct plot_line *line = &p->lines[p->count];
        line->name = PERCENTILES[p->count].name;
        for (size_t i = 0; i < sorted.count; i++)
            if (sorted.at[i].verdict == BENCH_KEPT)
                plot_add(line, (double)sorted.at[i].rate, sorted.at[i].latency_ns[p->count]);
    }
    bool good = plot_write(b->plot, p, why, why_size);
    free(p);
    return good;
}

static enum ergon_end written(bool good)
{
    return good ? ERGON_END_OK : ERGON_END_INVALID;
}

/* ---- one run ---- */

static enum ergon_end judged(const struct bench *b, const struct load_result *r)
{
    if (r->broken > 0)
        return ERGON_END_UNREACHABLE;
    if (report_verdict(b, r) != BENCH_KEPT)
        return ERGON_END_ERROR;
    if (r->lost > 0)
        return ERGON_END_TIMEOUT;
    return r->error_kinds > 0 ? ERGON_END_ERROR : ERGON_END_OK;
}

static enum ergon_end run_once(struct bench *b, char *why, size_t why_size)
{
    struct load_result result;
    enum ergon_end end = load(b, &result, why, why_size);
    if (end == ERGON_END_OK) {
        if (!b->json)
            report_run(b, &result);
        else if (!report_json_print(report_json_run(b, &result)))
            end = ERGON_END_ERROR;
        if (end == ERGON_END_OK && report_verdict(b, &result) == BENCH_KEPT)
            end = written(write_run(b, &result, why, why_size) &&
                          plot_run(b, &result, why, why_size));
        if (end == ERGON_END_OK)
            end = judged(b, &result);
    }
    load_result_fini(&result);
    return end;
}

/* ---- one rate of many ---- */

/* One more row; it is counted and shown if the load ran. */
static enum ergon_end try_rate(struct bench *b, uint64_t rate, struct bench_rows *rows,
                               struct load_result *result, char *why, size_t why_size)
{
    struct bench_row *row = &rows->at[rows->count];
    *row = (struct bench_row){.rate = rate};
    b->load.rate = (double)rate;
    enum ergon_end end = load(b, result, why, why_size);
    if (end != ERGON_END_OK)
        return end;
    if (interrupted(&b->load))
        return ERGON_END_CANCELLED;
    row->verdict = report_verdict(b, result);
    row->reached_ns = hdr_percentile(&result->latency, b->objective.percent);
    row->lag_ns = hdr_percentile(&result->lag, b->objective.percent);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        row->latency_ns[i] = hdr_percentile(&result->latency, PERCENTILES[i].percent);
    row->met = row->verdict == BENCH_KEPT && result->latency.count > 0 &&
               result->refusal.count == 0 && result->lost == 0 && result->broken == 0 &&
               row->reached_ns <= b->objective.limit_ns;
    rows->count++;
    if (!b->json)
        report_row(b, rows, result);
    return ERGON_END_OK;
}

/* ---- a sweep ---- */

static enum ergon_end finish(struct bench *b, const struct bench_rows *rows,
                             const struct load_result *best, char *why, size_t why_size)
{
    b->load.rate = (double)rows->highest;
    if (!b->json)
        report_sweep(b, rows, best);
    else if (!report_json_print(report_json_sweep(b, rows, best)))
        return ERGON_END_ERROR;
    if (rows->highest == 0 || bench_rows_by_generator(rows, b->objective.limit_ns) != NULL)
        return ERGON_END_ERROR;
    return written(write_run(b, best, why, why_size) && plot_rows(b, rows, why, why_size));
}

static enum ergon_end sweep(struct bench *b, char *why, size_t why_size)
{
    struct bench_search search;
    struct bench_rows rows = {0};
    struct load_result best = {0};
    enum ergon_end end;
    bool more = true;
    bench_search_init(&search, (uint64_t)b->load.rate);
    do {
        struct load_result latest;
        end = try_rate(b, search.next, &rows, &latest, why, why_size);
        if (end == ERGON_END_OK) {
            bool met = rows.at[rows.count - 1].met;
            more = bench_search_step(&search, met);
            if (met) {
                struct load_result before = best;
                best = latest;
                latest = before;
            }
        }
        load_result_fini(&latest);
    } while (end == ERGON_END_OK && more);
    rows.highest = search.good;
    if (end == ERGON_END_OK)
        end = finish(b, &rows, &best, why, why_size);
    load_result_fini(&best);
    return end;
}

/* ---- a ramp ---- */

static enum ergon_end finish_ramp(struct bench *b, const struct bench_rows *rows, char *why,
                                  size_t why_size)
{
    bool kept = false;
    for (size_t i = 0; i < rows->count; i++)
        kept = kept || rows->at[i].verdict == BENCH_KEPT;
    b->load.rate = (double)rows->at[0].rate;
    if (b->json && !report_json_print(report_json_ramp(b, rows)))
        return ERGON_END_ERROR;
    return kept ? written(plot_rows(b, rows, why, why_size)) : ERGON_END_ERROR;
}

static enum ergon_end ramp(struct bench *b, char *why, size_t why_size)
{
    struct bench_rows rows = {0};
    const double from = b->load.rate, step = ((double)b->ramp_to - from) / (b->ramp - 1);
    enum ergon_end end = ERGON_END_OK;
    while (end == ERGON_END_OK && rows.count < b->ramp) {
        struct load_result result;
        uint64_t rate = (uint64_t)(from + step * (double)rows.count);
        end = try_rate(b, rate, &rows, &result, why, why_size);
        load_result_fini(&result);
    }
    return end == ERGON_END_OK ? finish_ramp(b, &rows, why, why_size) : end;
}

enum ergon_end bench_run(struct bench *b, char *why, size_t why_size)
{
    why[0] = 0;
    if (b->ramp > 0)
        return ramp(b, why, why_size);
    return b->sweeps ? sweep(b, why, why_size) : run_once(b, why, why_size);
}
