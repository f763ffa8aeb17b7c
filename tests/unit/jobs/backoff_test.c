/* When a failed task is tried again, and whether. */
#include "server/jobs/life/outcome.h"
#include "tests/support/cmocka_env.h"

TEST(doubles_up_to_a_bound)
{
    static const ao_time seconds[] = {1, 2, 4, 8, 10, 10};
    for (uint32_t n = 1; n <= 6; n++)
        assert_int_equal(backoff_wait(AO_S(1), AO_S(10), 0, n, 7), AO_S(seconds[n - 1]));
    assert_int_equal(backoff_wait(AO_S(1), AO_S(3600), 0, UINT32_MAX, 7), AO_S(3600));
    assert_int_equal(backoff_wait(AO_S(9), AO_S(5), 0, 1, 7), AO_S(5));
    assert_int_equal(backoff_wait(3, AO_NEVER, 0, 200, 7), AO_NEVER);
    assert_int_equal(backoff_wait(0, AO_S(5), 50, UINT32_MAX, 7), 0);
}

TEST(jitter_leaves_a_part_to_chance)
{
    uint64_t random = 88172645463325252u;
    ao_time least = AO_NEVER, most = 0;
    for (int i = 0; i < 10000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        ao_time wait = backoff_wait(AO_S(1), AO_S(60), 30, 1, random >> 16);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_in_range(least, AO_MS(700), AO_MS(701));
    assert_in_range(most, AO_MS(999), AO_S(1));
}

TEST(jitter_of_the_longest_wait)
{
    assert_int_equal(backoff_wait(AO_NEVER, AO_NEVER, 100, 1, 0), AO_NEVER);
    assert_int_equal(backoff_wait(AO_NEVER, AO_NEVER, 100, 1, AO_NEVER - 1), 1);
    assert_int_equal(backoff_wait(1, 1, 100, 1, 12345), 1);
}

TEST(some_failures_are_permanent)
{
    static const char *const permanent[] = {"NO_METHOD",
                                            "BAD_PARAMS",
                                            "TOO_LARGE",
                                            "TOO_DEEP",
                                            "DENIED",
                                            "PERMANENT",
                                            "PERMANENT_NO_SUCH_CUSTOMER"};
    static const char *const others[] = {"",         "FAILED",       "BUSY",
                                         "DEADLINE", "IS_PERMANENT", "DENIED_1"};
    for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
        assert_true(backoff_is_permanent(permanent[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(backoff_is_permanent(others[i]));
    assert_false(backoff_is_permanent(NULL));
}
