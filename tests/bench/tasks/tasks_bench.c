/* What a task costs without sockets, in batches of 16 calls a step.
 *
 *     short cut          the loop takes it itself
 *     manager here       through a manager on the same thread
 *     manager there      through a manager on a thread of its own
 *     blocking           on the thread of a blocking executor */
#include <ergon/handler.h>
#include <ergon/poller.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/tasks/tasks.h"
#include "tests/bench/support/report.h"

enum { BATCH = 16, IN_FLIGHT = 64 };

static enum ao_verdict echo_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_bytes params = ergon_params(task);
    ergon_result_raw(task, params.at, params.len);
    return AO_DONE;
}

static void block_run(struct ergon_task *task)
{
    struct ergon_bytes params = ergon_params(task);
    ergon_result_raw(task, params.at, params.len);
}

ERGON_MODULE(bench_module, "bench", "1.0")
{
    static const struct ergon_handler echo = {
        .size = sizeof echo, .kind = ERGON_STEPPED, .name = "echo", .step = echo_step};
    static const struct ergon_handler block = {
        .size = sizeof block, .kind = ERGON_BLOCKING, .name = "block", .run = block_run};
    return ergon_register(module, &echo) || ergon_register(module, &block) ? -1 : 0;
}

/* One object that calls and counts the ends. */
struct caller {
    struct ao ao;
    struct activator *loop;
    struct home *home;
    struct method *method;
    struct call *list;
    uint64_t left, in_flight;
};

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct caller *c = arg;
    c->in_flight--;
    if (c->left == 0 && c->in_flight == 0)
        activator_stop(c->loop);
    else
        ao_activate(&c->ao);
}

static enum ao_verdict call_some(struct ao *self)
{
    static const uint8_t params[64] = {0xc4, 62};
    struct caller *c = ao_of(self, struct caller, ao);
    const struct call_request request = {.list = &c->list,
                                         .msgid = {.at = params + 2, .len = 1},
                                         .params = {.at = params, .len = sizeof params},
                                         .deadline = AO_NEVER};
    for (int n = 0; n < BATCH && c->left > 0 && c->in_flight < IN_FLIGHT; n++) {
        c->in_flight++;
        c->left--;
        if (home_call(c->home, c->method, &request) != ERGON_OK)
            abort();
    }
    return c->left > 0 && c->in_flight < IN_FLIGHT ? AO_AGAIN : AO_DONE;
}

static const struct ao_class caller_class = {.name = "caller", .step = call_some};

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

struct way {
    const char *title, *method;
    bool short_cut, own_manager;
    uint64_t tasks;
};

static const struct way ways[] = {
    {"short cut", "echo", true, false, 10000000},
    {"manager here", "echo", false, false, 2000000},
    {"manager there", "echo", false, true, 1000000},
    {"blocking", "block", false, false, 500000},
};

static const struct executor_plan executors[] = {
    {.kind = ERGON_STEPPED, .queue = 64, .parked = 64, .core = -1, .weight = 1},
    {.kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1}};

static double processor_ns(void)
{
    return (double)clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

/* Runs the loop until all of the caller's tasks have ended. */
static void show(struct report *r, const struct way *w, struct activator *loop,
                 const struct activator *manager)
{
    struct activator_stats mine, its;
    double processor = processor_ns();
    ao_time began = ao_clock_monotonic.now(NULL);
    activator_run(loop);
    double took = (double)(ao_clock_monotonic.now(NULL) - began);
    processor = processor_ns() - processor;
    activator_stats(loop, &mine);
    activator_stats(manager, &its);
    double n = (double)w->tasks, writes = (double)mine.wakes_sent + (double)mine.wakes_received;
    if (manager != loop)
        writes = (double)(mine.wakes_sent + its.wakes_sent);
    report_row(r, w->title, (double[]){took / n, n / took * 1e3, processor / n, writes / n});
}

static void measure(struct report *r, const struct way *w, struct registry *registry)
{
    struct poller *pollers[2];
    struct activator *loop = open_activator("loop", &pollers[0]);
    struct activator *other = open_activator("manager", &pollers[1]);
    struct activator *manager = w->own_manager ? other : loop;
    struct caller c = {.loop = loop, .left = w->tasks};
    const struct tasks_plan plan = {.registry = registry,
                                    .loops = &loop,
                                    .loop_count = 1,
                                    .manager = manager,
                                    .executors = executors,
                                    .executor_count = 2,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .short_cut = w->short_cut,
                                    .queue_max = 1000,
                                    .message_max = 1 << 20,
                                    .ended = on_ended};
    char error[200];
    struct tasks *t = tasks_new(&plan, error, sizeof error);
    pthread_t thread;
    if (!t || tasks_start(t) != 0 || pthread_create(&thread, NULL, run, other) != 0)
        abort();
    tasks_set_owner(t, 0, &c);
    c.home = tasks_home(t, 0);
    c.method = registry_find(registry, span_text(w->method));
    ao_init(&c.ao, &caller_class, loop);
    ao_activate(&c.ao);
    show(r, w, loop, manager);
    activator_stop(other);
    pthread_join(thread, NULL);
    tasks_stop(t, AO_S(1));
    tasks_free(t);
    ao_deactivate(&c.ao);
    ao_fini(&c.ao);
    activator_close(loop);
    activator_close(other);
    poller_eventfd_free(pollers[0]);
    poller_eventfd_free(pollers[1]);
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {{"ns a task", 1},
                                                   {"M tasks/s", 2},
                                                   {"processor ns a task", 1},
                                                   {"eventfd writes a task", 4}};
    char error[200];
    struct registry *registry = registry_new();
    struct report r;
    if (!registry || module_add(registry, ergon_module(), error, sizeof error) != 0)
        return 1;
    report_begin(&r, "tasks", argc, argv);
    report_table(&r, "A task without sockets, 64 in flight", "way", columns, 4);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        measure(&r, &ways[i], registry);
    report_end(&r);
    registry_free(registry);
    return 0;
}
