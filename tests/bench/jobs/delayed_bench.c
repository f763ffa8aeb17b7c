/* A million delayed tasks of 64 bytes: what they take of memory, how fast they are submitted in
 * batches, and how late each begins when its time has come.  No sockets: operations are given to
 * the channel of the loop.
 *
 *     bench_jobs_delayed [--json] [TASKS [PER_SECOND]] */
#include <ergon/handler.h>
#include <ergon/poller.h>

#include <pthread.h>
#include <stdlib.h>

#include "tests/bench/jobs/submitter.h"
#include "tests/bench/support/report.h"

enum { BATCHES = 8, LEAD_S = 3 };

/* --- The tasks note how late they are --- */

static struct lateness {
    uint32_t *us;
    uint64_t count, of;
    struct activator *loop;
} late;

static enum ao_verdict note_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_bytes params = ergon_params(task);
    ao_time due, now = ao_clock_monotonic.now(NULL);
    memcpy(&due, params.at + 2, sizeof due);
    late.us[late.count++] = now > due ? (uint32_t)((now - due) / 1000) : 0;
    if (late.count == late.of)
        activator_stop(late.loop);
    return AO_DONE;
}

ERGON_MODULE(bench_module, "bench", "1.0")
{
    static const struct ergon_handler note = {
        .size = sizeof note, .kind = ERGON_STEPPED, .name = "note", .step = note_step};
    return ergon_register(module, &note);
}

/* --- Who submits them --- */

struct delayed {
    struct submitter submitter;
    ao_time first, every; /* due; ns from one to the next */
};

static void fill(struct submitter *s, struct job_spec *spec, uint8_t *params)
{
    struct delayed *d = (struct delayed *)s;
    ao_time now = ao_clock_monotonic.now(NULL), due = d->first + s->made * d->every;
    params[0] = 0xc4; /* bin, of 62 bytes */
    params[1] = PARAMS - 2;
    memcpy(params + 2, &due, sizeof due);
    spec->method = span_text("note");
    spec->durable = DURABLE_NONE;
    spec->keep = JOB_KEEP_UNSAID;
    spec->delay = due > now ? due - now : 1;
}

/* --- The measurement --- */

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double percentile_ms(double p)
{
    uint64_t at = (uint64_t)(p * (double)(late.count - 1));
    return (double)late.us[at] / 1000;
}

static void measure(struct report *r, struct delayed *d)
{
    struct submitter *s = &d->submitter;
    static const struct report_column columns[] = {{"k submits/s", 1}, {"bytes each", 1},
                                                   {"refused", 0},     {"late p50 ms", 2},
                                                   {"late p99 ms", 2}, {"late max ms", 2}};
    double before = resident_bytes();
    ao_time began = ao_clock_monotonic.now(NULL);
    d->first = began + AO_S(LEAD_S) + s->of * 4000;
    activator_run(s->loop);
    double took = (double)(ao_clock_monotonic.now(NULL) - began);
    double bytes = (resident_bytes() - before) / (double)s->of;
    activator_run(s->loop);
    qsort(late.us, late.count, sizeof *late.us, by_size);
    report_table(r, "Delayed tasks of 64 bytes, submitted in batches of 64", "tasks", columns, 6);
    report_row(r, "delayed",
               (double[]){(double)s->of / took * 1e6, bytes, (double)s->refused, percentile_ms(0.5),
                          percentile_ms(0.99), percentile_ms(1)});
}

static void *run(void *activator)
{
    activator_run(activator);
    return NULL;
}

static struct activator *open_activator(const char *name, struct poller **poller)
{
    *poller = poller_eventfd_new();
    const struct activator_options options = {.name = name, .poller = *poller, .core = -1};
    return *poller ? activator_open(&options) : NULL;
}

/* The jobs live on a thread of its own, the loop runs the handlers. */
static void with_server(struct report *r, struct delayed *d)
{
    static const struct executor_plan executor = {
        .kind = ERGON_STEPPED, .queue = 64, .parked = 64, .core = -1, .weight = 1};
    struct poller *pollers[2];
    struct activator *loop = open_activator("loop", &pollers[0]);
    struct activator *manager = open_activator("manager", &pollers[1]);
    struct registry *registry = registry_new();
    char error[200] = "no memory";
    if (!registry || module_add(registry, ergon_module(), error, sizeof error) != 0)
        abort();
    const struct tasks_plan plan = {.registry = registry,
                                    .loops = &loop,
                                    .loop_count = 1,
                                    .manager = manager,
                                    .executors = &executor,
                                    .executor_count = 1,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .short_cut = true,
                                    .queue_max = 1000,
                                    .message_max = 1 << 20,
                                    .ended = no_call_ended};
    struct tasks *t = tasks_new(&plan, error, sizeof error);
    const struct jobs_options options = {.tasks = t,
                                         .registry = registry,
                                         .settings.limits.max = UINT32_MAX,
                                         .settings.limits.bytes = UINT64_MAX,
                                         .settings.limits.kept_bytes = (uint64_t)1 << 24,
                                         .settings.limits.actors = {.bytes = (uint64_t)1 << 28,
                                                                    .max = 10000000,
                                                                    .state = 1 << 20,
                                                                    .messages = 100000},
                                         .settings.limits.keep_failed = AO_S(7 * 86400),
                                         .settings.ageing = AO_S(10),
                                         .settings.events = 4096,
                                         .settings.history = 100};
    struct jobs *l = t ? jobs_new(&options, error, sizeof error) : NULL;
    pthread_t thread;
    late.loop = loop;
    if (!l || tasks_start(t) != 0 || jobs_start(l) != 0 ||
        !submitter_start(&d->submitter, l, loop) ||
        pthread_create(&thread, NULL, run, manager) != 0)
        abort();
    measure(r, d);
    activator_stop(manager);
    pthread_join(thread, NULL);
    jobs_stop(l);
    tasks_stop(t, AO_S(1));
    jobs_free(l);
    tasks_free(t);
    submitter_end(&d->submitter);
    activator_close(loop);
    activator_close(manager);
    poller_eventfd_free(pollers[0]);
    poller_eventfd_free(pollers[1]);
    registry_free(registry);
}

int main(int argc, char **argv)
{
    struct report r;
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int at = json ? 2 : 1;
    struct delayed d = {.submitter = {.of = argc > at ? strtoull(argv[at], NULL, 10) : 1000000,
                                      .batches_max = BATCHES,
                                      .fill = fill}};
    uint64_t rate = argc > at + 1 ? strtoull(argv[at + 1], NULL, 10) : 50000;
    d.every = AO_S(1) / rate;
    late.of = d.submitter.of;
    late.us = malloc(late.of * sizeof *late.us);
    if (!late.us)
        return 1;
    memset(late.us, 1, late.of * sizeof *late.us); /* its pages are there before the measurement */
    report_open(&r, "jobs_delayed", json);
    with_server(&r, &d);
    report_end(&r);
    free(late.us);
    return 0;
}
