/* What a step costs: objects that are always active, against a bare walk of the same list that
 * calls the same function; and a step within a step, of an object that is done each time. */
#include <ergon/poller.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

enum { STEPS = 4000000 };

struct thing {
    struct ao ao;
    uint64_t steps;
};

struct crowd {
    struct activator *loop;
    struct thing *things;
    struct ao *first; /* of the list */
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
        struct ao *ao = c->first;
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

/* Places that follow each other in the list lie anywhere in memory. */
static void activate_shuffled(struct crowd *c)
{
    uint32_t *order = calloc(c->count, sizeof *order);
    if (!order)
        exit(1);
    bench_shuffle(order, (uint32_t)c->count, c->loop);
    for (uint64_t i = 0; i < c->count; i++)
        ao_activate(&c->things[order[i]].ao);
    c->first = &c->things[order[0]].ao;
    free(order);
}

static void activate_in_order(struct crowd *c)
{
    for (uint64_t i = 0; i < c->count; i++)
        ao_activate(&c->things[i].ao);
    c->first = &c->things[0].ao;
}

/* Rounds against the bare walk, over the very same objects. */
static struct bench_pair measure(uint64_t count, bool shuffled, ao_time limit)
{
    struct poller *poller = poller_eventfd_new();
    struct crowd c = {.count = count, .things = bench_objects(count, sizeof *c.things)};
    c.loop = activator_open(
        &(struct activator_options){.poller = poller, .core = -1, .step_limit = limit});
    if (!c.loop)
        exit(1);
    for (uint64_t i = 0; i < count; i++)
        ao_init(&c.things[i].ao, &thing_class, c.loop);
    if (shuffled)
        activate_shuffled(&c);
    else
        activate_in_order(&c);
    uint64_t steps = (STEPS + count - 1) / count * count;
    struct bench_pair ns = bench_in_turns(run_rounds, run_bare, &c, steps);
    activator_close(c.loop);
    poller_eventfd_free(poller);
    free(c.things);
    return ns;
}

static void show(struct report *r, const char *what, uint64_t count, bool shuffled)
{
    struct bench_pair limited = measure(count, shuffled, AO_MS(50));
    struct bench_pair p = measure(count, shuffled, 0);
    report_row(r, what, (double[]){p.other, p.ours, p.ratio, limited.ours, limited.ratio});
}

/* --- Within a step --- */

struct executor {
    struct ao ao;
    struct ao task;
};

static enum ao_verdict task_step(struct ao *self)
{
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

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {{"bare list ns", 2},
                                                   {"step ns", 2},
                                                   {"ratio", 2},
                                                   {"with limit 50 ms, ns", 2},
                                                   {"its ratio", 2}};
    static const struct report_column inner[] = {{"ns", 2}};
    struct report r;
    report_begin(&r, "runtime_steps", argc, argv);
    report_table(&r, "A step of an object that is always active", "objects", columns, 5);
    show(&r, "1", 1, false);
    show(&r, "10", 10, false);
    show(&r, "1 k", 1000, false);
    show(&r, "1 M", 1000000, false);
    show(&r, "10 M", 10000000, false);
    show(&r, "1 M, shuffled in memory", 1000000, true);
    report_table(&r, "A step within a step", "object", inner, 1);
    report_row(&r, "done each time", (double[]){measure_inner()});
    report_end(&r);
    return 0;
}
