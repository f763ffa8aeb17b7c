/* What a task costs the server that a worker runs, without sockets: one worker, 10, 1,000 and
 * 10,000, with so many slots that all that is in flight is at work, or that most of it waits.  Then
 * the look for tasks that nobody wants, with many out. */
#include <ergon/poller.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/tasks/tasks.h"
#include "server/workers/worker_executor.h"
#include "tests/bench/support/report.h"

enum { BATCH = 16, IN_FLIGHT = 1024, MOST = 10000, OUT = 16000, POKES = 2000 };
enum { TASKS = 1000000, TURNS = 5 };

/* All peers of a world: what was sent to any of them is answered in the next round. */
struct world {
    struct activator *loop;
    struct poller *poller;
    struct tasks *tasks;
    struct registry *registry;
    struct home *home;
    struct method *method;
    struct ao caller, peers;
    struct call *list;
    uint64_t left, in_flight, in_flight_most;
    uint32_t joined, out;
    bool silent; /* nothing is answered */
    struct sent {
        struct worker_executor *executor;
        struct task *task;
    } sent[OUT + 1];
};

static struct world w;

static bool on_send(void *peer, struct worker_executor *r, struct task *t)
{
    (void)peer;
    w.sent[w.out++] = (struct sent){r, t};
    worker_executor_begun(r, t);
    if (!w.silent)
        ao_activate(&w.peers);
    return true;
}

static void on_unwanted(void *peer, struct task *t, enum task_flag why)
{
    (void)peer, (void)t, (void)why;
}

static void on_joined(void *peer, struct worker_executor *r, enum ergon_error error,
                      const char *text)
{
    (void)peer, (void)r, (void)text;
    if (error != ERGON_OK)
        abort();
    w.joined++;
}

static void on_settled(void *peer, struct worker_executor *r, bool open)
{
    (void)peer, (void)r, (void)open;
}

static enum ao_verdict answer_all(struct ao *self)
{
    (void)self;
    uint32_t count = w.out;
    w.out = 0;
    for (uint32_t i = 0; i < count; i++)
        worker_executor_answer(w.sent[i].executor, w.sent[i].task);
    return AO_DONE;
}

static const struct ao_class peers_class = {.name = "peers", .step = answer_all};

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    (void)arg, (void)call, (void)outcome;
    w.in_flight--;
    if (w.left == 0 && w.in_flight == 0)
        activator_stop(w.loop);
    else if (w.left > 0)
        ao_activate(&w.caller);
}

static void call(void)
{
    static const uint8_t params[64] = {0xc4, 62};
    const struct call_request request = {.list = &w.list,
                                         .msgid = {.at = params + 2, .len = 1},
                                         .params = {.at = params, .len = sizeof params},
                                         .deadline = AO_NEVER};
    w.in_flight++;
    if (home_call(w.home, w.method, &request) != ERGON_OK)
        abort();
}

static enum ao_verdict call_some(struct ao *self)
{
    (void)self;
    for (int n = 0; n < BATCH && w.left > 0 && w.in_flight < w.in_flight_most; n++, w.left--)
        call();
    return w.left > 0 && w.in_flight < w.in_flight_most ? AO_AGAIN : AO_DONE;
}

static const struct ao_class caller_class = {.name = "caller", .step = call_some};

static void join(uint32_t workers, uint32_t slots)
{
    const struct span name = span_text("thumb");
    const struct worker_executor_spec spec = {
        .methods = &name, .count = 1, .slots = slots, .share = WORKER_SHARE_ALL};
    for (uint32_t i = 0; i < workers; i++)
        if (!worker_executor_register(worker_loop_at(w.tasks, 0), &spec, &w))
            abort();
    while (w.joined < workers)
        activator_round(w.loop, false);
    w.method = registry_find(w.registry, name);
}

