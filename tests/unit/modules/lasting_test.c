/* flaky, progress, later, fan_out: as plain calls, and as they are when it is not the first
 * attempt. */
#include "proto/encoder.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/modules/builtin_world.h"

static uint8_t params[64];
static unsigned told;

static struct span two(int64_t a, int64_t b)
{
    uint8_t *p = enc_int(enc_int(enc_array(params, 2), a), b);
    return span_of(params, (size_t)(p - params));
}

static struct span one(int64_t a)
{
    uint8_t *p = enc_int(enc_array(params, 1), a);
    return span_of(params, (size_t)(p - params));
}

static uint32_t third(struct ergon_task *task)
{
    return 3;
}

static bool count_progress(struct ergon_task *task, uint64_t done, uint64_t total, const char *text)
{
    told++;
    assert_int_equal(done, told);
    assert_int_equal(total, 3);
    assert_int_equal(text[5], (int)('0' + told));
    return true;
}

BUILTIN_TEST(flaky_fails_until_its_attempt)
{
    assert_int_equal(builtin_call("flaky", one(1)), 0);
    assert_int_equal(builtin_int(), 1);
    assert_int_equal(builtin_call("flaky", one(3)), -1);
    builtin_expect_failure("FLAKY", "attempt 1 fails");
    builtin.host.attempt = third;
    assert_int_equal(builtin_call("flaky", one(3)), 0);
    assert_int_equal(builtin_int(), 3);
}

BUILTIN_TEST(progress_tells_each_step)
{
    told = 0;
    builtin.host.progress = count_progress;
    assert_int_equal(builtin_call("progress", two(3, 2)), 0);
    assert_int_equal(builtin_int(), 3);
    assert_int_equal(told, 3);
    assert_int_equal(builtin_call("progress", one(0)), 0);
    assert_int_equal(builtin_int(), 0);
}

BUILTIN_TEST(later_is_busy_to_a_plain_call)
{
    assert_int_equal(builtin_call("later", one(5000)), -1);
    assert_int_equal(builtin.error, ERGON_E_BUSY);
    builtin_expect_failure("BUSY", "in 5s");
    builtin.host.attempt = third;
    assert_int_equal(builtin_call("later", two(5000, 3)), 0);
    assert_int_equal(builtin_int(), 3);
}

static bool count_submitted(struct ergon_task *task, const char *method, struct ergon_bytes raw,
                            struct ergon_bytes options)
{
    (void)task;
    assert_string_equal(method, "echo");
    assert_int_equal(raw.len, 2);
    assert_int_equal(((const uint8_t *)raw.at)[1], told++);
    assert_int_equal(options.len, 0);
    return true;
}

BUILTIN_TEST(fan_out_submits_as_many)
{
    told = 0;
    assert_int_equal(builtin_call("fan_out", one(3)), -1);
    builtin_expect_failure("BAD_CHANGES", "a plain call submits nothing");
    builtin.host.submit = count_submitted;
    assert_int_equal(builtin_call("fan_out", one(3)), 0);
    assert_int_equal(builtin_int(), 3);
    assert_int_equal(told, 3);
}

BUILTIN_TEST(bad_parameters_are_refused)
{
    static const char *const methods[] = {"flaky", "progress", "later", "fan_out"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(builtin_call(methods[i], params_none()), -1);
        builtin_expect_failure("BAD_PARAMS", "expects");
    }
}
