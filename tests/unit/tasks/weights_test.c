/* By weight each executor gets its share of all tasks, whatever the load. */
#include "server/tasks/manager/weights.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

enum { EXECUTORS = 3 };
static const uint32_t weights[EXECUTORS] = {6, 2, 1};

static struct executor *blocking(uint32_t i)
{
    return w.tasks->executors[1 + i];
}

static uint64_t given(uint32_t i)
{
    return atomic_load(&blocking(i)->given);
}

static void open_world(void)
{
    tasks_world_init(1, EXECUTORS);
    w.quiet = true;
    w.plan.policy = PLACEMENT_WEIGHT;
    for (uint32_t i = 0; i < EXECUTORS; i++)
        w.executors[1 + i].weight = weights[i];
    tasks_world_open();
}

/* Each has its part of what was given since `before`, to within one task. */
static void expect_shares(const uint64_t *before)
{
    uint64_t parts[EXECUTORS], all = 0;
    for (uint32_t i = 0; i < EXECUTORS; i++)
        all += parts[i] = given(i) - before[i];
    for (uint32_t i = 0; i < EXECUTORS; i++) {
        int64_t off = (int64_t)(9 * parts[i]) - (int64_t)(all * weights[i]);
        assert_true(off >= -9 && off <= 9);
    }
}

static const uint64_t from_start[EXECUTORS];

static void call(unsigned n)
{
    for (; n > 0; n--)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
}

/* What there is to do now, without a wait for a later moment. */
static void settle(void)
{
    virtual_run_until(&w.v, w.v.now);
}

static void run_one(uint32_t i)
{
    blocking_round(blocking_of(blocking(i)));
    settle();
}

TASKS_TEST(one_at_a_time_each_gets_its_share)
{
    open_world();
    for (int n = 0; n < 900; n++) {
        call(1);
        tasks_world_run_ms(0);
        expect_shares(from_start);
    }
    assert_int_equal(given(0), 600);
    assert_int_equal(given(1), 200);
    assert_int_equal(given(2), 100);
}

/* Two in flight: what gave 150 : 149 : 1 of three hundred as a comparison of lengths. */
TASKS_TEST(two_at_a_time_each_gets_its_share)
{
    open_world();
    call(1);
    for (int n = 1; n < 900; n++) {
        call(1);
        settle();
        expect_shares(from_start);
        uint32_t longest = executor_outstanding(blocking(0))   ? 0
                           : executor_outstanding(blocking(1)) ? 1
                                                               : 2;
        run_one(longest);
    }
    tasks_world_run_ms(0);
    assert_int_equal(given(0), 600);
    assert_int_equal(given(1), 200);
    assert_int_equal(given(2), 100);
}

/* More than all can take, and all equally fast: the others wait for the one with the largest. */
TASKS_TEST(under_full_load_each_gets_its_share)
{
    open_world();
    call(900);
    while (w.ended < 900) {
        for (uint32_t i = 0; i < EXECUTORS; i++)
            run_one(i);
        expect_shares(from_start);
    }
    assert_int_equal(given(0), 600);
    assert_int_equal(given(1), 200);
    assert_int_equal(given(2), 100);
}

/* The one with the largest share never ends its task: the others go on after a while, and by their
 * weights; when it is back, it has no debt, and all is as before. */
TASKS_TEST(who_is_stuck_stops_nobody)
{
    open_world();
    call(300);
    settle();
    assert_int_equal(executor_outstanding(blocking(0)), 1);
    for (int n = 0; n < 10; n++) {
        run_one(1);
        run_one(2);
    }
    unsigned before = w.ended;
    assert_true(before < 5); /* they wait for it */
    virtual_run_until(&w.v, w.v.now + AO_MS(300));
    for (int n = 0; n < 60; n++) {
        run_one(1);
        run_one(2);
        virtual_run_until(&w.v, w.v.now + AO_MS(300)); /* each is stuck in turn, in this test */
    }
    assert_true(w.ended > before + 60);
    uint64_t at[EXECUTORS] = {given(0), given(1), given(2)};
    while (w.ended < 300)
        for (uint32_t i = 0; i < EXECUTORS; i++)
            run_one(i);
    expect_shares(at);
}

/* A nested call has its place at once, whoever is next by weight. */
TASKS_TEST(a_nested_call_waits_for_no_share)
{
    uint8_t buf[64];
    open_world();
    call(3);
    settle();
    assert_int_equal(executor_outstanding(blocking(0)), 1);
    tasks_world_call(0, "outer", params_call(buf, "block", params_none()), AO_NEVER);
    settle();
    assert_int_equal(executor_outstanding(blocking(0)) + executor_outstanding(blocking(1)) +
                         executor_outstanding(blocking(2)),
                     3);
    run_one(1);
    run_one(2);
    tasks_world_run_ms(0);
    assert_int_equal(w.ended, w.begun);
}

/* Stepped ones, too: the loops take nothing past the manager, who keeps the shares. */
TASKS_TEST(calls_are_shared_among_loops)
{
    tasks_world_init(2, 0);
    w.quiet = true;
    w.plan.policy = PLACEMENT_WEIGHT;
    w.executors[0].weight = 3;
    w.executors[1].weight = 1;
    tasks_world_open();
    for (uint32_t n = 0; n < 400; n++) {
        tasks_world_call(n % 2, "echo", params_none(), AO_NEVER);
        tasks_world_run_ms(0);
    }
    assert_int_equal(atomic_load(&w.tasks->executors[0]->given), 300);
    assert_int_equal(atomic_load(&w.tasks->executors[1]->given), 100);
}
