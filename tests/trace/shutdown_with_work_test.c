/* Shutdown with work in flight: what goes on is cancelled, and lets go of what it holds. */
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static struct tasks_world w;

static void open_world(uint32_t loops, uint32_t blocking)
{
    tasks_world_init(&w, loops, blocking);
    tasks_world_open(&w);
}

static int close_world(void **state)
{
    assert_int_equal(w.begun, w.ended);
    for (unsigned i = 1; i <= w.begun; i++)
        assert_int_equal(w.told[i], 1);
    tasks_world_fini(&w);
    return 0;
}

static enum ergon_error call(const char *method, struct span params)
{
    return tasks_world_call(&w, 0, method, params, AO_NEVER);
}

static void work_that_goes_on_is_cancelled(void **state)
{
    uint8_t buf[16];
    open_world(1, 1);
    call("sleep", params_int(buf, 30));
    call("block", params_none());
    call("hang", params_none());
    tasks_world_run_ms(&w, 8000);
    call("hang", params_none());
    trace_forget(&w.v);
    tasks_cancel_all(w.tasks);
    tasks_world_run(&w);
    trace_expect(&w.v, "[8000] call 4     ended: CANCELLED (the call was cancelled)\n"
                       "[8000] call 3     ended: CANCELLED (the call was cancelled)\n"
                       "[8000] executor 1 failed task 3 (CANCELLED) -> home: loop 0\n"
                       "[8000] executor 1 failed task 4 (CANCELLED) -> home: loop 0\n");
    assert_int_equal(test_cleanups, 2);
}

static void handlers_let_go_of_what_they_hold(void **state)
{
    open_world(1, 0);
    call("hang", params_none());
    tasks_world_run(&w);
    w.ended++; /* nobody is told when a system is freed with work in flight */
    w.told[1]++;
}

#define TEST(f) cmocka_unit_test_teardown(f, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(work_that_goes_on_is_cancelled),
        TEST(handlers_let_go_of_what_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
