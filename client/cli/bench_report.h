/* What a load run shows: a line while it runs, a report at its end. */
#ifndef ERGON_CLI_BENCH_REPORT_H
#define ERGON_CLI_BENCH_REPORT_H

#include "client/cli/bench_judge.h"
#include "client/cli/bench_plan.h"

/* One rate of a sweep. */
struct bench_row {
    uint64_t rate; /* asked for, a second */
    enum bench_verdict verdict;
    bool met;
    uint64_t reached_ns; /* the latency that the objective is about */
    uint64_t lag_ns;     /* the generator's own, at the same percentile */
};

struct bench_rows {
    struct bench_row at[BENCH_SEARCH_STEPS];
    size_t count;
    uint64_t highest; /* rate that met the objective; 0: none */
};

/* For load_plan.progress; `arg` is the plan.  Rewrites one line of standard error. */
void bench_progress(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers);
void bench_progress_end(void); /* clears that line */

enum bench_verdict bench_verdict_of(const struct load_plan *plan, const struct load_result *r);

/* Prints the report and tells the exit status that the run deserves. */
enum status bench_report(const struct globals *g, const struct load_plan *plan,
                         const struct load_result *result);

/* After each rate of a sweep: its row, the last one, as text; nothing with --json. */
void bench_report_row(const struct globals *g, const struct bench_plan *b,
                      const struct bench_rows *rows, const struct load_result *result);

/* At the end of a sweep; `best` is valid when rows->highest is not 0.  False: not written. */
bool bench_report_sweep(const struct globals *g, const struct bench_plan *b,
                        const struct bench_rows *rows, const struct load_result *best);

#endif
