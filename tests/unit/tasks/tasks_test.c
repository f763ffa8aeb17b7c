/* The whole: plans that are refused, tasks from outside, counters, threads that start and stop. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/tasks_world.h"

static void refused(const char *because)
{
    char error[256] = "";
    test_handlers_add(w.registry, true);
    w.plan.registry = w.registry;
    w.plan.manager = w.manager;
    assert_null(tasks_new(&w.plan, error, sizeof error));
    if (!strstr(error, because))
        fail_msg("\"%s\" does not say \"%s\"", error, because);
    registry_free(w.registry);
    virtual_fini(&w.v);
}

TEST(plans_that_are_refused)
{
    tasks_world_init(1, 1);
    w.executors[0].loop = 1;
    refused("there is no loop 1");
    tasks_world_init(1, 1);
    w.executors[1].queue = 0;
    refused("at least one task");
    tasks_world_init(1, 1);
    w.plan.queue_max = 0;
    refused("room for a task");
}

/* Ends of nested calls, which report what they were refused with. */
static void expect_refused(const char *outer, const char *method)
{
    uint8_t buf[64];
    unsigned number = w.begun + 1;
    tasks_world_call(0, outer, params_call(buf, method, params_none()), AO_NEVER);
    tasks_world_run();
    assert_int_equal(w.told[number], 1);
    assert_int_equal(w.errors[number], ERGON_E_FAILED);
    assert_non_null(strstr(w.v.text, "NO_EXECUTOR"));
    trace_forget(&w.v);
}

static void ended_outside(void *arg, const struct outcome *outcome)
{
    fail_msg("a task that was refused has ended");
}

/* The world, with methods of both kinds and executors of one. */
static void open_half(enum ergon_kind kind)
{
    bool stepped = kind == ERGON_STEPPED;
    tasks_world_init(1, stepped ? 0 : 1);
    if (!stepped)
        w.executors[0].kind = ERGON_BLOCKING;
    tasks_world_open_with_all();
    assert_int_equal(registry_find(w.registry, span_text("echo"))->no_executor, !stepped);
    assert_int_equal(registry_find(w.registry, span_text("block"))->no_executor, stepped);
}

/* All else goes on. */
TASKS_TEST(what_no_executor_runs_is_refused_at_once)
{
    open_half(ERGON_STEPPED);
    assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_E_NO_EXECUTOR);
    assert_int_equal(
        tasks_add(w.tasks, span_text("block"), params_none(), AO_NEVER, ended_outside, NULL),
        ERGON_E_NO_EXECUTOR);
    expect_refused("outer", "block");
    assert_int_equal(tasks_world_call(0, "echo", params_none(), AO_NEVER), ERGON_OK);
    assert_int_equal(tasks_world_call(0, "managed", params_none(), AO_NEVER), ERGON_OK);
    tasks_world_run();
    assert_int_equal(manager_queued(&w.tasks->shared.inbox), 0);
}

TEST(without_a_stepped_executor_the_blocking_ones_run)
{
    open_half(ERGON_BLOCKING);
    assert_int_equal(tasks_world_call(0, "echo", params_none(), AO_NEVER), ERGON_E_NO_EXECUTOR);
    assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    virtual_run(&w.v);
    for (int i = 0; i < 2; i++)
        blocking_round(blocking_of(w.tasks->executors[i]));
    virtual_run(&w.v);
    assert_int_equal(w.errors[1], ERGON_OK);
    assert_int_equal(w.ended, 1);
    tasks_world_fini();
}

/* The length that was configured is the bound, whatever is measured. */
TEST(a_fixed_bound_stays)
{
    struct executor_info info;
    tasks_world_init(1, 1);
    w.executors[1].fixed = true;
    w.executors[1].queue = 7;
    tasks_world_open();
    tasks_executor_info(w.tasks, 1, &info);
    assert_int_equal(info.bound, 7);
    counter_set(&w.tasks->executors[1]->service_ns, AO_S(1));
    tasks_executor_info(w.tasks, 1, &info);
    assert_int_equal(info.bound, 7);
    for (int i = 0; i < 9; i++)
        tasks_world_call(0, "block", params_none(), AO_NEVER);
    virtual_run_until(&w.v, w.v.now);
    assert_int_equal(executor_outstanding(w.tasks->executors[1]), 7);
    w.tasks->executors[1]->plan.fixed = false;
    tasks_executor_info(w.tasks, 1, &info);
    assert_int_equal(info.bound, 1);
    tasks_world_run();
    assert_int_equal(w.ended, 9);
    tasks_world_fini();
}

static int make_and_free(void *arg)
{
    char error[256];
    struct tasks *t = tasks_new(&w.plan, error, sizeof error);
    if (!t)
        return -1;
    tasks_free(t);
    return 0;
}

TASKS_TEST(memory_fails)
{
    tasks_world_init(2, 2);
    tasks_world_own_manager();
    tasks_world_open();
    w.plan.policy = PLACEMENT_WEIGHT; /* the choice needs memory of its own */
    heap_fail_each(make_and_free, NULL);
    w.plan.policy = PLACEMENT_PRIORITY; /* and that of the loops */
    heap_fail_each(make_and_free, NULL);
}

struct added {
    unsigned told;
    enum ergon_error error;
    size_t len;
};

