/* Workers, one of them slow, against the simulator: it gets what it can carry, and no task waits
 * while another is free.
 *
 * The real worker loops and the real manager, on the virtual clock, are given the very tasks that
 * the simulator is given.  A worker has one slot, and takes as long for a task as its service says.
 */
#include <math.h>
#include <stdlib.h>

#include "proto/reader.h"
#include "tests/bench/sched/sim.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/played_worker.h"
#include "tests/support/tasks_world.h"

enum { WORKERS = 8, COUNT = 40000, SLOW = 10 };

static const ao_time mean =
    AO_S(1); /* service at a fast one: a tick of the timer is little beside it */

static struct worker {
    struct played_worker played;
    struct ao timer; /* sleeps while it has a task */
    uint32_t task;   /* that it has */
    double slowness;
    uint32_t given;
} workers[WORKERS];

static struct load load;
static double sojourns[COUNT], simulated[COUNT];
static struct ao arrivals;
static uint32_t arrived;

static ao_time time_of(double units)
{
    return (ao_time)(units * (double)mean);
}

static enum ao_verdict end_task(struct ao *self)
{
    struct worker *k = ao_of(self, struct worker, timer);
    double now = (double)w.v.now / (double)mean;
    sojourns[k->task] = now - load.arrivals[k->task];
    played_answer(&k->played, 0);
    return AO_DONE;
}

static const struct ao_class timer_class = {.name = "service", .step = end_task};

/* Whoever was sent one begins it. */
static bool on_send(void *peer, struct worker_executor *r, struct task *t)
{
    struct worker *k = ao_of(peer, struct worker, played);
    struct reader params = reader_of(t->params);
    uint64_t number = 0;
    uint32_t count;
    assert_true(read_array(&params, &count) && read_uint(&params, &number));
    k->played.has[k->played.count++] = t;
    k->task = (uint32_t)number;
    k->given++;
    worker_executor_begun(r, t);
    ao_sleep_for(&k->timer, time_of(load.services[number] * k->slowness));
    return true;
}

static void on_unwanted(void *peer, struct task *t, enum task_flag why)
{
    fail_msg("nobody cancels here");
}

static void on_joined(void *peer, struct worker_executor *r, enum ergon_error error,
                      const char *text)
{
    assert_int_equal(error, ERGON_OK);
}

static void on_settled(void *peer, struct worker_executor *r, bool open)
{
}

static enum ao_verdict arrive(struct ao *self)
{
    uint8_t buf[16];
    while (arrived < COUNT && time_of(load.arrivals[arrived]) <= ao_now(self)) {
        enum ergon_error error = tasks_world_call(0, "thumb", params_int(buf, arrived++), AO_NEVER);
        assert_int_equal(error, ERGON_OK);
    }
    if (arrived == COUNT)
        return AO_DONE;
    ao_sleep_until(self, time_of(load.arrivals[arrived]));
    return AO_PARK;
}

static const struct ao_class arrivals_class = {.name = "arrivals", .step = arrive};

static void open_world(void)
{
    static const struct worker_port port = {on_send, on_unwanted, on_joined, on_settled};
    tasks_world_init(1, 0);
    w.quiet = true;
    w.plan.queue_max = COUNT;
    tasks_world_open();
    worker_loop_set_port(worker_loop_at(w.tasks, 0), &port);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.slowness = i == 0 ? SLOW : 1};
        played_join(&workers[i].played, 0, "thumb", 1);
        ao_init(&workers[i].timer, &timer_class, w.loops[0]);
    }
    tasks_world_run();
    ao_init(&arrivals, &arrivals_class, w.loops[0]);
    ao_activate(&arrivals);
    arrived = 0;
}

static double mean_of(const double *values)
{
    double sum = 0;
    for (unsigned i = 0; i < COUNT; i++)
        sum += values[i];
    return sum / COUNT;
}

/* So much of what all can carry comes.  Among those that are free the simulator takes the next in
 * turn, and the manager the one that has been so for longest. */
static void compare(double part)
{
    double capacity = WORKERS - 1 + 1.0 / SLOW, slowness[WORKERS] = {SLOW};
    uint32_t given[WORKERS];
    for (unsigned i = 1; i < WORKERS; i++)
        slowness[i] = 1;
    assert_int_equal(load_init(&load, LAW_EXPONENTIAL, part * capacity, COUNT, 7), 0);
    const struct sim sim = {
        .policy = POLICY_CENTRAL, .servers = WORKERS, .slowness = slowness, .given = given};
    assert_int_equal(simulate(&sim, &load, simulated), 0);
    open_world();
    tasks_world_run();
    double ours = mean_of(sojourns), theirs = mean_of(simulated);
    if (fabs(ours - theirs) > 0.05 * theirs)
        fail_msg("at %.2f a task takes %.3f, simulated %.3f", part, ours, theirs);
    assert_in_range(workers[0].given, given[0] * 85 / 100, given[0] * 115 / 100);
    for (unsigned i = 0; i < WORKERS; i++)
        ao_fini(&workers[i].timer);
    ao_fini(&arrivals);
    load_fini(&load);
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
}

TEST(a_slow_worker_gets_what_it_can_carry)
{
    compare(0.3);
    compare(0.7);
    compare(0.95);
}
