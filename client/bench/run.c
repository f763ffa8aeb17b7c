#include "client/bench/run.h"

#include "client/bench/hgrm.h"
#include "client/bench/load.h"
#include "client/bench/report_json.h"

#include <poll.h>
#include <stdio.h>

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

static enum ergon_end write_histogram(const struct bench *b, const struct load_result *r, char *why,
                                      size_t why_size)
{
    if (b->histogram == NULL || hgrm_write(b->histogram, &r->latency, why, why_size))
        return ERGON_END_OK;
    return ERGON_END_INVALID;
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
            end = write_histogram(b, &result, why, why_size);
        if (end == ERGON_END_OK)
            end = judged(b, &result);
    }
    load_result_fini(&result);
    return end;
}

/* ---- a sweep ---- */

static enum ergon_end try_rate(struct bench *b, struct bench_row *row, struct load_result *result,
                               char *why, size_t why_size)
{
    b->load.rate = (double)row->rate;
    enum ergon_end end = load(b, result, why, why_size);
    if (end != ERGON_END_OK)
        return end;
    if (interrupted(&b->load))
        return ERGON_END_CANCELLED;
    row->verdict = report_verdict(b, result);
    row->reached_ns = histogram_percentile(&result->latency, b->objective.percent);
    row->lag_ns = histogram_percentile(&result->lag, b->objective.percent);
    row->met = row->verdict == BENCH_KEPT && result->latency.count > 0 &&
               result->good == result->latency.count && result->lost == 0 && result->broken == 0 &&
               row->reached_ns <= b->objective.limit_ns;
    return ERGON_END_OK;
}

static enum ergon_end finish(struct bench *b, const struct bench_rows *rows,
                             const struct load_result *best, char *why, size_t why_size)
{
    b->load.rate = (double)rows->highest;
    if (!b->json)
        report_sweep(b, rows, best);
    else if (!report_json_print(report_json_sweep(b, rows, best)))
        return ERGON_END_ERROR;
    return rows->highest > 0 ? write_histogram(b, best, why, why_size) : ERGON_END_ERROR;
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
        struct bench_row *row = &rows.at[rows.count];
        *row = (struct bench_row){.rate = search.next};
        end = try_rate(b, row, &latest, why, why_size);
        if (end == ERGON_END_OK) {
            rows.count++;
            if (!b->json)
                report_row(b, &rows, &latest);
            more = bench_search_step(&search, row->met);
            if (row->met) {
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

enum ergon_end bench_run(struct bench *b, char *why, size_t why_size)
{
    why[0] = 0;
    return b->sweeps ? sweep(b, why, why_size) : run_once(b, why, why_size);
}
