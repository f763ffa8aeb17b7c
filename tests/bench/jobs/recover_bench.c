/* A million durable tasks: how fast they are submitted in batches, with a real file below, what
 * they take on disk and in memory, and how soon they are there again after a start.
 *
 *     bench_jobs_recover [--json] [TASKS [FOLDER]] */
#include <ergon/handler.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/store/store.h"
#include "tests/bench/jobs/submitter.h"
#include "tests/bench/support/report.h"
#include "tests/support/jobs_life.h"

enum { BATCHES = 64 };

static void never_run(struct ergon_task *task)
{
}

ERGON_MODULE(bench_module, "bench", "1.0")
{
    static const struct ergon_handler work = {
        .size = sizeof work, .kind = ERGON_BLOCKING, .name = "work", .run = never_run};
    return ergon_register(module, &work);
}

static void fill(struct submitter *s, struct job_spec *spec, uint8_t *params)
{
    params[0] = 0xc4;
    params[1] = PARAMS - 2;
    spec->method = span_text("work");
    spec->durable = DURABLE_FSYNC;
    spec->delay = AO_S(3600);
}

/* --- One life of a server --- */

static void give_up(const char *error)
{
    fprintf(stderr, "%s\n", error);
    exit(1);
}

static void begin(struct jobs_life *v, const char *path)
{
    char error[300];
    if (!jobs_life_begin(v, path, ergon_module(), error, sizeof error))
        give_up(error);
}

/* --- The measurement --- */

static double seconds_since(ao_time began)
{
    return (double)(ao_clock_monotonic.now(NULL) - began) / 1e9;
}

static double submit_all(const char *path, struct submitter *s)
{
    struct jobs_life v;
    begin(&v, path);
    if (!submitter_start(s, v.jobs, v.loop))
        give_up("no memory");
    ao_time began = ao_clock_monotonic.now(NULL);
    activator_run(v.loop);
    double took = seconds_since(began);
    submitter_end(s);
    jobs_life_end(&v);
    return took;
}

static void measure(struct report *r, const char *path, uint64_t count)
{
    static const struct report_column columns[] = {{"k submits/s", 1},     {"refused", 0},
                                                   {"bytes on disk", 1},   {"s until ready", 2},
                                                   {"bytes in memory", 1}, {"found", 0}};
    struct submitter s = {.of = count, .batches_max = BATCHES, .fill = fill};
    struct jobs_info info;
    struct stat file;
    struct jobs_life v;
    double n = (double)count, took = submit_all(path, &s), before = resident_bytes();
    if (stat(path, &file) != 0)
        give_up("the file is gone");
    ao_time began = ao_clock_monotonic.now(NULL);
    begin(&v, path);
    double ready = seconds_since(began);
    jobs_info(v.jobs, &info);
    report_table(r, "Durable tasks of 64 bytes (fsync), submitted in batches of 64", "tasks",
                 columns, 6);
    report_row(r, "delayed",
               (double[]){n / took / 1e3, (double)s.refused, (double)file.st_size / n, ready,
                          (resident_bytes() - before) / n, (double)info.tasks});
    jobs_life_end(&v);
}

int main(int argc, char **argv)
{
    struct report r;
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int at = json ? 2 : 1;
    char path[300];
    snprintf(path, sizeof path, "%s/recover_bench.db", argc > at + 1 ? argv[at + 1] : ".");
    report_open(&r, "jobs_recover", json);
    measure(&r, path, argc > at ? strtoull(argv[at], NULL, 10) : 1000000);
    report_end(&r);
    return unlink(path) == 0 ? 0 : 1;
}
