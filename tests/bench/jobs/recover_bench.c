/* Submits a million durable tasks, or reminders of as many actors, in batches to a real file, and
 * reads them back.  It prints the rate, the bytes on disk and in memory, and the time of the start.
 *
 * Also tasks that wait for their turn, and messages in the mailboxes of 10,000 actors.
 *
 *     bench_jobs_recover [--json] [TASKS [FOLDER [delayed | queued | messages | reminders]]] */
#include <ergon/actor.h>
#include <ergon/handler.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/jobs/accessors.h"
#include "server/jobs/core/table.h"
#include "server/store/store.h"
#include "tests/bench/jobs/submitter.h"
#include "tests/bench/support/report.h"
#include "tests/support/jobs_life.h"

enum { BATCHES = 64, MAILBOXES = 10000 };

static const char *const methods[] = {"work", "room.wakes"};

static void never_run(struct ergon_task *task)
{
}

ERGON_MODULE(bench_module, "bench", "1.0")
{
    static const struct ergon_handler work = {
        .size = sizeof work, .kind = ERGON_BLOCKING, .name = methods[0], .run = never_run};
    static const struct ergon_handler wakes = {
        .size = sizeof wakes, .kind = ERGON_BLOCKING, .name = methods[1], .run = never_run};
    static const struct ergon_actor room = {
        .size = sizeof room, .type = "room", .methods = &wakes, .count = 1};
    int rc = ergon_register(module, &work);
    return rc != 0 ? rc : ergon_register_actor(module, &room);
}

static void fill(struct job_spec *spec, uint8_t *params)
{
    params[0] = 0xc4;
    params[1] = PARAMS - 2;
    spec->delay = AO_S(3600);
}

static void fill_task(struct submitter *s, struct job_spec *spec, uint8_t *params)
{
    fill(spec, params);
    spec->method = span_text(methods[0]);
    spec->durable = DURABLE_FSYNC;
}

static void fill_queued(struct submitter *s, struct job_spec *spec, uint8_t *params)
{
    fill_task(s, spec, params);
    spec->delay = 0;
}

/* The name of the actor takes the end of the parameters, which are without it then. */
static void fill_message_to(uint64_t number, struct job_spec *spec, uint8_t *params)
{
    enum { NAME = 14, REST = PARAMS - NAME };
    char name[NAME + 1];
    fill(spec, params);
    snprintf(name, sizeof name, "room/%09llu", (unsigned long long)number);
    memcpy(params + REST, name, NAME);
    params[1] = REST - 2;
    spec->params = span_of(params, REST);
    spec->actor = span_of(params + REST, NAME);
    spec->method = span_text(methods[1]);
}

static void fill_message(struct submitter *s, struct job_spec *spec, uint8_t *params)
{
    fill_message_to(s->made % MAILBOXES, spec, params);
    spec->delay = 0;
}

static void fill_reminder(struct submitter *s, struct job_spec *spec, uint8_t *params)
{
    fill_message_to(s->made, spec, params);
    spec->reminder = span_text("due");
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
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct job_queue *q = table_queue(jobs_table(v->jobs), span_text(methods[i]));
        if (!q)
            give_up("no memory");
        q->paused = true; /* nothing begins */
    }
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

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct kind {
    const char *name;
    void (*fill)(struct submitter *s, struct job_spec *spec, uint8_t *params);
};

static void measure(struct report *r, const struct kind *kind, const char *path, uint64_t count)
{
    struct submitter s = {.of = count, .batches_max = BATCHES, .fill = kind->fill};
    struct jobs_info info;
    struct stat file;
    struct jobs_life v;
    double n = (double)count, took = submit_all(path, &s), before = resident_bytes();
    if (stat(path, &file) != 0)
        give_up("the file is gone");
    ao_time began = ao_clock_monotonic.now(NULL);
    double busy = processor_seconds();
    begin(&v, path);
    double ready = seconds_since(began);
    busy = processor_seconds() - busy;
    jobs_info(v.jobs, &info);
    report_row(r, kind->name,
               (double[]){n / took / 1e3, (double)s.refused, (double)file.st_size / n, ready, busy,
                          (resident_bytes() - before) / n, (double)info.tasks});
    jobs_life_end(&v);
    if (unlink(path) != 0)
        give_up("the file cannot be removed");
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {
        {"k submits/s", 1},    {"refused", 0},         {"bytes on disk", 1}, {"s until ready", 2},
        {"s of processor", 2}, {"bytes in memory", 1}, {"found", 0}};
    static const struct kind kinds[] = {{"delayed", fill_task},
                                        {"queued", fill_queued},
                                        {"messages", fill_message},
                                        {"reminders", fill_reminder}};
    struct report r;
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int at = json ? 2 : 1;
    char path[300];
    snprintf(path, sizeof path, "%s/recover_bench.db", argc > at + 1 ? argv[at + 1] : ".");
    report_open(&r, "jobs_recover", json);
    report_table(&r, "Durable tasks of 64 bytes (fsync), submitted in batches of 64", "tasks",
                 columns, 7);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc <= at + 2 || strcmp(argv[at + 2], kinds[i].name) == 0)
            measure(&r, &kinds[i], path, argc > at ? strtoull(argv[at], NULL, 10) : 1000000);
    report_end(&r);
    return 0;
}
