#include "tests/bench/sched/real.h"

#include <ergon/handler.h>
#include <ergon/poller.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "proto/encoder.h"
#include "server/tasks/tasks_parts.h"

enum {
    PROBES = 64,            /* tasks that measure the hand-over, one at a time, before the load */
    PROBE_GAP_NS = 2000000, /* so that every thread sleeps in between */
    SPIN_NS = 60000,        /* before a task is due the generator stays awake */
    TIMER_SLACK_NS = 1,     /* threads inherit it: sleeps of handlers end when they should */
    STOP_LIMIT_S = 5,
    PARAMS_MAX = 16
};

/* One task; ns of the clock.  Written by generator, executor and manager in this order. */
struct slot {
    ao_time due, sent, began, done, ended;
    uint32_t bound; /* in force when it was sent */
};

struct run {
    const struct real_options *options;
    const struct load *load; /* NULL: probes, which take no time */
    struct slot *slots;
    struct poller *poller;
    struct activator *loop;
    struct executor_plan plans[64];
    struct tasks *tasks;
    pthread_t thread;
    /* Tasks that have ended: release by the manager, acquire by the generator, so that the slots
     * are whole. */
    _Atomic uint32_t ended;
};

static struct run *current; /* of the handler; set while no thread runs */

static ao_time now(void)
{
    return ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static void sleep_until(ao_time t)
{
    const struct timespec at = {.tv_sec = (time_t)(t / AO_S(1)), .tv_nsec = (long)(t % AO_S(1))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        continue;
}

static void burn_until(ao_time t)
{
    while (now() < t)
        continue;
}

static void serve(struct ergon_task *task)
{
    struct ergon_reader r;
    uint64_t index = 0;
    ergon_params_open(task, &r);
    ergon_read_uint(&r, &index);
    struct slot *s = &current->slots[index];
    s->began = now();
    if (current->load) {
        double service = current->load->services[index] * (double)current->options->service;
        ao_time end = s->began + (ao_time)service;
        current->options->work == REAL_BURNS ? burn_until(end) : sleep_until(end);
    }
    s->done = now();
}

ERGON_MODULE(sched_module, "sched", "1.0")
{
    static const struct ergon_handler handler = {
        .size = sizeof handler, .kind = ERGON_BLOCKING, .name = "serve", .run = serve};
    return ergon_register(module, &handler);
}

static void on_ended(void *arg, const struct outcome *outcome)
{
    struct slot *s = arg;
    s->ended = now();
    atomic_fetch_add_explicit(&current->ended, 1, memory_order_release);
}

static uint32_t bound_in_force(const struct run *r)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->options->executors; i++)
        sum += counter_read(&r->tasks->executors[i]->bound);
    return (uint32_t)((sum + r->options->executors / 2) / r->options->executors);
}

static int submit(struct run *r, uint32_t index, ao_time due)
{
    uint8_t params[PARAMS_MAX];
    uint8_t *end = enc_uint(enc_array(params, 1), index);
    struct slot *s = &r->slots[index];
    *s = (struct slot){.due = due, .sent = now(), .bound = bound_in_force(r)};
    enum ergon_error error =
        tasks_add(r->tasks, span_text("serve"), span_of(params, (size_t)(end - params)), AO_NEVER,
                  on_ended, s);
    if (error != ERGON_OK)
        fprintf(stderr, "task %u was refused with error %d\n", index, (int)error);
    return error == ERGON_OK ? 0 : -1;
}

static void await_ends(struct run *r, uint32_t count)
{
    while (atomic_load_explicit(&r->ended, memory_order_acquire) < count)
        sleep_until(now() + AO_MS(1));
    atomic_store_explicit(&r->ended, 0, memory_order_relaxed);
}

/* One task at a time, everybody asleep before it. */
static int probe(struct run *r, const struct load *load, double *hand_over)
{
    double took[PROBES];
    r->load = NULL;
    for (uint32_t i = 0; i < PROBES; i++) {
        sleep_until(now() + PROBE_GAP_NS);
        if (submit(r, 0, now()) != 0)
            return -1;
        await_ends(r, 1);
        took[i] = (double)(r->slots[0].began - r->slots[0].sent);
    }
    r->load = load;
    *hand_over = quantile(took, PROBES, 0.5) / (double)r->options->service;
    return 0;
}

