/* Idle modes: what it costs, and what it saves, that the threads of a task's way sleep, spin first,
 * or never sleep.
 *
 * Two loops.  A caller on the first sends its tasks through the manager, which lives there too, to
 * the stepped executor of the second: two hand-overs a task.  The handler is trivial, or burns 20
 * or 200 us; one task is in flight, or 64 are.  Every row ends after a second. */
#include <ergon/handler.h>
#include <ergon/poller.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/tasks/tasks.h"
#include "tests/bench/support/report.h"

enum { LOOPS = 2, IN_FLIGHT_MAX = 64, LOOK_AT_CLOCK = 16 };

static const ao_time long_enough = AO_S(1), spin = AO_US(50);

static ao_time now(void)
{
    return ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static enum ao_verdict burn_step(struct ao *self, struct ergon_task *task, void *state)
{
    const ao_time *work = ergon_arg(task);
    for (ao_time until = *work ? now() + *work : 0; until && now() < until;)
        continue;
    ergon_result_nil(task);
    return AO_DONE;
}

static ao_time works[] = {0, AO_US(20), AO_US(200)};

ERGON_MODULE(idle_module, "idle", "1.0")
{
    static const struct ergon_handler handlers[] = {
        {.size = sizeof *handlers,
         .kind = ERGON_STEPPED,
         .name = "trivial",
         .step = burn_step,
         .arg = &works[0]},
        {.size = sizeof *handlers,
         .kind = ERGON_STEPPED,
         .name = "20_us",
         .step = burn_step,
         .arg = &works[1]},
        {.size = sizeof *handlers,
         .kind = ERGON_STEPPED,
         .name = "200_us",
         .step = burn_step,
         .arg = &works[2]},
    };
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}

struct caller {
    struct ao ao;
    struct home *home;
    struct method *method;
    struct call *list;
    uint32_t in_flight, depth;
    uint64_t done;
    ao_time until;
    bool over;
};

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct caller *c = arg;
    c->in_flight--;
    if (++c->done % LOOK_AT_CLOCK == 0)
        c->over = now() > c->until;
    if (c->over && c->in_flight == 0)
        activator_stop(c->ao.home);
    else
        ao_activate(&c->ao);
}

static enum ao_verdict call_some(struct ao *self)
{
    static const uint8_t none[] = {0x90}, id[] = {1};
    struct caller *c = ao_of(self, struct caller, ao);
    const struct call_request request = {.list = &c->list,
                                         .msgid = {.at = id, .len = sizeof id},
                                         .params = {.at = none, .len = sizeof none},
                                         .deadline = AO_NEVER};
    for (; !c->over && c->in_flight < c->depth; c->in_flight++)
        if (home_call(c->home, c->method, &request) != ERGON_OK)
            abort();
    return AO_DONE;
}

static const struct ao_class caller_class = {.name = "caller", .step = call_some};

static void *run(void *activator)
{
    activator_run(activator);
    return NULL;
}

static double processor_ns(void)
{
    return (double)clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

static void show(struct report *r, const char *what, struct caller *c, struct activator *loops[])
{
    struct activator_stats s[LOOPS];
    double processor = processor_ns();
    ao_time began = now();
    c->until = began + long_enough;
    activator_run(loops[0]);
    double took = (double)(now() - began), n = (double)c->done;
    processor = processor_ns() - processor;
    for (int i = 0; i < LOOPS; i++)
        activator_stats(loops[i], &s[i]);
    report_row(r, what,
               (double[]){took / n / 1e3 * c->depth, n / took * 1e6, processor / n / 1e3,
                          processor / took, (double)(s[0].blocks + s[1].blocks) / n,
                          (double)(s[0].wakes_sent + s[1].wakes_sent) / n});
}

/* Only the second loop has an executor, so every task goes there and comes back. */
static const struct executor_plan executor = {
    .kind = ERGON_STEPPED, .queue = 64, .parked = 64, .loop = 1, .core = -1, .weight = 1};

static void measure(struct report *r, const char *what, struct registry *registry,
                    struct method *method, enum idle_mode idle, uint32_t depth)
{
    struct poller *pollers[LOOPS];
    struct activator *loops[LOOPS];
    struct caller c = {.method = method, .depth = depth};
    pthread_t thread;
    char error[200];
    for (int i = 0; i < LOOPS; i++) {
        pollers[i] = poller_eventfd_new();
        const struct activator_options options = {
            .poller = pollers[i], .core = -1, .idle = idle, .spin = spin};
        loops[i] = pollers[i] ? activator_open(&options) : NULL;
        if (!loops[i])
            abort();
    }
    const struct tasks_plan plan = {.registry = registry,
                                    .loops = loops,
                                    .loop_count = LOOPS,
                                    .manager = loops[0],
                                    .executors = &executor,
                                    .executor_count = 1,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .queue_max = IN_FLIGHT_MAX,
                                    .message_max = 1 << 20,
                                    .ended = on_ended};
    struct tasks *t = tasks_new(&plan, error, sizeof error);
    if (!t || tasks_start(t) != 0 || pthread_create(&thread, NULL, run, loops[1]) != 0)
        abort();
    tasks_set_owner(t, 0, &c);
    c.home = tasks_home(t, 0);
    ao_init(&c.ao, &caller_class, loops[0]);
    ao_activate(&c.ao);
    show(r, what, &c, loops);
    activator_stop(loops[1]);
    pthread_join(thread, NULL);
    tasks_stop(t, AO_S(1));
    tasks_free(t);
    ao_deactivate(&c.ao);
    ao_fini(&c.ao);
    for (int i = 0; i < LOOPS; i++) {
        activator_close(loops[i]);
        poller_eventfd_free(pollers[i]);
    }
}

static void measure_method(struct report *r, struct registry *registry, struct method *method)
{
    static const char *const modes[] = {"sleep", "spin 50 us first", "never sleep"};
    static const uint32_t depths[] = {1, IN_FLIGHT_MAX};
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
        for (int mode = IDLE_SLEEP; mode <= IDLE_NEVER; mode++) {
            char what[64];
            snprintf(what, sizeof what, "%.*s, %u in flight, %s", (int)method->name.len,
                     (const char *)method->name.at, depths[d], modes[mode]);
            measure(r, what, registry, method, (enum idle_mode)mode, depths[d]);
        }
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {
        {"round trip us", 1}, {"k tasks/s", 1},     {"processor us a task", 2},
        {"processors", 2},    {"blocks a task", 3}, {"eventfd writes a task", 3}};
    char error[200];
    struct registry *registry = registry_new();
    struct report r;
    if (!registry || module_add(registry, ergon_module(), error, sizeof error) != 0)
        return 1;
    report_begin(&r, "idle", argc, argv);
    report_table(&r, "Two hand-overs a task, between two loops", "handler, depth, idle mode",
                 columns, 6);
    for (uint32_t i = 0; i < registry_count(registry); i++)
        measure_method(&r, registry, registry_at(registry, i));
    report_end(&r);
    registry_free(registry);
    return 0;
}
