/* sleep, burn, block. */
#include "proto/encoder.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/modules/builtin_world.h"

enum { LOOK_NS = 10000 };

static uint64_t looks, cancel_at;

/* Time passes by being looked at: the virtual clock stands while anything has work. */
static uint64_t passing_time(struct ergon_task *task)
{
    return ++looks * LOOK_NS;
}

static uint64_t time_of_a_cancel(struct ergon_task *task)
{
    if (looks + 1 == cancel_at)
        home_cancel(tasks_home(w.tasks, 0), tasks_world_find(w.begun));
    return passing_time(task);
}

static struct span duration(const char *text)
{
    static uint8_t params[64];
    uint8_t *p = enc_str(enc_array(params, 1), span_text(text));
    return span_of(params, (size_t)(p - params));
}

BUILTIN_TEST(sleep_takes_its_time)
{
    assert_int_equal(builtin_call("sleep", duration("250ms")), 0);
    assert_int_equal(builtin_int(), 250);
    assert_int_equal(w.v.now, AO_MS(250));
}

BUILTIN_TEST(sleep_is_cancelled)
{
    assert_int_equal(tasks_world_call(0, "sleep", duration("1h"), AO_NEVER), ERGON_OK);
    tasks_world_run_ms(10);
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(1));
    tasks_world_run();
    assert_int_equal(builtin.error, ERGON_E_CANCELLED);
    assert_true(w.v.now < AO_S(1));
}

BUILTIN_TEST(burn_goes_on_in_quanta)
{
    looks = 0;
    builtin.host.now = passing_time;
    assert_int_equal(builtin_call("burn", duration("20ms")), 0);
    assert_in_range(builtin_int(), 20, 21);
    assert_true(looks >= AO_MS(20) / LOOK_NS);
}

BUILTIN_TEST(burn_is_cancelled_in_the_middle)
{
    looks = 0;
    cancel_at = 500;
    builtin.host.now = time_of_a_cancel;
    assert_int_equal(builtin_call("burn", duration("1h")), -1);
    assert_int_equal(builtin.error, ERGON_E_CANCELLED);
    assert_in_range(looks, cancel_at, cancel_at + 100); /* to the end of its quantum, no further */
    assert_int_equal(w.told[1], 1);
}

BUILTIN_TEST(block_is_cancelled_in_the_middle)
{
    looks = 0;
    cancel_at = 5;
    builtin.host.now = time_of_a_cancel;
    assert_int_equal(builtin_call("block", duration("1ms")), -1);
    assert_int_equal(builtin.error, ERGON_E_CANCELLED);
    assert_in_range(looks, cancel_at, cancel_at + 5);
}

BUILTIN_TEST(durations_that_are_none)
{
    static const char *const methods[] = {"sleep", "burn", "block"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        assert_int_equal(builtin_call(methods[i], duration("long")), -1);
        builtin_expect_failure("BAD_PARAMS", "250ms");
        assert_int_equal(builtin_call(methods[i], params_none()), -1);
        builtin_expect_failure("BAD_PARAMS", "250ms");
    }
}

BUILTIN_TEST(without_memory)
{
    builtin_call_without_memory("sleep", duration("10ms"));
    builtin_call_without_memory("block", duration("0"));
}
