#include "client/bench/judge.h"
#include "client/bench/report.h"
#include "tests/support/cmocka_env.h"

static const uint64_t MS = 1000000;

static const struct bench_kept GOOD = {
    .due = 10000, .sent = 10000, .lag_p99_ns = 50000, .latency_p99_ns = 200000, .busy = 0.5};

TEST(a_rate_that_was_kept)
{
    struct bench_kept k = GOOD;
    assert_int_equal(bench_judge(&k), BENCH_KEPT);
    assert_null(bench_verdict_text(BENCH_KEPT));
    k.sent = 9900; /* one in a hundred */
    k.held = 500;
    assert_int_equal(bench_judge(&k), BENCH_KEPT);
    k.busy = 1; /* but in time */
    assert_int_equal(bench_judge(&k), BENCH_KEPT);
    assert_int_equal(bench_judge(&(struct bench_kept){0}), BENCH_KEPT); /* a closed loop */
}

TEST(too_few_were_sent)
{
    struct bench_kept k = GOOD;
    k.sent = 9899;
    assert_int_equal(bench_judge(&k), BENCH_LATE);
    k.held = 1;
    assert_int_equal(bench_judge(&k), BENCH_PLACES);
    k.busy = 0.95;
    assert_int_equal(bench_judge(&k), BENCH_BUSY);
}

TEST(the_generator_measured_itself)
{
    struct bench_kept k = GOOD;
    k.lag_p99_ns = 10 * MS; /* allowed, whatever it is a part of */
    k.latency_p99_ns = 10 * MS;
    assert_int_equal(bench_judge(&k), BENCH_KEPT);
    k.lag_p99_ns = 15 * MS;
    k.latency_p99_ns = 30 * MS;
    assert_int_equal(bench_judge(&k), BENCH_KEPT);
    k.latency_p99_ns = 29 * MS;
    assert_int_equal(bench_judge(&k), BENCH_LATE);
    k.busy = 0.9;
    assert_int_equal(bench_judge(&k), BENCH_BUSY);
}

TEST(what_is_mostly_lag_is_told)
{
    assert_false(bench_mostly_lag(0, 0));
    assert_false(bench_mostly_lag(50, 100));
    assert_true(bench_mostly_lag(51, 100));
}

TEST(a_busy_thread_is_at_its_limit)
{
    assert_false(bench_at_limit(0.89));
    assert_true(bench_at_limit(0.9));
    assert_true(bench_at_limit(1.01)); /* the clocks differ a little */
}

TEST(connections_did_not_open_in_time)
{
    struct bench_kept k = GOOD;
    k.churn_due = 1000;
    k.churned = 990;
    assert_int_equal(bench_judge(&k), BENCH_KEPT);
    k.churned = 989;
    assert_int_equal(bench_judge(&k), BENCH_CHURNING);
}

TEST(a_rate_that_the_generator_missed_is_no_limit_of_the_server)
{
    struct bench_rows rows = {.at = {{.rate = 100, .met = true},
                                     {.rate = 400, .verdict = BENCH_PLACES},
                                     {.rate = 200, .verdict = BENCH_BUSY}},
                              .count = 3,
                              .highest = 100};
    assert_ptr_equal(bench_rows_by_generator(&rows, 90), &rows.at[2]);
    rows.at[2].verdict = BENCH_LATE;
    assert_ptr_equal(bench_rows_by_generator(&rows, 90), &rows.at[2]);
    rows.at[2] = (struct bench_row){.rate = 200, .reached_ns = 100, .lag_ns = 51};
    assert_ptr_equal(bench_rows_by_generator(&rows, 90), &rows.at[2]);
    assert_null(bench_rows_by_generator(&rows, 100)); /* there were errors */
    rows.at[2].lag_ns = 50;
    assert_null(bench_rows_by_generator(&rows, 90));
    rows.at[2].verdict = BENCH_PLACES;
    rows.at[1].verdict = BENCH_BUSY; /* above the rate that the server missed */
    assert_null(bench_rows_by_generator(&rows, 90));
    rows.count = 1;
    assert_null(bench_rows_by_generator(&rows, 90));
}

TEST(each_verdict_says_what_to_do)
{
    for (int v = BENCH_PLACES; v <= BENCH_CHURNING; v++)
        assert_non_null(bench_verdict_text((enum bench_verdict)v));
}