static void on_added(void *arg, const struct outcome *outcome)
{
    struct added *s = arg;
    s->told++;
    s->error = outcome->error;
    s->len = outcome->result.len;
}

static enum ergon_error add(struct added *s, const char *method, ao_time deadline)
{
    return tasks_add(w.tasks, span_text(method), params_none(), deadline, on_added, s);
}

TASKS_TEST(added_tasks_end_once)
{
    struct added s[5] = {0};
    tasks_world_init(1, 1);
    tasks_world_open();
    assert_int_equal(add(&s[0], "echo", AO_NEVER), ERGON_OK);
    assert_int_equal(add(&s[1], "block", AO_NEVER), ERGON_OK);
    assert_int_equal(add(&s[2], "fail", AO_NEVER), ERGON_OK);
    assert_int_equal(add(&s[3], "hang", AO_MS(20)), ERGON_OK);
    assert_int_equal(add(&s[4], "nowhere", AO_NEVER), ERGON_E_NO_METHOD);
    assert_int_equal(s[0].told, 0);
    tasks_world_run();
    for (int i = 0; i < 4; i++)
        assert_int_equal(s[i].told, 1);
    assert_int_equal(s[0].error, ERGON_OK);
    assert_int_equal(s[0].len, 1);
    assert_int_equal(s[1].error, ERGON_OK);
    assert_int_equal(s[2].error, ERGON_E_FAILED);
    assert_int_equal(s[3].error, ERGON_E_DEADLINE);
    assert_int_equal(s[4].told, 0);
}

TASKS_TEST(added_tasks_are_refused)
{
    struct added s[2] = {0};
    tasks_world_init(1, 1);
    w.plan.queue_max = 1;
    tasks_world_open();
    heap_fail_at(1);
    assert_int_equal(add(&s[0], "echo", AO_NEVER), ERGON_E_MEMORY);
    assert_int_equal(add(&s[0], "echo", AO_NEVER), ERGON_OK);
    assert_int_equal(add(&s[1], "echo", AO_NEVER), ERGON_E_BUSY);
    tasks_world_run();
    assert_int_equal(s[0].told, 1);
    assert_int_equal(s[1].told, 0);
}

/* Each allocation on the way of an added task fails: it is refused, or told once. */
TEST(memory_fails_for_added_tasks)
{
    bool met = true;
    for (int64_t n = 1; met; n++) {
        struct added s = {0};
        tasks_world_init(1, 1);
        w.quiet = true;
        w.plan.queue_max = 1;
        tasks_world_open();
        add(&s, "hang", AO_MS(10)); /* its times are noted without memory, too, but not here */
        tasks_world_run();
        s = (struct added){0};
        heap_fail_at(n);
        enum ergon_error refused = add(&s, "hang", AO_MS(20));
        tasks_world_run();
        met = heap_failed();
        heap_fail_at(0);
        assert_int_equal(s.told, refused == ERGON_OK);
        assert_int_equal(refused == ERGON_OK ? s.error : refused,
                         met ? ERGON_E_MEMORY : ERGON_E_DEADLINE);
        tasks_expect_at_rest(w.tasks);
        assert_int_equal(add(&s, "echo", AO_NEVER), ERGON_OK); /* there is room */
        tasks_world_run();
        tasks_world_fini();
    }
}

TASKS_TEST(figures_add_up)
{
    struct tasks_info info;
    struct executor_info e;
    tasks_world_init(1, 1);
    w.quiet = true;
    tasks_world_open();
    static const char *const methods[] = {"echo", "echo", "fail", "managed", "block"};
    for (int i = 0; i < 5; i++)
        tasks_world_call(0, methods[i], params_none(), AO_NEVER);
    tasks_world_call(0, "hang", params_none(), AO_MS(1));
    tasks_world_call(0, "hang", params_none(), AO_NEVER);
    tasks_world_run();
    home_cancel(tasks_home(w.tasks, 0), w.list);
    tasks_world_run();
    tasks_info(w.tasks, &info);
    assert_int_equal(info.calls, 7);
    assert_int_equal(info.calls, info.short_cut + info.through_manager);
    assert_int_equal(info.done, 4);
    assert_int_equal(info.failed, 1);
    assert_int_equal(info.late, 1);
    assert_int_equal(info.cancelled, 1);
    assert_int_equal(info.queued, 0);
    assert_true(info.manager_on_loop && info.short_cut_on);
    tasks_executor_info(w.tasks, 0, &e);
    assert_string_equal(e.name, "stepped 0");
    assert_int_equal(e.done + e.failed, 6);
    assert_int_equal(e.outstanding, 0);
    tasks_executor_info(w.tasks, 1, &e);
    assert_string_equal(e.name, "blocking 1");
    assert_int_equal(e.done, 1);
    assert_null(e.running);
    assert_int_equal(e.loop, -1);
}

static void drain_is_told_once(void *arg)
{
    ++*(int *)arg;
}

TASKS_TEST(threads_start_and_stop)
{
    int drained = 0;
    tasks_world_init(1, 3);
    tasks_world_open();
    assert_int_equal(tasks_start(w.tasks), 0);
    tasks_drain_jobs(w.tasks, drain_is_told_once, &drained);
    virtual_run(&w.v);
    virtual_run(&w.v);
    assert_int_equal(drained, 1);
    assert_int_equal(tasks_stop(w.tasks, AO_S(30)), 0);
}
