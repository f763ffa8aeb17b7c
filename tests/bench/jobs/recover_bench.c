/* A million durable tasks: how fast they are submitted in batches, with a real file below, what
 * they take on disk and in memory, and how soon they are there again after a start.
 *
 *     bench_jobs_recover [--json] [TASKS [FOLDER]] */
#include <ergon/handler.h>
#include <ergon/poller.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/jobs/jobs.h"
#include "server/jobs/service/channel.h"
#include "server/store/store.h"
#include "server/tasks/tasks.h"
#include "tests/bench/support/report.h"

enum { BATCH = 64, ASKS = 64, PARAMS = 64 };

static void never_run(struct ergon_task *task)
{
    (void)task;
}

ERGON_MODULE(bench_module, "bench", "1.0")
{
    static const struct ergon_handler work = {
        .size = sizeof work, .kind = ERGON_BLOCKING, .name = "work", .run = never_run};
    return ergon_register(module, &work);
}

struct submitter {
    struct ao ao;
    struct jobs_channel *channel;
    struct activator *loop;
    uint64_t made, of, in_flight, refused;
};

static struct operation *next_batch(struct submitter *s)
{
    static const uint8_t params[PARAMS] = {0xc4, PARAMS - 2};
    struct operation *a = operation_new(NULL, &operation_submit_many);
    struct job_spec *orders = a ? calloc(BATCH, sizeof *orders) : NULL;
    if (!orders)
        abort();
    a->memory = orders;
    a->submission.specs = orders;
    for (; a->submission.count < BATCH && s->made < s->of; s->made++) {
        struct job_spec *o = &orders[a->submission.count++];
        job_spec_init(o);
        o->method = span_text("work");
        o->params = span_of(params, PARAMS);
        o->durable = DURABLE_FSYNC;
        o->delay = AO_S(3600);
    }
    return a;
}

static enum ao_verdict submit_some(struct ao *self)
{
    struct submitter *s = ao_of(self, struct submitter, ao);
    for (; s->in_flight < ASKS && s->made < s->of; s->in_flight++)
        channel_give(s->channel, next_batch(s));
    return AO_DONE;
}

static const struct ao_class submitter_class = {.name = "submitter", .step = submit_some};

static void answered(void *arg, struct operation *a)
{
    struct submitter *s = arg;
    s->in_flight--;
    for (uint32_t i = 0; i < a->submission.count; i++)
        s->refused += !a->submission.outcomes || a->submission.outcomes[i].error != ERGON_OK;
    operation_free(a);
    if (s->made < s->of)
        ao_activate(&s->ao);
    else if (s->in_flight == 0)
        activator_stop(s->loop);
}

static void pushed(void *arg, struct operation_push *p)
{
    (void)arg;
    (void)p;
}

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    (void)arg;
    (void)call;
    (void)outcome;
}

/* --- One life of a server --- */

struct life {
    struct poller *poller;
    struct activator *loop;
    struct registry *registry;
    struct tasks *tasks;
    struct store *store;
    struct jobs *jobs;
};

static void give_up(const char *error)
{
    fprintf(stderr, "%s\n", error);
    exit(1);
}

static void begin(struct life *v, const char *path)
{
    static const struct executor_plan executor = {
        .kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1};
    const struct store_options file = {
        .path = path, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    char error[300] = "no memory";
    v->poller = poller_eventfd_new();
    v->loop = activator_open(
        &(struct activator_options){.name = "loop", .poller = v->poller, .core = -1});
    v->registry = registry_new();
    if (module_add(v->registry, ergon_module(), error, sizeof error) != 0)
        give_up(error);
    const struct tasks_plan plan = {.registry = v->registry,
                                    .loops = &v->loop,
                                    .loop_count = 1,
                                    .manager = v->loop,
                                    .executors = &executor,
                                    .executor_count = 1,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .queue_max = 1000,
                                    .message_max = 1 << 20,
                                    .ended = on_ended};
    v->tasks = tasks_new(&plan, error, sizeof error);
    v->store = v->tasks ? store_open(&file, error, sizeof error) : NULL;
    if (!v->store)
        give_up(error);
    const struct jobs_options options = {.tasks = v->tasks,
                                         .registry = v->registry,
                                         .store = v->store,
                                         .tasks_max = UINT64_MAX,
                                         .bytes_max = UINT64_MAX,
                                         .kept_bytes_max = UINT64_MAX,
                                         .ageing = AO_S(10),
                                         .crashes_max = 3,
                                         .history_max = 100};
    v->jobs = jobs_new(&options, error, sizeof error);
    if (!v->jobs || jobs_recover(v->jobs, error, sizeof error) != 0)
        give_up(error);
    if (tasks_start(v->tasks) != 0 || jobs_start(v->jobs) != 0)
        give_up("the threads do not start");
}

static void end(struct life *v)
{
    jobs_stop(v->jobs);
    tasks_stop(v->tasks, AO_S(1));
    jobs_free(v->jobs);
    store_close(v->store);
    tasks_free(v->tasks);
    activator_close(v->loop);
    poller_eventfd_free(v->poller);
    registry_free(v->registry);
}

/* --- The measurement --- */

static double resident_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static double seconds_since(ao_time began)
{
    return (double)(ao_clock_monotonic.now(NULL) - began) / 1e9;
}

static double submit_all(const char *path, struct submitter *s)
{
    struct life v;
    const struct channel_port port = {.answered = answered, .pushed = pushed, .arg = s};
    begin(&v, path);
    s->loop = v.loop;
    s->channel = channel_open(v.jobs, v.loop, &port);
    ao_init(&s->ao, &submitter_class, v.loop);
    ao_activate(&s->ao);
    ao_time began = ao_clock_monotonic.now(NULL);
    activator_run(v.loop);
    double took = seconds_since(began);
    ao_deactivate(&s->ao);
    ao_fini(&s->ao);
    end(&v);
    return took;
}

static void measure(struct report *r, const char *path, uint64_t count)
{
    static const struct report_column columns[] = {{"k submits/s", 1},     {"refused", 0},
                                                   {"bytes on disk", 1},   {"s until ready", 2},
                                                   {"bytes in memory", 1}, {"found", 0}};
    struct submitter s = {.of = count};
    struct jobs_info info;
    struct stat file;
    struct life v;
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
    end(&v);
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
