/* Executors: what they measure, and what is said of handlers that take too long. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>

#include "base/log.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static char logged[2000];

static void keep_log(void *arg, enum log_level level, const char *event,
                     const struct log_field *fields)
{
    size_t at = strlen(logged);
    log_format_logfmt(logged + at, (int)(sizeof logged - at), 0, level, event, fields);
}

static void open_world(uint32_t blocking)
{
    static const struct log_sink sink = {.threshold = LOG_DEBUG, .write = keep_log};
    tasks_world_init(1, blocking);
    w.quiet = true;
    log_set_sink(&sink);
    logged[0] = '\0';
}

/* Takes 60 ms of the virtual clock. */
static enum ao_verdict slow_step(struct ao *self, struct ergon_task *task, void *state)
{
    w.v.now += AO_MS(60);
    return AO_DONE;
}

static const struct ergon_handler slow = {
    .size = sizeof slow, .kind = ERGON_STEPPED, .name = "slow", .step = slow_step};

static void call(struct method *m)
{
    const struct call_request request = {
        .list = &w.list, .owner = &w, .params = params_none(), .deadline = AO_NEVER};
    tasks_world_adopt(m);
    assert_int_equal(home_call(tasks_home(w.tasks, 0), m, &request), ERGON_OK);
}

static struct executor_info of_executor(uint32_t index)
{
    struct executor_info info;
    tasks_executor_info(w.tasks, index, &info);
    return info;
}

TEST(a_long_step_is_counted_and_named)
{
    struct method m = {.name = span_text("slow"), .handler = &slow, .module = "test"};
    stepped_make_class(&m);
    open_world(0);
    w.plan.step_limit = AO_MS(50);
    tasks_world_open();
    call(&m);
    assert_int_equal(counter_read(&w.tasks->executors[0]->long_steps), 1);
    assert_non_null(strstr(logged, "slow"));
    assert_non_null(strstr(logged, "60"));
    tasks_world_fini();
}

TEST(the_mean_time_of_service_is_learnt)
{
    struct executor_info info;
    struct method m = {.name = span_text("slow"), .handler = &slow, .module = "test"};
    stepped_make_class(&m);
    open_world(0);
    tasks_world_open();
    for (int i = 0; i < 20; i++)
        call(&m);
    assert_int_equal(atomic_load(&m.service_ns), AO_MS(60));
    tasks_executor_info(w.tasks, 0, &info);
    assert_int_equal(info.busy_ns, 20 * AO_MS(60));
    tasks_world_fini();
}

/* Its tasks were brief so far, so it may have many; then one goes on and on. */
TEST(nobody_is_sent_behind_a_task_that_goes_on)
{
    struct snapshot snapshot;
    struct method m = {.name = span_text("slow"), .handler = &slow, .module = "test"};
    stepped_make_class(&m);
    open_world(1);
    tasks_world_open();
    struct executor *e = w.tasks->executors[1];
    counter_set(&e->service_ns, 1000);
    counter_set(&e->hand_over_ns, 10000);
    executor_snapshot(e, &snapshot);
    assert_int_equal(snapshot.bound, 20);
    atomic_store(&e->running, &m);
    w.v.now = AO_S(1);
    executor_snapshot(e, &snapshot);
    assert_int_equal(snapshot.bound, 1);
    atomic_store(&e->running, NULL);
    tasks_world_fini();
}

static bool may_end;

/* Takes 200 us of the virtual clock a step, for as long as the test wants. */
static enum ao_verdict on_and_on_step(struct ao *self, struct ergon_task *task, void *state)
{
    w.v.now += AO_US(200);
    return may_end ? AO_DONE : AO_AGAIN;
}

static const struct ergon_handler on_and_on = {
    .size = sizeof on_and_on, .kind = ERGON_STEPPED, .name = "on_and_on", .step = on_and_on_step};

static void rounds(int n)
{
    for (; n > 0; n--)
        for (uint32_t i = 0; i < w.plan.loop_count; i++)
            virtual_round(&w.v, w.loops[i]);
}

static void two_loops(void)
{
    open_world(0);
    tasks_world_fini();
    tasks_world_init(2, 0);
    w.quiet = true;
    w.plan.short_cut = false;
    may_end = false;
    tasks_world_open();
    for (int i = 0; i < 2; i++) {
        counter_set(&w.tasks->executors[i]->service_ns, 1000);
        counter_set(&w.tasks->executors[i]->hand_over_ns, 10000);
    }
}

