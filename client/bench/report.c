#include "client/bench/report.h"

#include "client/bench/text.h"

#include <stdio.h>

enum { COLUMN = 10 };

void report_progress(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers)
{
    const struct load_plan *plan = arg;
    char a[NUMBER_SIZE];
    char b[NUMBER_SIZE];
    fputs("\r\033[K", stderr);
    if (plan->rate > 0)
        fprintf(stderr, "at %s/s: ", grouped((uint64_t)plan->rate, a));
    if (connected < plan->connections)
        fprintf(stderr, "connecting %u of %u", connected, plan->connections);
    else if (elapsed_ns == 0)
        fputs("warming up", stderr);
    else
        fprintf(stderr, "%.1f s  %s answers  %s/s", (double)elapsed_ns / 1e9, grouped(answers, a),
                grouped((uint64_t)per_second(answers, elapsed_ns), b));
}

void report_progress_end(void)
{
    fputs("\r\033[K", stderr);
}

enum bench_verdict report_verdict(const struct bench *b, const struct load_result *r)
{
    struct bench_kept k = {
        .due = b->load.rate > 0 ? r->due : 0,
        .sent = r->sent,
        .held = r->held,
        .lag_p99_ns = hdr_percentile(&r->lag, 99),
        .latency_p99_ns = hdr_percentile(&r->latency, 99),
        .churn_due = r->churn_due,
        .churned = r->churned,
        .busy = r->busy,
    };
    return bench_judge(&k);
}

/* ---- one run ---- */

static void print_head(const struct bench *b, uint64_t elapsed_ns)
{
    const struct load_plan *plan = &b->load;
    char number[NUMBER_SIZE];
    printf("%s at %s: %u connection%s x %u in flight, ", b->method, b->server, plan->connections,
           plan->connections == 1 ? "" : "s", plan->in_flight);
    if (plan->threads > 1)
        printf("%u threads, ", plan->threads);
    if (plan->rate > 0)
        printf("open loop of %s/s (%s)", grouped((uint64_t)plan->rate, number),
               plan->pace == PACE_FIXED ? "fixed" : "poisson");
    else
        fputs("closed loop", stdout);
    printf(", %.2f s\n", (double)elapsed_ns / 1e9);
}

static void print_latency(const struct hdr_histogram *h)
{
    char text[TIME_SIZE];
    fputs("latency     ", stdout);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        printf(" %*s", COLUMN, PERCENTILES[i].name);
    fputs("\n            ", stdout);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        printf(" %*s", COLUMN, time_text(hdr_percentile(h, PERCENTILES[i].percent), text));
    putchar('\n');
}

static void print_spread(const struct hdr_histogram *h)
{
    char a[TIME_SIZE];
    char b[TIME_SIZE];
    char c[TIME_SIZE];
    printf("p50 %s, p99 %s, max %s\n", time_text(hdr_percentile(h, 50), a),
           time_text(hdr_percentile(h, 99), b), time_text(h->max, c));
}

/* Each of a mix. */
static void print_calls(const struct bench *b, const struct load_result *r)
{
    char number[NUMBER_SIZE];
    for (uint32_t i = 0; i < r->call_count; i++) {
        const struct load_call *call = &r->calls[i];
        printf("  %-10s %s/s", b->calls[i],
               grouped((uint64_t)per_second(call->latency.count, r->elapsed_ns), number));
        if (call->failed > 0)
            printf(", %s errors", grouped(call->failed, number));
        fputs("; ", stdout);
        print_spread(&call->latency);
    }
}

static void print_result(const struct bench *bench, const struct load_result *r)
{
    char a[NUMBER_SIZE];
    char b[NUMBER_SIZE];
    printf("answers      %s\n", grouped(load_result_answers(r), a));
    printf("throughput   %s%s/s%s", bench->colour ? "\033[1m" : "",
           grouped((uint64_t)per_second(r->latency.count, r->elapsed_ns), b),
           bench->colour ? "\033[0m" : "");
    puts(r->refusal.count > 0 ? " without errors" : "");
    print_latency(&r->latency);
    if (r->accepted.count > 0) {
        printf("accepted     ");
        print_spread(&r->accepted);
    }
    print_calls(bench, r);
}

static void print_refusal(enum bench_verdict v, const struct load_result *r)
{
    char a[NUMBER_SIZE];
    char b[NUMBER_SIZE];
    printf("no result    %s\n", bench_verdict_text(v));
    if (r->due > 0)
        printf("sent         %s of %s that were due\n", grouped(r->sent, a), grouped(r->due, b));
    if (r->churn_due > 0)
        printf("replaced     %s of %s connections that were due\n", grouped(r->churned, a),
               grouped(r->churn_due, b));
}

static void print_warning(const struct load_result *r)
{
    if (bench_mostly_lag(hdr_percentile(&r->lag, 99), hdr_percentile(&r->latency, 99)))
        puts("             most of the p99 above is that lag: the server's own is lower");
}

static void print_generator(const struct load_plan *plan, const struct load_result *r)
{
    char number[NUMBER_SIZE];
    printf("generator    %.0f %% busy", r->busy * 100);
    if (plan->rate > 0) {
        fputs("; its own lag ", stdout);
        print_spread(&r->lag);
        print_warning(r);
    } else {
        puts(bench_at_limit(r->busy) ? ", at its limit: with more --threads the server may do more"
                                     : "");
    }
    if (r->held > 0)
        printf("held         %s requests waited for a place in flight\n", grouped(r->held, number));
}