static int generate(struct run *r)
{
    ao_time start = now() + AO_MS(5);
    for (uint32_t i = 0; i < r->load->count; i++) {
        double arrival = r->load->arrivals[i] * (double)r->options->service;
        ao_time due = start + (ao_time)arrival;
        if (due > now() + SPIN_NS)
            sleep_until(due - SPIN_NS);
        burn_until(due);
        if (submit(r, i, due) != 0)
            return -1;
    }
    await_ends(r, r->load->count);
    return 0;
}

static void *run_loop(void *arg)
{
    activator_run(arg);
    return NULL;
}

static int start(struct run *r, struct registry *registry)
{
    char error[200] = "no memory";
    const struct real_options *o = r->options;
    for (uint32_t i = 0; i < o->executors; i++)
        r->plans[i] = (struct executor_plan){
            .kind = ERGON_BLOCKING, .queue = o->queue, .core = -1, .weight = 1};
    const struct activator_options options = {
        .name = "manager", .poller = r->poller, .core = -1, .idle = o->idle, .spin = o->spin};
    r->loop = activator_open(&options);
    const struct tasks_plan plan = {.registry = registry,
                                    .loops = &r->loop,
                                    .loop_count = 1,
                                    .manager = r->loop,
                                    .executors = r->plans,
                                    .executor_count = o->executors,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .queue_max = r->load->count + PROBES,
                                    .message_max = 1 << 20};
    r->tasks = r->loop ? tasks_new(&plan, error, sizeof error) : NULL;
    if (r->tasks && tasks_start(r->tasks) == 0 &&
        pthread_create(&r->thread, NULL, run_loop, r->loop) == 0)
        return 0;
    fprintf(stderr, "the task system does not start: %s\n", error);
    return -1;
}

static void stop(struct run *r)
{
    activator_stop(r->loop);
    pthread_join(r->thread, NULL);
    if (tasks_stop(r->tasks, AO_S(STOP_LIMIT_S)) == 0)
        tasks_free(r->tasks);
    activator_close(r->loop);
}

static void evaluate(const struct run *r, double *sojourns, uint32_t *bounds,
                     struct real_result *result)
{
    double unit = (double)r->options->service, sum = 0, wanted = 0, bound = 0;
    uint32_t count = r->load->count;
    for (uint32_t i = 0; i < count; i++)
        sojourns[i] = (double)(r->slots[i].sent - r->slots[i].due) / unit;
    result->lag = quantile(sojourns, count, 0.99);
    for (uint32_t i = 0; i < count; i++) {
        const struct slot *s = &r->slots[i];
        sojourns[i] = (double)(s->ended - s->due) / unit;
        sum += (double)(s->done - s->began) / unit;
        wanted += r->load->services[i];
        bounds[i] = s->bound;
        bound += s->bound;
    }
    result->stretch = sum / wanted;
    result->bound = bound / count;
}

int real_run(const struct real_options *options, const struct load *load, double *sojourns,
             uint32_t *bounds, struct real_result *result)
{
    char error[200];
    int failed = -1;
    struct run r = {.options = options, .load = load};
    struct registry *registry = registry_new();
    r.poller = poller_eventfd_new();
    r.slots = calloc(load->count, sizeof *r.slots);
    current = &r;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    if (!registry || !r.poller || !r.slots ||
        module_add(registry, ergon_module(), error, sizeof error) != 0 || start(&r, registry) != 0)
        goto out;
    failed = probe(&r, load, &result->hand_over) != 0 || generate(&r) != 0 ? -1 : 0;
    if (!failed)
        evaluate(&r, sojourns, bounds, result);
    stop(&r);
out:
    free(r.slots);
    poller_eventfd_free(r.poller);
    registry_free(registry);
    return failed;
}