/* Both executors have a task that goes on: the others run all the same, nested calls included. */
TEST(beside_long_tasks_everywhere_the_others_run)
{
    uint8_t buf[64];
    struct method m = {.name = span_text("on_and_on"), .handler = &on_and_on, .module = "test"};
    stepped_make_class(&m);
    two_loops();
    for (int i = 0; i < 4; i++)
        call(&m);
    for (int i = 0; i < 6; i++)
        tasks_world_call(0, "echo", params_none(), AO_NEVER);
    rounds(20);
    assert_int_equal(w.ended, 6);
    struct span params = params_call(buf, "echo", params_none());
    for (int i = 0; i < 6; i++)
        tasks_world_call(0, "outer", params, AO_NEVER);
    rounds(20);
    assert_int_equal(w.ended, 12);
    may_end = true;
    tasks_world_run();
    assert_int_equal(w.ended, 16);
    for (int i = 0; i < 2; i++)
        assert_int_equal(executor_outstanding(w.tasks->executors[i]), 0);
    tasks_world_fini();
}

static int acts;

static enum ao_verdict lets_go_step(struct ao *self, struct ergon_task *task, void *state)
{
    if (acts++ > 0)
        ao_deactivate(self);
    return AO_AGAIN;
}

/* A handler that takes its object away from the activator has ended its task. */
TEST(a_task_without_its_object_has_failed)
{
    static const struct ergon_handler lets_go = {
        .size = sizeof lets_go, .kind = ERGON_STEPPED, .name = "lets_go", .step = lets_go_step};
    struct method m = {.name = span_text("lets_go"), .handler = &lets_go, .module = "test"};
    stepped_make_class(&m);
    open_world(0);
    tasks_world_open();
    acts = 0;
    call(&m);
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    tasks_world_run();
    assert_int_equal(w.ended, 2);
    assert_int_equal(of_executor(0).failed, 1);
    tasks_world_fini();
}

/* What its executor had before stays there; what comes waits, or goes elsewhere. */
TEST(a_loop_that_is_away_is_given_nothing)
{
    tasks_world_init(2, 0);
    tasks_world_own_manager();
    w.quiet = true;
    tasks_world_open();
    tasks_set_away(w.tasks, 1, true);
    for (int i = 0; i < 4; i++)
        tasks_world_call(1, "managed", params_none(), AO_NEVER);
    tasks_world_run();
    assert_int_equal(w.ended, 4);
    assert_int_equal(of_executor(0).done, 4);
    tasks_set_away(w.tasks, 0, true);
    tasks_world_call(1, "managed", params_none(), AO_NEVER);
    tasks_world_run();
    assert_int_equal(w.ended, 4);
    tasks_set_away(w.tasks, 1, false); /* it begins by itself */
    tasks_world_run();
    assert_int_equal(w.ended, 5);
    assert_int_equal(of_executor(1).done, 1);
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
}

static sem_t may_return;

static void stuck_run(struct ergon_task *task)
{
    while (sem_wait(&may_return) != 0)
        continue;
}

static const struct ergon_handler stuck = {
    .size = sizeof stuck, .kind = ERGON_BLOCKING, .name = "stuck", .run = stuck_run};

/* It runs on a real thread: the loop is stepped until the executor has it. */
TEST(who_does_not_return_is_named)
{
    struct method m = {.name = span_text("stuck"), .handler = &stuck, .module = "test"};
    stepped_make_class(&m);
    struct executor_info info;
    open_world(2);
    sem_init(&may_return, 0, 0);
    tasks_world_open();
    w.tasks->shared.clock = &ao_clock_monotonic;
    assert_int_equal(tasks_start(w.tasks), 0);
    call(&m);
    virtual_run(&w.v);
    do
        tasks_executor_info(w.tasks, 1, &info);
    while (!info.running);
    assert_string_equal(info.running, "stuck");
    /* The other thread comes back, however slow the machine is. */
    assert_int_equal(tasks_stop(w.tasks, AO_MS(10)), 1);
    assert_non_null(strstr(logged, "blocking handler did not return"));
    assert_non_null(strstr(logged, "stuck"));
    sem_post(&may_return);
    assert_int_equal(tasks_stop(w.tasks, AO_S(30)), 0);
    tasks_world_fini();
    sem_destroy(&may_return);
}

static struct executor_class late;
static bool (*true_join)(struct executor *e, ao_time limit);
static int joins;

