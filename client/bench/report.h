/* What a load run shows: a line while it runs, text at its end, on standard output and standard
 * error.
 *
 * Thread: the one that runs the bench (run.h).  Nothing here keeps what it is given.  Nothing
 * returns an error: what standard output did not take, ferror() tells. */
#ifndef ERGON_BENCH_REPORT_H
#define ERGON_BENCH_REPORT_H

#include "client/bench/judge.h"
#include "client/bench/plan.h"
#include "client/bench/result.h"
#include "client/bench/search.h"
#include "client/bench/text.h"

/* What is run, and how it is shown.  Strings and what the load points to are the caller's. */
struct bench {
    struct load_plan load; /* its progress is not the caller's to set */
    const char *server;    /* as the user wrote it */
    const char *method;    /* that is called, or what stands for a mix */
    char *const *calls;    /* the names of a mix; load.mix.count of them */
    const char *payload;   /* its size, as the user wrote it */
    const char *submit;    /* options of the tasks that are submitted; NULL: calls */
    bool sweeps;
    struct bench_objective objective; /* valid with sweeps */
    uint32_t ramp;                    /* so many rates, from that of the load on; 0: no ramp */
    uint64_t ramp_to;                 /* the last of them, a second */
    const char *histogram;            /* path of a file to write; NULL: none; as the next two */
    const char *series;               /* of one run */
    const char *plot;
    bool json;
    bool colour; /* of the text */
    bool live;   /* with a line of progress on standard error */
};

/* One rate of a sweep or a ramp. */
struct bench_row {
    uint64_t rate; /* asked for, a second */
    enum bench_verdict verdict;
    bool met;                              /* of a ramp: it was kept, and nothing failed */
    uint64_t latency_ns[PERCENTILE_COUNT]; /* as PERCENTILES has them */
    uint64_t reached_ns;                   /* the latency that the objective is about */
    uint64_t lag_ns;                       /* the generator's own, at the same percentile */
};

struct bench_rows {
    struct bench_row at[BENCH_SEARCH_STEPS];
    size_t count;
    uint64_t highest; /* rate that met the objective; 0: none */
};

/* The row that ended the climb of a sweep, if the generator was its limit: the highest rate is then
 * none of the server's.  NULL: the server was the limit, or no rate was missed.  `limit_ns` is that
 * of the objective. */
const struct bench_row *bench_rows_by_generator(const struct bench_rows *rows, uint64_t limit_ns);

/* For load_plan.progress; `arg` is the plan.  Rewrites one line of standard error. */
void report_progress(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers);
void report_progress_end(void); /* clears that line */

/* Whether the run is a result at the rate that the plan has. */
enum bench_verdict report_verdict(const struct bench *b, const struct load_result *r);

void report_run(const struct bench *b, const struct load_result *r);

/* After each rate of a sweep or a ramp: its row, the last one. */
void report_row(const struct bench *b, const struct bench_rows *rows, const struct load_result *r);

/* At the end of a sweep; `best` is valid when rows->highest is not 0, and the plan's rate is that.
 */
void report_sweep(const struct bench *b, const struct bench_rows *rows,
                  const struct load_result *best);

#endif
