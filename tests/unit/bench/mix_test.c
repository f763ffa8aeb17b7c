/* Which call of a mix a request is. */
#include "tests/support/cmocka_env.h"

#include "client/bench/mix.h"

enum { DRAWS = 100000 };

TEST(calls_are_drawn_by_their_weights)
{
    struct bench_mix m = {0};
    struct bench_random random = {1};
    uint32_t drawn[3] = {0};
    assert_true(bench_mix_add(&m, 1));
    assert_true(bench_mix_add(&m, 89));
    assert_true(bench_mix_add(&m, 10));
    for (int i = 0; i < DRAWS; i++)
        drawn[bench_mix_draw(&m, &random)]++;
    assert_in_range(drawn[0], DRAWS / 100 * 9 / 10, DRAWS / 100 * 11 / 10);
    assert_in_range(drawn[2], DRAWS / 10 * 9 / 10, DRAWS / 10 * 11 / 10);
    assert_int_equal(drawn[0] + drawn[1] + drawn[2], DRAWS);
}

TEST(one_call_needs_no_draw)
{
    struct bench_mix none = {0}, one = {0};
    struct bench_random random = {1};
    assert_true(bench_mix_add(&one, 7));
    assert_int_equal(bench_mix_draw(&none, &random), 0);
    assert_int_equal(bench_mix_draw(&one, &random), 0);
    assert_int_equal(random.state, 1);
}

TEST(a_mix_is_bounded)
{
    struct bench_mix heavy = {0}, many = {0};
    assert_true(bench_mix_add(&heavy, UINT32_MAX));
    assert_false(bench_mix_add(&heavy, 1));
    for (int i = 0; i < BENCH_MIX_MAX; i++)
        assert_true(bench_mix_add(&many, 1));
    assert_false(bench_mix_add(&many, 1));
}
