/* Cancels: waiting, running and parked tasks; the owner is told at once, and once. */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static void call(uint32_t loop, const char *method, struct span params)
{
    assert_int_equal(tasks_world_call(loop, method, params, AO_NEVER), ERGON_OK);
}

static void cancel(uint32_t loop, unsigned number)
{
    struct call *c = tasks_world_find(number);
    assert_non_null(c);
    home_cancel(tasks_home(w.tasks, loop), c);
    assert_null(tasks_world_find(number));
}

TASKS_TEST(a_parked_task)
{
    tasks_world_start(1, 0);
    call(0, "hang", params_none());
    tasks_world_run_ms(10);
    cancel(0, 1);
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[  10] call 1     ended: CANCELLED (the call was cancelled)\n"
                       "[  10] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n");
    assert_int_equal(test_cleanups, 1);
}

/* Its own loop is busy, so the other runs it. */
TASKS_TEST(a_task_parked_on_another_loop)
{
    uint8_t buf[16];
    tasks_world_start(2, 0);
    call(0, "again", params_int(buf, 9));
    call(0, "hang", params_none());
    tasks_world_run_ms(10);
    cancel(0, 2);
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 2 (loads 1 0)\n"
                       "[   0] executor 2 run task 2\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n"
                       "[  10] call 2     ended: CANCELLED (the call was cancelled)\n"
                       "[  10] executor 2 failed task 2 (CANCELLED) -> home: loop 0\n");
    assert_int_equal(test_cleanups, 1);
}

TASKS_TEST(a_task_in_the_common_queue)
{
    tasks_world_start(1, 1);
    for (int i = 0; i < 4; i++)
        call(0, "block", params_none());
    virtual_run(&w.v);
    cancel(0, 4);
    cancel(0, 1);
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    task 1 -> executor 2 (loads 0)\n"
                       "[   0] call 4     ended: CANCELLED (the call was cancelled)\n"
                       "[   0] call 1     ended: CANCELLED (the call was cancelled)\n"
                       "[   0] executor 2 drop task 1\n"
                       "[   0] manager    task 2 -> executor 2 (loads 0)\n"
                       "[   0] executor 2 run task 2\n"
                       "[   0] executor 2 done task 2 -> home: loop 0\n"
                       "[   0] manager    task 3 -> executor 2 (loads 0)\n"
                       "[   0] manager    drop task 4\n"
                       "[   0] call 2     ended: 1 bytes\n"
                       "[   0] executor 2 run task 3\n"
                       "[   0] executor 2 done task 3 -> home: loop 0\n"
                       "[   0] call 3     ended: 1 bytes\n");
}

/* It finishes its step; its result finds nobody. */
TASKS_TEST(a_running_task)
{
    uint8_t buf[16];
    tasks_world_start(1, 0);
    call(0, "again", params_int(buf, 2));
    cancel(0, 1);
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] call 1     ended: CANCELLED (the call was cancelled)\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n");
}
