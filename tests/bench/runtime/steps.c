/* What a step costs: objects that are always active, against a bare walk of the same list that
 * calls the same function; and a step within a step, of an object that is done each time. */
#include <ergon/poller.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/runtime/bench.h"

enum { STEPS = 4000000 };

struct thing {
    struct ao ao;
    uint64_t steps;
};

struct crowd {
    struct activator *loop;
    struct thing *things;
    uint64_t count;
};

static enum ao_verdict step(struct ao *self)
{
    ao_of(self, struct thing, ao)->steps++;
    return AO_AGAIN;
}

static const struct ao_class thing_class = {.name = "thing", .step = step};

static void run_bare(void *arg)
{
    const struct crowd *c = arg;
    for (uint64_t n = 0; n < STEPS; n += c->count) {
        struct ao *ao = &c->things[0].ao;
        for (uint64_t i = 0; i < c->count; i++, ao = ao->next) {
            __builtin_prefetch(ao->next, 1);
            ao->cls->step(ao);
        }
    }
}

static void run_rounds(void *arg)
{
    const struct crowd *c = arg;
    for (uint64_t n = 0; n < STEPS; n += c->count)
        activator_round(c->loop, false);
}

static double measure(uint64_t count, ao_time limit, double *bare)
{
    struct poller *poller = poller_eventfd_new();
    struct crowd c = {.count = count, .things = calloc(count, sizeof *c.things)};
    c.loop = activator_open(
        &(struct activator_options){.poller = poller, .core = -1, .step_limit = limit});
    for (uint64_t i = 0; i < count; i++) {
        ao_init(&c.things[i].ao, &thing_class, c.loop);
        ao_activate(&c.things[i].ao);
    }
    uint64_t steps = (STEPS + count - 1) / count * count;
    *bare = bench_best(run_bare, &c, steps);
    double ns = bench_best(run_rounds, &c, steps);
    activator_close(c.loop);
    poller_eventfd_free(poller);
    free(c.things);
    return ns;
}

/* --- Within a step --- */

struct executor {
    struct ao ao;
    struct ao task;
};

static enum ao_verdict task_step(struct ao *self)
{
    (void)self;
    return AO_DONE;
}

static enum ao_verdict executor_step(struct ao *self)
{
    struct executor *e = ao_of(self, struct executor, ao);
    for (int i = 0; i < STEPS; i++)
        activator_step_now(self->home, &e->task);
    return AO_AGAIN;
}

static const struct ao_class task_class = {.name = "task", .step = task_step};
static const struct ao_class executor_class = {.name = "executor", .step = executor_step};

static void run_round(void *arg)
{
    activator_round(arg, false);
}

static double measure_inner(void)
{
    struct poller *poller = poller_eventfd_new();
    struct activator *loop =
        activator_open(&(struct activator_options){.poller = poller, .core = -1});
    struct executor e;
    ao_init(&e.ao, &executor_class, loop);
    ao_init(&e.task, &task_class, loop);
    ao_activate(&e.ao);
    double ns = bench_best(run_round, loop, STEPS);
    activator_close(loop);
    poller_eventfd_free(poller);
    return ns;
}

int main(void)
{
    const uint64_t counts[] = {1, 10, 1000, 1000000};
    printf("%-10s %12s %12s %16s\n", "objects", "bare list", "step", "with limit 50 ms");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double bare;
        double measured = measure(counts[i], AO_MS(50), &bare);
        double ns = measure(counts[i], 0, &bare);
        printf("%-10llu %9.2f ns %9.2f ns %13.2f ns\n", (unsigned long long)counts[i], bare, ns,
               measured);
    }
    printf("a step within a step: %.2f ns\n", measure_inner());
    return 0;
}
