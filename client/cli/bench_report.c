#include "client/cli/bench_report.h"

#include "client/cli/json.h"

#include <stdio.h>

enum { NUMBER_SIZE = 40, TIME_SIZE = 32 };

static const struct {
    const char *name;
    double percent;
} PERCENTILES[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"max", 100}};

enum { PERCENTILE_COUNT = sizeof PERCENTILES / sizeof *PERCENTILES };

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t n, char buf[NUMBER_SIZE])
{
    char *p = buf + NUMBER_SIZE - 1;
    int digits = 0;
    *p = 0;
    do {
        if (digits > 0 && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + n % 10);
        digits++;
        n /= 10;
    } while (n > 0);
    return p;
}

/* Three digits and a unit. */
static const char *time_text(uint64_t ns, char buf[TIME_SIZE])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;
    while (value >= 999.5 && unit < 3) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buf, TIME_SIZE, "%.*f %s", decimals, value, units[unit]);
    return buf;
}

static uint64_t rate(uint64_t count, uint64_t ns)
{
    return ns == 0 ? 0 : (uint64_t)((double)count * 1e9 / (double)ns);
}

void bench_progress(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers)
{
    const struct load_plan *plan = arg;
    char number[NUMBER_SIZE];
    char per_second[NUMBER_SIZE];
    if (connected < plan->connections)
        fprintf(stderr, "\r\033[Kconnecting %u of %u", connected, plan->connections);
    else
        fprintf(stderr, "\r\033[K%.1f s  %s answers  %s/s", (double)elapsed_ns / 1e9,
                grouped(answers, number), grouped(rate(answers, elapsed_ns), per_second));
}

void bench_progress_end(void)
{
    fputs("\r\033[K", stderr);
}

static uint64_t error_total(const struct load_result *r)
{
    uint64_t total = 0;
    for (size_t i = 0; i < r->error_kinds; i++)
        total += r->errors[i].count;
    return total;
}

static void print_problems(const struct load_result *r)
{
    char number[NUMBER_SIZE];
    for (size_t i = 0; i < r->error_kinds; i++)
        printf("errors       %s %s\n", grouped(r->errors[i].count, number), r->errors[i].code);
    if (r->lost > 0)
        printf("no answer    %s\n", grouped(r->lost, number));
    if (r->broken > 0)
        printf("broken       %u connections; the last: %s\n", r->broken, r->why);
}

static void print_text(const struct globals *g, const struct load_plan *plan,
                       const struct load_result *r)
{
    char a[NUMBER_SIZE];
    char b[NUMBER_SIZE];
    char text[TIME_SIZE];
    bool colour = colour_wanted(g, stdout);
    printf("%.*s at %s: %u connection%s x %u in flight, %.2f s\n", (int)plan->method.len,
           (const char *)plan->method.at, g->server, plan->connections,
           plan->connections == 1 ? "" : "s", plan->in_flight, (double)r->elapsed_ns / 1e9);
    printf("answers      %s\n", grouped(r->latency.count, a));
    printf("throughput   %s%s/s%s\n", colour ? "\033[1m" : "",
           grouped(rate(r->latency.count, r->elapsed_ns), b), colour ? "\033[0m" : "");
    fputs("latency     ", stdout);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        printf(" %s %s%s", PERCENTILES[i].name,
               time_text(histogram_percentile(&r->latency, PERCENTILES[i].percent), text),
               i + 1 < PERCENTILE_COUNT ? "," : "\n");
    print_problems(r);
}

static json_t *latency_json(const struct histogram *h)
{
    json_t *latency = json_object();
    double mean = h->count > 0 ? (double)h->sum / (double)h->count : 0;
    json_object_set_new(latency, "min", json_real(h->count > 0 ? (double)h->min / 1000 : 0));
    json_object_set_new(latency, "mean", json_real(mean / 1000));
    for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
        uint64_t ns = histogram_percentile(h, PERCENTILES[i].percent);
        json_object_set_new(latency, PERCENTILES[i].name, json_real((double)ns / 1000));
    }
    return latency;
}

static json_t *errors_json(const struct load_result *r)
{
    json_t *errors = json_object();
    for (size_t i = 0; i < r->error_kinds; i++)
        json_object_set_new(errors, r->errors[i].code,
                            json_integer((json_int_t)r->errors[i].count));
    return errors;
}

static bool print_json(const struct globals *g, const struct load_plan *plan,
                       const struct load_result *r)
{
    json_t *report = json_pack(
        "{s:s, s:s#, s:I, s:I, s:f, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:o, s:o}", "server",
        g->server, "method", plan->method.at, (int)plan->method.len, "connections",
        (json_int_t)plan->connections, "in_flight", (json_int_t)plan->in_flight, "seconds",
        (double)r->elapsed_ns / 1e9, "requests", (json_int_t)r->sent, "answers",
        (json_int_t)r->latency.count, "good", (json_int_t)r->good, "answers_per_second",
        (double)r->latency.count * 1e9 / (double)(r->elapsed_ns > 0 ? r->elapsed_ns : 1), "lost",
        (json_int_t)r->lost, "broken_connections", (json_int_t)r->broken, "bytes_sent",
        (json_int_t)r->bytes_out, "bytes_received", (json_int_t)r->bytes_in, "latency_us",
        latency_json(&r->latency), "errors", errors_json(r));
    bool good = report != NULL &&
                json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0 &&
                putchar('\n') != EOF;
    json_decref(report);
    return good;
}

enum status bench_report(const struct globals *g, const struct load_plan *plan,
                         const struct load_result *r)
{
    if (!g->json)
        print_text(g, plan, r);
    else if (!print_json(g, plan, r))
        return STATUS_REMOTE;
    if (r->broken > 0)
        return STATUS_CONNECT;
    if (r->lost > 0)
        return STATUS_TIMEOUT;
    return error_total(r) > 0 ? STATUS_REMOTE : STATUS_OK;
}
