/* Failures: by the handler's own word, by a fault; their code and text reach the owner. */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static void call(const char *method)
{
    assert_int_equal(tasks_world_call(0, method, params_none(), AO_NEVER), ERGON_OK);
}

static void a_handler_that_fails(void **state)
{
    tasks_world_start(1, 0);
    call("fail");
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
                       "[   0] call 1     ended: NO_LUCK (none today)\n");
    assert_int_equal(w.errors[1], ERGON_E_FAILED);
}

static void a_handler_that_faults(void **state)
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

static void a_handler_that_faults_in_a_later_step(void **state)
{
    tasks_world_start(1, 0);
    call("late_fault");
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 failed task 1 (FAILED) -> home: loop 0\n"
                       "[   0] call 1     ended: FAILED (too late)\n");
}

#define TEST(f) cmocka_unit_test_teardown(f, tasks_world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_handler_that_fails),
        TEST(a_handler_that_faults),
        TEST(a_handler_that_faults_in_a_later_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
