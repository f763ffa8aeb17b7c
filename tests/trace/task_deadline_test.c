/* Deadlines: the owner is told at once, wherever the task is; what comes later is freed in silence.
 */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static void call(const char *method, struct span params, uint64_t ms)
{
    assert_int_equal(tasks_world_call(0, method, params, AO_MS(ms)), ERGON_OK);
}

TASKS_TEST(a_parked_task_is_late)
{
    tasks_world_start(1, 0);
    call("hang", params_none(), 100);
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[ 100] call 1     ended: DEADLINE (the deadline passed before the result "
                       "was there)\n"
                       "[ 100] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n");
    assert_int_equal(test_cleanups, 1);
}

/* The blocking executor has not begun with the second yet: it is dropped unrun. */
TASKS_TEST(a_waiting_task_is_late)
{
    tasks_world_start(1, 1);
    call("block", params_none(), 1);
    virtual_run(&w.v);
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    task 1 -> executor 2 (loads 0)\n"
                       "[   1] call 1     ended: DEADLINE (the deadline passed before the result "
                       "was there)\n"
                       "[   1] executor 2 drop task 1\n");
}

TASKS_TEST(a_call_that_comes_late_is_not_begun)
{
    tasks_world_start(1, 0);
    tasks_world_run_ms(50);
    virtual_round(&w.v, w.loops[0]);
    call("echo", params_none(), 50);
    trace_expect(&w.v, "[  50] call 1     ended: DEADLINE (the deadline passed before the result "
                       "was there)\n");
}

TASKS_TEST(in_time_is_not_late)
{
    uint8_t buf[16];
    tasks_world_start(1, 0);
    call("sleep", params_int(buf, 99), 100);
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[  99] executor 1 done task 1 -> home: loop 0\n"
                       "[  99] call 1     ended: 2 bytes\n");
}