static void open_world(uint32_t workers, uint32_t slots)
{
    static const struct worker_port port = {on_send, on_unwanted, on_joined, on_settled};
    char error[200];
    w = (struct world){.poller = poller_eventfd_new(), .registry = registry_new()};
    const struct activator_options options = {.name = "loop", .poller = w.poller, .core = -1};
    w.loop = activator_open(&options);
    const struct tasks_plan plan = {.registry = w.registry,
                                    .loops = &w.loop,
                                    .loop_count = 1,
                                    .manager = w.loop,
                                    .queue_max = 100000,
                                    .message_max = 1 << 20,
                                    .workers = &worker_executors,
                                    .ended = on_ended};
    w.tasks = tasks_new(&plan, error, sizeof error);
    if (!w.tasks)
        abort();
    w.home = tasks_home(w.tasks, 0);
    ao_init(&w.caller, &caller_class, w.loop);
    ao_init(&w.peers, &peers_class, w.loop);
    worker_loop_set_port(worker_loop_at(w.tasks, 0), &port);
    join(workers, slots);
}

static void close_world(void)
{
    tasks_free(w.tasks);
    ao_deactivate(&w.caller);
    ao_deactivate(&w.peers);
    ao_fini(&w.caller);
    ao_fini(&w.peers);
    activator_close(w.loop);
    poller_eventfd_free(w.poller);
    registry_free(w.registry);
}

static double processor_ns(void)
{
    return (double)clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

/* Processor time of a task. */
static double measure(uint32_t workers, uint32_t slots, uint64_t in_flight)
{
    open_world(workers, slots);
    w.in_flight_most = in_flight;
    w.left = TASKS;
    ao_activate(&w.caller);
    double began = processor_ns();
    activator_run(w.loop);
    double took = processor_ns() - began;
    close_world();
    return took / TASKS;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
    qsort(values, TURNS, sizeof *values, by_value);
    return values[TURNS / 2];
}

/* As many slots as are in flight, or a quarter of that. */
static void measure_workers(struct report *r)
{
    static const struct {
        const char *title;
        uint32_t workers, slots;
        uint64_t in_flight;
    } ways[] = {{"1 worker, all at work", 1, 1024, IN_FLIGHT},
                {"10", 10, 103, IN_FLIGHT},
                {"1,000", 1000, 2, IN_FLIGHT},
                {"10,000", MOST, 1, IN_FLIGHT},
                {"1 worker, most wait", 1, 256, IN_FLIGHT},
                {"10", 10, 26, IN_FLIGHT},
                {"256", 256, 1, IN_FLIGHT},
                {"1 worker, one at a time", 1, 1, 1},
                {"1,000", 1000, 1, 1}};
    enum { WAYS = sizeof ways / sizeof *ways };
    double took[WAYS][TURNS], of_one = 0;
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned i = 0; i < WAYS; i++)
            took[i][turn] = measure(ways[i].workers, ways[i].slots, ways[i].in_flight);
    for (unsigned i = 0; i < WAYS; i++) {
        double of_this = median(took[i]);
        of_one = ways[i].workers == 1 ? of_this : of_one;
        report_row(r, ways[i].title, (double[]){of_this, of_this / of_one});
    }
}

/* One call is cancelled, and the worker loop looks at all that are out. */
static void measure_look(struct report *r)
{
    open_world(OUT / 16, 16);
    w.silent = true;
    w.left = 1; /* nothing ends before */
    for (uint32_t i = 0; i < OUT; i++)
        call();
    while (w.out < OUT)
        activator_round(w.loop, false);
    double began = processor_ns();
    for (uint32_t i = 0; i < POKES; i++) {
        home_cancel(w.home, w.list);
        while (activator_round(w.loop, false))
            ;
    }
    double took = processor_ns() - began;
    report_row(r, "16,000 out, one cancelled", (double[]){took / POKES / 1e3, took / POKES / OUT});
    close_world();
}

int main(int argc, char **argv)
{
    static const struct report_column of_task[] = {{"processor ns a task", 1},
                                                   {"to one worker", 2}};
    static const struct report_column of_look[] = {{"us", 1}, {"ns a task", 2}};
    struct report r;
    report_begin(&r, "workers", argc, argv);
    report_table(&r, "A task at workers without sockets", "workers", of_task, 2);
    measure_workers(&r);
    report_table(&r, "A look for tasks that nobody wants", "tasks", of_look, 2);
    measure_look(&r);
    report_end(&r);
    return 0;
}
