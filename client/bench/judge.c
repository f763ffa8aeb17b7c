#include "client/bench/judge.h"

#include <stddef.h>

static const uint64_t LAG_ALLOWED_NS = 10 * 1000 * 1000;
static const double BUSY = 0.9;

static bool missing(uint64_t due, uint64_t done)
{
    return due > done && (due - done) * 100 > due;
}

bool bench_mostly_lag(uint64_t lag_ns, uint64_t latency_ns)
{
    return lag_ns > latency_ns / 2;
}

static bool late(const struct bench_kept *k)
{
    return k->lag_p99_ns > LAG_ALLOWED_NS && bench_mostly_lag(k->lag_p99_ns, k->latency_p99_ns);
}

bool bench_at_limit(double busy)
{
    return busy >= BUSY;
}

enum bench_verdict bench_judge(const struct bench_kept *k)
{
    bool unsent = missing(k->due, k->sent);
    if ((unsent || late(k)) && bench_at_limit(k->busy))
        return BENCH_BUSY;
    if (unsent)
        return k->held > 0 ? BENCH_PLACES : BENCH_LATE;
    if (late(k))
        return BENCH_LATE;
    return missing(k->churn_due, k->churned) ? BENCH_CHURNING : BENCH_KEPT;
}

bool bench_by_generator(enum bench_verdict v)
{
    return v == BENCH_BUSY || v == BENCH_LATE;
}

const char *bench_verdict_text(enum bench_verdict v)
{
    switch (v) {
    case BENCH_KEPT:
        return NULL;
    case BENCH_PLACES:
        return "every place in flight was taken: the server answers too slowly for this rate, or "
               "it needs more --connections or --in-flight";
    case BENCH_BUSY:
        return "the generator itself was at its limit: give it more --threads, or processors of "
               "its own";
    case BENCH_LATE:
        return "the generator ran too late: give it processors of its own, or lower --rate";
    case BENCH_CHURNING:
        return "connections did not open that fast: lower --churn, or raise --connections";
    }
    return NULL;
}
