/* The lives of plain tasks: by the short cut, through the manager, parked, on a blocking executor.
 */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static void call(const char *method, struct span params)
{
    assert_int_equal(tasks_world_call(0, method, params, AO_NEVER), ERGON_OK);
}

TASKS_TEST(the_loop_takes_a_brief_call_itself)
{
    tasks_world_start(1, 0);
    call("echo", params_none());
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n");
}

TASKS_TEST(a_managed_method_goes_through_the_manager)
{
    tasks_world_start(1, 0);
    call("managed", params_none());
    trace_expect(&w.v, "");
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    task 1 -> executor 1 (loads 0)\n"
                       "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n");
}

TASKS_TEST(a_parked_task_makes_room)
{
    uint8_t buf[16];
    tasks_world_start(1, 0);
    call("sleep", params_int(buf, 250));
    call("echo", params_none());
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 done task 2 -> home: loop 0\n"
                       "[   0] call 2     ended: 1 bytes\n"
                       "[ 250] executor 1 done task 1 -> home: loop 0\n"
                       "[ 250] call 1     ended: 3 bytes\n");
}

/* The second waits for the first, which goes on round after round. */
TASKS_TEST(one_task_runs_at_a_time)
{
    uint8_t buf[16];
    tasks_world_start(1, 0);
    call("again", params_int(buf, 3));
    call("echo", params_none());
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 1)\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 done task 2 -> home: loop 0\n"
                       "[   0] call 2     ended: 1 bytes\n");
}

TASKS_TEST(what_may_block_goes_to_a_thread_of_its_own)
{
    tasks_world_start(1, 2);
    call("block", params_none());
    call("block", params_none());
    tasks_world_run();
    trace_expect(&w.v, "[   0] manager    task 1 -> executor 2 (loads 0 0)\n"
                       "[   0] manager    task 2 -> executor 3 (loads 1 0)\n"
                       "[   0] executor 2 run task 1\n"
                       "[   0] executor 2 done task 1 -> home: loop 0\n"
                       "[   0] executor 3 run task 2\n"
                       "[   0] executor 3 done task 2 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n"
                       "[   0] call 2     ended: 1 bytes\n");
}

/* The busy loop's call is run by the other loop and comes home. */
TASKS_TEST(a_busy_loop_is_helped_by_another)
{
    uint8_t buf[16];
    tasks_world_start(2, 0);
    call("again", params_int(buf, 5));
    call("echo", params_none());
    tasks_world_run();
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 2 (loads 1 0)\n"
                       "[   0] executor 2 run task 2\n"
                       "[   0] executor 2 done task 2 -> home: loop 0\n"
                       "[   0] call 2     ended: 1 bytes\n"
                       "[   0] executor 1 done task 1 -> home: loop 0\n"
                       "[   0] call 1     ended: 1 bytes\n");
}