static bool join_late(struct executor *e, ao_time limit)
{
    return ++joins > 3 && true_join(e, limit);
}

/* As when its thread has no processor. */
TEST(who_runs_nothing_is_waited_for)
{
    open_world(1);
    tasks_world_open();
    w.tasks->shared.clock = &ao_clock_monotonic;
    struct executor *e = w.tasks->executors[1];
    late = *e->cls;
    true_join = late.join;
    late.join = join_late;
    e->cls = &late;
    joins = 0;
    assert_int_equal(tasks_start(w.tasks), 0);
    assert_int_equal(tasks_stop(w.tasks, 0), 0);
    assert_true(joins > 3);
    assert_null(strstr(logged, "did not return"));
    tasks_world_fini();
}

static sem_t resumed;

static void asks_run(struct ergon_task *task)
{
    const struct ergon_host *host = host_table();
    struct ergon_outcome out;
    host->call(task, "echo", (struct ergon_bytes){.at = (const uint8_t *)"\x90", .len = 1}, &out);
    assert_true(out.ok);
    sem_post(&resumed);
    stuck_run(task);
}

static const struct ergon_handler asks = {
    .size = sizeof asks, .kind = ERGON_BLOCKING, .name = "asks", .run = asks_run};

/* Tasks that found no room while a handler waited for its nested call wait while it goes on, too,
 * however many its executor may have; its end is told, and they begin by themselves. */
TEST(room_that_comes_with_a_nested_call_is_not_lost)
{
    enum { BEHIND = 3 };
    struct method m = {.name = span_text("asks"), .handler = &asks, .module = "test"};
    stepped_make_class(&m);
    open_world(1);
    w.executors[1].fixed = true;
    w.executors[1].queue = BEHIND + 1;
    sem_init(&may_return, 0, 0);
    sem_init(&resumed, 0, 0);
    tasks_world_open();
    w.tasks->shared.clock = &ao_clock_monotonic;
    assert_int_equal(tasks_start(w.tasks), 0);
    call(&m);
    while (atomic_load(&w.tasks->executors[1]->given) == 0)
        virtual_round(&w.v, w.loops[0]);
    while (atomic_load(&w.tasks->shared.waiting) == 0)
        continue; /* without a round: its nested call would be run in it, and the wait be over */
    for (int i = 0; i < BEHIND; i++)
        tasks_world_call(0, "block", params_none(), AO_NEVER);
    while (sem_trywait(&resumed) != 0)
        virtual_round(&w.v, w.loops[0]);
    virtual_run(&w.v); /* all is asleep, but for the handler */
    assert_int_equal(w.ended, 0);
    sem_post(&may_return);
    while (w.ended < BEHIND + 1)
        virtual_run(&w.v);
    assert_int_equal(tasks_stop(w.tasks, AO_S(30)), 0);
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
    sem_destroy(&may_return);
    sem_destroy(&resumed);
}

/* The results of brief tasks are on their way before a long one begins, however slow their home is.
 */
TEST(results_do_not_wait_for_the_next_task)
{
    enum { BRIEF = 300 }; /* more than a lane holds */
    struct method m = {.name = span_text("stuck"), .handler = &stuck, .module = "test"};
    struct executor_info info;
    open_world(1);
    tasks_world_own_manager();
    sem_init(&may_return, 0, 0);
    tasks_world_open();
    w.tasks->shared.clock = &ao_clock_monotonic;
    assert_int_equal(tasks_start(w.tasks), 0);
    for (int i = 0; i < BRIEF; i++)
        tasks_world_call(0, "block", params_none(), AO_NEVER);
    call(&m);
    virtual_round(&w.v, w.loops[0]);
    for (int i = 0; i < 20000; i++) { /* it could begin the long one, and must not */
        virtual_round(&w.v, w.manager);
        tasks_executor_info(w.tasks, 1, &info);
        sched_yield();
    }
    do {
        virtual_round(&w.v, w.manager);
        virtual_round(&w.v, w.loops[0]);
        tasks_executor_info(w.tasks, 1, &info);
    } while (!info.running || strcmp(info.running, "stuck") != 0);
    for (int i = 0; i < 3; i++)
        virtual_round(&w.v, w.loops[0]);
    assert_int_equal(w.ended, BRIEF);
    sem_post(&may_return);
    assert_int_equal(tasks_stop(w.tasks, AO_S(30)), 0);
    tasks_world_fini();
    sem_destroy(&may_return);
}