static void print_opening(const struct load_plan *plan, const struct load_result *r)
{
    char a[NUMBER_SIZE];
    char b[NUMBER_SIZE];
    if (plan->churn == 0 && plan->target.url->scheme != URL_TLS)
        return;
    printf("opened       %s connections", grouped(r->opening.count, a));
    if (plan->target.url->scheme == URL_TLS)
        printf(", %s of them resumed", grouped(r->resumed, b));
    fputs("; ", stdout);
    print_spread(&r->opening);
}

static void print_problems(const struct load_result *r)
{
    char number[NUMBER_SIZE];
    for (size_t i = 0; i < r->error_kinds; i++)
        printf("errors       %s %s\n", grouped(r->errors[i].count, number), r->errors[i].code);
    if (r->refusal.count > 0) {
        printf("             ");
        print_spread(&r->refusal);
    }
    if (r->lost > 0)
        printf("no answer    %s\n", grouped(r->lost, number));
    if (r->broken > 0)
        printf("broken       %u connections; the last: %s\n", r->broken, r->why);
}

void report_run(const struct bench *b, const struct load_result *r)
{
    enum bench_verdict v = report_verdict(b, r);
    print_head(b, r->elapsed_ns);
    if (v == BENCH_KEPT)
        print_result(b, r);
    else
        print_refusal(v, r);
    print_generator(&b->load, r);
    print_opening(&b->load, r);
    print_problems(r);
}

/* ---- a sweep ---- */

static bool is_mostly_lag(const struct bench_row *row)
{
    return bench_mostly_lag(row->lag_ns, row->reached_ns);
}

/* Answers with errors are the server's, however large the lag was. */
static bool missed_by_generator(const struct bench_row *row, uint64_t limit_ns)
{
    return bench_by_generator(row->verdict) ||
           (row->verdict == BENCH_KEPT && row->reached_ns > limit_ns && is_mostly_lag(row));
}

const struct bench_row *bench_rows_by_generator(const struct bench_rows *rows, uint64_t limit_ns)
{
    const struct bench_row *first = NULL; /* above the highest, that missed */
    for (size_t i = 0; i < rows->count; i++) {
        const struct bench_row *row = &rows->at[i];
        if (!row->met && row->rate > rows->highest && (first == NULL || row->rate < first->rate))
            first = row;
    }
    return first != NULL && missed_by_generator(first, limit_ns) ? first : NULL;
}

static const char *outcome(const struct bench *b, const struct bench_row *row)
{
    if (row->met && b->ramp > 0)
        return is_mostly_lag(row) ? "kept; mostly the generator's own lag" : "kept";
    if (row->met)
        return "met";
    switch (row->verdict) {
    case BENCH_KEPT:
        if (b->ramp > 0)
            return "kept, with errors";
        return missed_by_generator(row, b->objective.limit_ns)
                   ? "not met, by the generator's own lag"
                   : "not met";
    case BENCH_PLACES:
        return "not kept: no place in flight";
    case BENCH_BUSY:
        return "not kept: generator busy";
    case BENCH_LATE:
        return "not kept: generator late";
    case BENCH_CHURNING:
        return "not kept: connections";
    }
    return "";
}

void report_row(const struct bench *b, const struct bench_rows *rows, const struct load_result *r)
{
    const struct bench_row *row = &rows->at[rows->count - 1];
    char number[NUMBER_SIZE];
    char text[TIME_SIZE];
    const double goal = b->objective.percent;
    const bool own = goal != 50 && goal != 99 && goal != 100; /* a column of its own */
    enum { GOAL = 2 };
    const struct {
        const char *name;
        double percent;
    } columns[] = {{"p50", 50}, {"p99", 99}, {b->objective.name, goal}, {"max", 100}};
    if (rows->count == 1) {
        printf("%12s", "rate");
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            if (i != GOAL || own)
                printf(" %*s", COLUMN, columns[i].name);
        putchar('\n');
    }
    printf("%10s/s", grouped(row->rate, number));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (i != GOAL || own)
            printf(" %*s", COLUMN,
                   row->verdict == BENCH_KEPT
                       ? time_text(hdr_percentile(&r->latency, columns[i].percent), text)
                       : "-");
    printf("  %s\n", outcome(b, row));
    fflush(stdout);
}

void report_sweep(const struct bench *b, const struct bench_rows *rows,
                  const struct load_result *best)
{
    char number[NUMBER_SIZE];
    char text[TIME_SIZE];
    time_text(b->objective.limit_ns, text);
    const struct bench_row *limit = bench_rows_by_generator(rows, b->objective.limit_ns);
    if (limit != NULL) {
        printf("\nno result: at %s/s the generator was the limit, not the server: give it more "
               "--threads, or processors of its own\n",
               grouped(limit->rate, number));
        return;
    }
    if (rows->highest == 0) {
        printf("\nno rate meets %s = %s\n", b->objective.name, text);
        return;
    }
    printf("\nhighest rate with %s = %s: %s/s\n\n", b->objective.name, text,
           grouped(rows->highest, number));
    report_run(b, best);
}
