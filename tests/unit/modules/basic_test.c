/* echo, sum. */
#include "proto/encoder.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/modules/builtin_world.h"

enum { MANY = 50000 }; /* numbers: several quanta */

static uint8_t params[1 + ENC_HEAD_MAX + MANY * ENC_INT_MAX];

/* [[0, 1, 2, ...]] */
static struct span numbers(uint32_t count)
{
    uint8_t *p = enc_array(enc_array(params, 1), count);
    for (uint32_t i = 0; i < count; i++)
        p = enc_uint(p, i);
    return span_of(params, (size_t)(p - params));
}

BUILTIN_TEST(a_long_sum_is_made_in_quanta)
{
    assert_int_equal(builtin_call("sum", numbers(MANY)), 0);
    assert_int_equal(builtin_int(), (int64_t)MANY * (MANY - 1) / 2);
}

BUILTIN_TEST(a_short_one_in_one_step)
{
    assert_int_equal(builtin_call("sum", numbers(10)), 0);
    assert_int_equal(builtin_int(), 45);
    assert_int_equal(builtin_call("sum", numbers(0)), 0);
    assert_int_equal(builtin_int(), 0);
}

BUILTIN_TEST(a_sum_between_whose_steps_it_is_cancelled)
{
    assert_int_equal(tasks_world_call(0, "sum", numbers(MANY), AO_NEVER), ERGON_OK);
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(1));
    tasks_world_run();
    assert_int_equal(w.told[1], 1);
    assert_int_equal(w.errors[1], ERGON_E_CANCELLED);
}

BUILTIN_TEST(what_is_no_number_is_found_however_late)
{
    struct span all = numbers(MANY);
    params[all.len - 1] = 0xc0; /* the end of the last number */
    params[all.len - 2] = 0xc0;
    params[all.len - 3] = 0xc0;
    assert_int_equal(all.at[0], 0x91);
    params[2] = (uint8_t)((MANY + 2) >> 8), params[3] = (uint8_t)((MANY + 2) & 0xff);
    assert_int_equal(builtin_call("sum", all), -1);
    builtin_expect_failure("BAD_PARAMS", "numbers");
}

BUILTIN_TEST(sum_without_memory)
{
    builtin_call_without_memory("sum", numbers(MANY));
    builtin_call_without_memory("sum", numbers(3));
    assert_int_equal(builtin_int(), 3);
}

BUILTIN_TEST(echo_without_memory)
{
    static uint8_t large[100000];
    uint8_t *head = enc_bin_head(enc_array(large, 1), sizeof large - 10);
    builtin_call_without_memory("echo", span_of(large, (size_t)(head - large) + sizeof large - 10));
}

/* By the linker, in place of the function that walks through a value. */
size_t __real_value_length_within(struct span bytes, uint64_t most);
size_t __wrap_value_length_within(struct span bytes, uint64_t most);

static int walks;

size_t __wrap_value_length_within(struct span bytes, uint64_t most)
{
    walks++;
    return __real_value_length_within(bytes, most);
}

BUILTIN_TEST(what_is_echoed_is_not_walked_through)
{
    struct span all = numbers(MANY);
    walks = 0;
    assert_int_equal(builtin_call("echo", all), 0);
    assert_int_equal(builtin.result_len, all.len - 1);
    assert_memory_equal(builtin.result, all.at + 1, all.len - 1);
    assert_int_equal(walks, 0);
}
