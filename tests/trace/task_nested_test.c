/* Nested calls: awaited by stepped handlers, waited for by blocking ones. */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static void call(const char *method, struct span params)
{
    assert_int_equal(tasks_world_call(0, method, params, AO_NEVER), ERGON_OK);
}

TASKS_TEST(stepped_calls_stepped)
{
    uint8_t buf[64];
    tasks_world_start(1, 0);
    call("outer", params_call(buf, "echo", params_none()));
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 0)\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 done task 2 -> home: loop 0\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n");
}

TASKS_TEST(stepped_calls_blocking)
{
    uint8_t buf[64];
    tasks_world_start(1, 1);
    call("outer", params_call(buf, "block", params_none()));
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 2 (loads 0)\n"
                       "[   0] executor 2 run task 2\n"
                       "[   0] executor 2 done task 2 -> home: loop 0\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n");
}

TASKS_TEST(a_failure_goes_up)
{
    uint8_t buf[64];
    tasks_world_start(1, 0);
    call("outer", params_call(buf, "fail", params_none()));
    call("outer", params_call(buf, "nowhere", params_none()));
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 0)\n"
                       "[   0] manager    task 3 -> executor 1 (loads 1)\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 failed task 2 (NO_LUCK) -> home: loop 0\n"
                       "[   0] executor 1 run task 3\n"
                       "[   0] executor 1 failed task 3 (NO_METHOD) -> home: loop 0\n"
                       "[   0] call 2     ended: NO_METHOD (no handler and no server method has "
                       "this name)\n"
                       "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
                       "[   0] call 1     ended: NO_LUCK (none today)\n");
}

/* The caller is cancelled: so is what it called. */
TASKS_TEST(a_cancel_goes_down)
{
    uint8_t buf[64];
    tasks_world_start(1, 0);
    call("outer", params_call(buf, "hang", params_none()));
    tasks_world_run_ms(5);
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(1));
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 0)\n"
                       "[   0] executor 1 run task 2\n"
                       "[   5] call 1     ended: CANCELLED (the call was cancelled)\n"
                       "[   5] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
                       "[   5] executor 1 failed task 2 (CANCELLED) -> home: loop 0\n");
}

/* Seventeen levels: the innermost is refused, and each passes the refusal on. */
TASKS_TEST(too_deep)
{
    uint8_t bufs[18][512];
    struct span params = params_none();
    tasks_world_start(1, 0);
    params = params_call(bufs[0], "echo", params);
    for (int i = 1; i <= 16; i++)
        params = params_call(bufs[i], "outer", params);
    call("outer", params);
    tasks_world_run();
    trace_forget(&w.v);
    assert_int_equal(w.ended, 1);
    assert_int_equal(w.errors[1], ERGON_E_FAILED);
}
