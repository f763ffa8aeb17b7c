#include "client/bench/size.h"
#include "tests/support/cmocka_env.h"

enum { DRAWS = 100000 };

static struct bench_size parsed(const char *text)
{
    struct bench_size s;
    assert_null(bench_size_parse(text, &s));
    return s;
}

static double mean_of(const char *text, uint32_t least, uint32_t most)
{
    struct bench_size s = parsed(text);
    struct bench_random random = {7};
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint32_t size = bench_size_draw(&s, &random);
        assert_in_range(size, least, most);
        sum += size;
    }
    return sum / DRAWS;
}

TEST(one_size)
{
    assert_true(mean_of("64", 64, 64) == 64);
    assert_true(mean_of("0", 0, 0) == 0);
    assert_true(mean_of("1k", 1024, 1024) == 1024);
    assert_int_equal(parsed("1g").most, BENCH_SIZE_MAX);
}

TEST(uniform_sizes)
{
    struct bench_size s = parsed("uniform:3-5");
    struct bench_random random = {1};
    int counts[6] = {0};
    for (int i = 0; i < DRAWS; i++)
        counts[bench_size_draw(&s, &random)]++;
    for (int size = 3; size <= 5; size++)
        assert_in_range(counts[size], DRAWS / 3 - 1000, DRAWS / 3 + 1000);
    double mean = mean_of("uniform:1k-3k", 1024, 3072);
    assert_true(mean > 2030 && mean < 2066);
    assert_true(mean_of("uniform:8-8", 8, 8) == 8);
}

TEST(exponential_sizes)
{
    double mean = mean_of("exponential:1k", 0, 16 * 1024);
    assert_true(mean > 1008 && mean < 1040);
    assert_int_equal(parsed("exponential:1g").most, BENCH_SIZE_MAX);
}

TEST(other_words_are_refused)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "-1",
                                        "2g",
                                        "1025m",
                                        "uniform:",
                                        "uniform:5",
                                        "uniform:5-3",
                                        "uniform:-",
                                        "uniform:1-x",
                                        "exponential:",
                                        "normal:5",
                                        "64q",
                                        "1 2",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bench_size s;
        assert_non_null(bench_size_parse(wrong[i], &s));
    }
}
