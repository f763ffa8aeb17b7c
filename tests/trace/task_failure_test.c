/* Failures: by the handler's own word, by a fault; their code and text reach the owner. */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static void call(const char *method)
{
    assert_int_equal(tasks_world_call(0, method, params_none(), AO_NEVER), ERGON_OK);
}

TASKS_TEST(a_handler_that_fails)
{
    tasks_world_start(1, 0);
    call("fail");
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
                       "[   0] call 1     ended: NO_LUCK (none today)\n");
    assert_int_equal(w.errors[1], ERGON_E_FAILED);
}

TASKS_TEST(a_handler_that_faults)
{
    tasks_world_start(1, 0);
    call("fault");
    call("echo");
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (FAILED) -> home: loop 0\n"
                       "[   0] call 1     ended: FAILED (fault 7)\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 done task 2 -> home: loop 0\n"
                       "[   0] call 2     ended: 1 bytes\n");
}

TASKS_TEST(a_handler_that_faults_in_a_later_step)
{
    tasks_world_start(1, 0);
    call("late_fault");
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (FAILED) -> home: loop 0\n"
                       "[   0] call 1     ended: FAILED (too late)\n");
}
