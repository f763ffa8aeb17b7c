/* Shutdown with work in flight: new calls are refused, what runs may finish, what does not is
 * cancelled. */
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

static void on_drained(void *arg)
{
    (void)arg;
    virtual_say(&w.v, "call", 0, "all over");
}

static enum ergon_error call(const char *method, struct span params)
{
    return tasks_world_call(&w, 0, method, params, AO_NEVER);
}

static void work_ends_within_the_limit(void **state)
{
    uint8_t buf[16];
    open_world(2, 1);
    call("sleep", params_int(buf, 30));
    call("block", params_none());
    virtual_run_until(&w.v, 0);
    trace_forget(&w.v);
    tasks_drain(w.tasks, on_drained, NULL);
    tasks_world_run_ms(&w, 1);
    assert_int_equal(call("echo", params_none()), ERGON_E_DRAINING);
    tasks_world_run(&w);
    trace_expect(&w.v, "[   1] executor 3 run task 2\n"
                       "[   1] executor 3 done task 2 -> home: loop 0\n"
                       "[   1] call 2     ended: 1 bytes\n"
                       "[  30] executor 1 done task 1 -> home: loop 0\n"
                       "[  30] call 1     ended: 2 bytes\n"
                       "[  30] call       all over\n");
}

static void work_that_goes_on_is_cancelled(void **state)
{
    open_world(1, 0);
    call("hang", params_none());
    call("hang", params_none());
    tasks_drain(w.tasks, on_drained, NULL);
    tasks_world_run_ms(&w, 8000);
    trace_forget(&w.v);
    tasks_cancel_all(w.tasks);
    tasks_world_run(&w);
    trace_expect(&w.v, "[8000] call 1     ended: DRAINING (the server is shutting down)\n"
                       "[8000] call 2     ended: DRAINING (the server is shutting down)\n"
                       "[8000] executor 1 failed task 2 (CANCELLED) -> home: loop 0\n"
                       "[8000] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n"
                       "[8000] call       all over\n");
    assert_int_equal(test_cleanups, 2);
}

static void nothing_to_do(void **state)
{
    open_world(1, 1);
    tasks_drain(w.tasks, on_drained, NULL);
    tasks_world_run(&w);
    trace_expect(&w.v, "[   0] call       all over\n");
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
        TEST(work_ends_within_the_limit),
        TEST(work_that_goes_on_is_cancelled),
        TEST(nothing_to_do),
        TEST(handlers_let_go_of_what_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
