/* Shutdown with work in flight: what goes on is cancelled, and lets go of what it holds. */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static enum ergon_error call(const char *method, struct span params)
{
    return tasks_world_call(0, method, params, AO_NEVER);
}

TASKS_TEST(work_that_goes_on_is_cancelled)
{
    uint8_t buf[16];
    tasks_world_start(1, 1);
    call("sleep", params_int(buf, 30));
    call("block", params_none());
    call("hang", params_none());
    tasks_world_run_ms(8000);
    call("hang", params_none());
    trace_forget(&w.v);
    tasks_cancel_all(w.tasks);
    tasks_world_run();
    trace_expect(&w.v, "[8000] call 4     ended: CANCELLED (the call was cancelled)\n"
                       "[8000] call 3     ended: CANCELLED (the call was cancelled)\n"
                       "[8000] executor 1 failed task 3 (CANCELLED) -> home: loop 0\n"
                       "[8000] executor 1 failed task 4 (CANCELLED) -> home: loop 0\n");
    assert_int_equal(test_cleanups, 2);
}

TASKS_TEST(handlers_let_go_of_what_they_hold)
{
    tasks_world_start(1, 0);
    call("hang", params_none());
    tasks_world_run();
    w.ended++; /* nobody is told when a system is freed with work in flight */
    w.told[1]++;
    w.unfinished = true;
}
