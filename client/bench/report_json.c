#include "client/bench/report_json.h"

#include "client/bench/text.h"

#include <stdio.h>
#include <string.h>

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static void set_count(json_t *to, const char *name, uint64_t n)
{
    json_object_set_new(to, name, json_integer((json_int_t)n));
}

static void set_real(json_t *to, const char *name, double value)
{
    json_object_set_new(to, name, json_real(value));
}

static json_t *percentiles(const struct hdr_histogram *h)
{
    json_t *j = json_object();
    set_real(j, "min", h->count > 0 ? us(h->min) : 0);
    set_real(j, "mean", hdr_mean(h) / 1000);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        set_real(j, PERCENTILES[i].name, us(hdr_percentile(h, PERCENTILES[i].percent)));
    return j;
}

static json_t *errors(const struct load_result *r)
{
    json_t *j = json_object();
    for (size_t i = 0; i < r->error_kinds; i++)
        set_count(j, r->errors[i].code, r->errors[i].count);
    return j;
}

static void set_plan(json_t *to, const struct bench *b)
{
    const struct load_plan *plan = &b->load;
    json_object_set_new(to, "server", json_string(b->server));
    json_object_set_new(to, "method", json_string(b->method));
    json_object_set_new(to, "payload", json_string(b->payload));
    if (b->submit != NULL)
        json_object_set_new(to, "submit", json_string(b->submit));
    json_object_set_new(to, "loop", json_string(plan->rate > 0 ? "open" : "closed"));
    set_count(to, "threads", plan->threads);
    set_count(to, "connections", plan->connections);
    set_count(to, "in_flight", plan->in_flight);
    if (plan->rate > 0) {
        set_real(to, "rate", plan->rate);
        json_object_set_new(to, "arrivals",
                            json_string(plan->pace == PACE_FIXED ? "fixed" : "poisson"));
    }
}

static void set_counts(json_t *to, const struct load_result *r)
{
    set_real(to, "seconds", (double)r->elapsed_ns / 1e9);
    set_count(to, "requests", r->sent);
    set_count(to, "answers", load_result_answers(r));
    set_count(to, "good", r->latency.count);
    set_count(to, "lost", r->lost);
    set_count(to, "broken_connections", r->broken);
    set_count(to, "bytes_sent", r->bytes_out);
    set_count(to, "bytes_received", r->bytes_in);
    json_object_set_new(to, "errors", errors(r));
}

static json_t *calls(const struct bench *b, const struct load_result *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->call_count; i++) {
        const struct load_call *call = &r->calls[i];
        json_t *j = json_object();
        json_object_set_new(j, "method", json_string(b->calls[i]));
        set_count(j, "good", call->latency.count);
        set_count(j, "failed", call->failed);
        set_real(j, "answers_per_second", per_second(call->latency.count, r->elapsed_ns));
        json_object_set_new(j, "latency_us", percentiles(&call->latency));
        json_array_append_new(list, j);
    }
    return list;
}

static void set_latencies(json_t *to, const struct bench *b, const struct load_result *r)
{
    set_real(to, "answers_per_second", per_second(r->latency.count, r->elapsed_ns));
    json_object_set_new(to, "latency_us", percentiles(&r->latency));
    if (r->refusal.count > 0)
        json_object_set_new(to, "error_latency_us", percentiles(&r->refusal));
    if (r->accepted.count > 0)
        json_object_set_new(to, "accepted_us", percentiles(&r->accepted));
    if (r->call_count > 0)
        json_object_set_new(to, "calls", calls(b, r));
}

static void set_generator(json_t *to, const struct load_plan *plan, const struct load_result *r)
{
    json_t *j = json_object();
    set_real(j, "busy", r->busy);
    if (plan->rate > 0) {
        set_count(j, "due", r->due);
        set_count(j, "held", r->held);
        json_object_set_new(j, "lag_us", percentiles(&r->lag));
    }
    json_object_set_new(to, "generator", j);
}

static void set_opening(json_t *to, const struct load_plan *plan, const struct load_result *r)
{
    json_t *j = json_object();
    set_count(j, "count", r->opening.count);
    set_count(j, "resumed", r->resumed);
    if (plan->churn > 0)
        set_count(j, "due", r->churn_due);
    json_object_set_new(j, "time_us", percentiles(&r->opening));
    json_object_set_new(to, "opened", j);
}

json_t *report_json_run(const struct bench *b, const struct load_result *r)
{
    json_t *j = json_object();
    const char *refusal = bench_verdict_text(report_verdict(b, r));
    set_plan(j, b);
    set_counts(j, r);
    set_generator(j, &b->load, r);
    set_opening(j, &b->load, r);
    if (refusal != NULL) {
        json_object_set_new(j, "no_result", json_string(refusal));
        return j;
    }
    set_latencies(j, b, r);
    return j;
}

static json_t *row_latencies(const struct bench_row *row)
{
    json_t *j = json_object();
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        set_real(j, PERCENTILES[i].name, us(row->latency_ns[i]));
    return j;
}

static json_t *row_json(const struct bench_row *row, const char *met)
{
    const char *refusal = bench_verdict_text(row->verdict);
    json_t *j = json_object();
    set_count(j, "rate", row->rate);
    json_object_set_new(j, met, json_boolean(row->met));
    if (refusal != NULL)
        json_object_set_new(j, "no_result", json_string(refusal));
    if (refusal == NULL)
        json_object_set_new(j, "latency_us", row_latencies(row));
    return j;
}

static json_t *rows_json(const struct bench_rows *rows, const char *met)
{
    json_t *list = json_array();
    for (size_t i = 0; i < rows->count; i++) {
        json_t *row = row_json(&rows->at[i], met);
        if (strcmp(met, "met") == 0 && rows->at[i].verdict == BENCH_KEPT)
            set_real(row, "reached_us", us(rows->at[i].reached_ns));
        json_array_append_new(list, row);
    }
    return list;
}

json_t *report_json_ramp(const struct bench *b, const struct bench_rows *rows)
{
    json_t *j = json_object();
    set_plan(j, b);
    json_object_set_new(j, "runs", rows_json(rows, "kept"));
    return j;
}

json_t *report_json_sweep(const struct bench *b, const struct bench_rows *rows,
                          const struct load_result *best)
{
    json_t *j = json_object();
    json_object_set_new(j, "goal", json_string(b->objective.name));
    set_real(j, "goal_us", us(b->objective.limit_ns));
    const struct bench_row *limit = bench_rows_by_generator(rows, b->objective.limit_ns);
    if (limit == NULL)
        set_count(j, "highest_rate", rows->highest);
    else
        json_object_set_new(j, "no_result", json_string("the generator was the limit"));
    json_object_set_new(j, "runs", rows_json(rows, "met"));
    if (rows->highest > 0 && limit == NULL)
        json_object_set_new(j, "at_highest", report_json_run(b, best));
    return j;
}

bool report_json_print(json_t *j)
{
    bool good = j != NULL && json_dumpf(j, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0 &&
                putchar('\n') != EOF;
    json_decref(j);
    return good;
}
