#include "client/bench/search.h"
#include "tests/support/cmocka_env.h"

/* A server that meets the objective up to `limit`. */
static uint64_t found(uint64_t first, uint64_t limit, unsigned *steps)
{
    struct bench_search s;
    bench_search_init(&s, first);
    while (bench_search_step(&s, s.next <= limit))
        assert_true(s.steps < BENCH_SEARCH_STEPS);
    *steps = s.steps;
    return s.good;
}

TEST(the_highest_rate_is_found)
{
    static const uint64_t limits[] = {1, 2, 3, 7, 20, 999, 1000, 1001, 50000, 123456, 1900000};
    unsigned steps;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t rate = found(1000, limits[i], &steps);
        assert_in_range(rate, limits[i] - limits[i] / 19, limits[i]);
        assert_in_range(steps, 1, 20);
    }
}

TEST(no_rate_meets_it)
{
    unsigned steps;
    assert_int_equal(found(1000, 0, &steps), 0);
    assert_int_equal(steps, 10);
    assert_int_equal(found(1, 0, &steps), 0);
    assert_int_equal(steps, 1);
}

TEST(every_rate_meets_it)
{
    unsigned steps;
    assert_true(found(1000, UINT64_MAX, &steps) > 500 * 1000 * 1000);
    assert_in_range(steps, 19, 21);
}

TEST(objectives_are_read)
{
    struct bench_objective o;
    assert_true(bench_objective_parse("p99.9=5ms", &o));
    assert_string_equal(o.name, "p99.9");
    assert_true(o.percent > 99.89 && o.percent < 99.91);
    assert_int_equal(o.limit_ns, 5000000);
    assert_true(bench_objective_parse("max=1s", &o));
    assert_true(o.percent == 100);
}

TEST(other_words_are_refused)
{
    static const char *const wrong[] = {
        "",        "p99",      "p99=",    "p99=5",    "p=5ms",
        "p0=5ms",  "p101=5ms", "q99=5ms", "p99=0ms",  "=5ms",
        "p9x=5ms", "min=5ms",  "p-1=5ms", "p99=5mss", "p99.999999999999=5ms"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bench_objective o;
        assert_false(bench_objective_parse(wrong[i], &o));
    }
}
