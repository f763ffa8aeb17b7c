/* The simulator against the closed forms: seeds are fixed, and every tolerance follows from the
 * number of tasks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/sched/sim.h"
#include "tests/bench/sched/theory.h"
#include "tests/support/cmocka_env.h"

enum { TASKS = 1000000, DEVIATIONS = 4 /* that a right simulator may be off */ };

static const double tail = 0.001;

/* Mean over `repeats` loads of the p99.9 of their sojourns. */
static double simulated_tail(struct sim sim, enum law law, double load, int repeats)
{
    double sum = 0, *sojourns = malloc(TASKS * sizeof *sojourns);
    assert_non_null(sojourns);
    for (int i = 0; i < repeats; i++) {
        struct load l;
        sim.seed = (uint64_t)i;
        assert_int_equal(load_init(&l, law, load * sim.servers, TASKS, (uint64_t)(i + 1)), 0);
        assert_int_equal(simulate(&sim, &l, sojourns), 0);
        sum += quantile(sojourns, TASKS, 1 - tail);
        load_fini(&l);
    }
    free(sojourns);
    return sum / repeats;
}

/* Tasks in the tail come in runs, each an excursion of the queue: one of n tasks has the mean
 * square over mean (1 + load)/(1 - load)^2, so that many tasks count as one.  A relative error of
 * the tail's size is an error of its quantile by one over the rate at which the tail falls. */
static double tail_tolerance(double load, double rate, int repeats)
{
    double run = (1 + load) / ((1 - load) * (1 - load));
    return DEVIATIONS * sqrt(run / (tail * TASKS * repeats)) / rate;
}

static void assert_close(const char *what, double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) > tolerance)
        fail_msg("%s: %.3f, and theory says %.3f +- %.3f", what, got, wanted, tolerance);
}

/* Columns: 1, 2, 4, 8, 16 servers. */
static const uint32_t servers[] = {1, 2, 4, 8, 16};
static const struct {
    double load;
    double p999[5];
    int repeats; /* queues that are longer take more tasks to know */
} pooled[] = {{0.5, {13.8, 8.2, 7.1, 6.9, 6.9}, 1},
              {0.8, {34.5, 17.7, 9.9, 7.5, 7.0}, 1},
              {0.9, {69.1, 34.9, 18.0, 10.1, 7.6}, 2},
              {0.95, {138.2, 69.4, 35.1, 18.1, 10.2}, 4}};

TEST(closed_forms_give_the_published_table)
{
    for (size_t row = 0; row < 4; row++)
        for (size_t i = 0; i < 5; i++)
            assert_close("p99.9 of M/M/n", theory_mmn_quantile(servers[i], pooled[row].load, 0.999),
                         pooled[row].p999[i], 0.051);
}

TEST(a_central_queue_is_mmn)
{
    for (size_t row = 0; row < 4; row++)
        for (size_t i = 0; i < 5; i++) {
            double load = pooled[row].load, rate = fmin(1, servers[i] * (1 - load));
            struct sim sim = {.policy = POLICY_CENTRAL, .servers = servers[i]};
            char what[64];
            snprintf(what, sizeof what, "p99.9 of M/M/%u at %.2f", servers[i], load);
            assert_close(what, simulated_tail(sim, LAW_EXPONENTIAL, load, pooled[row].repeats),
                         theory_mmn_quantile(servers[i], load, 0.999),
                         tail_tolerance(load, rate, pooled[row].repeats));
        }
}

TEST(queues_chosen_blindly_are_mm1)
{
    struct sim sim = {.policy = POLICY_RANDOM, .servers = 8};
    assert_close("p99.9 of 8 queues at random", simulated_tail(sim, LAW_EXPONENTIAL, 0.8, 4),
                 theory_mmn_quantile(1, 0.8, 0.999), tail_tolerance(0.8, 0.2, 4));
}

TEST(queues_dealt_in_turn_see_erlang_arrivals)
{
    struct sim sim = {.policy = POLICY_ROUND_ROBIN, .servers = 4};
    double wanted = theory_in_turn_quantile(4, 0.8, 0.999);
    assert_true(wanted < theory_mmn_quantile(1, 0.8, 0.999));
    assert_true(wanted > theory_mmn_quantile(4, 0.8, 0.999));
    assert_close("p99.9 of 4 queues in turn", simulated_tail(sim, LAW_EXPONENTIAL, 0.8, 4), wanted,
                 tail_tolerance(0.8, -log(0.001) / wanted, 4));
}

/* Variance of the mean of a queue's waits is large where waits last: from batches of the run. */
static void mean_wait_of(enum law law, double load, double *mean, double *deviation)
{
    enum { BATCHES = 20 };
    const struct sim sim = {.policy = POLICY_CENTRAL, .servers = 1};
    double sum = 0, squares = 0, *sojourns = malloc(TASKS * sizeof *sojourns);
    struct load l;
    assert_non_null(sojourns);
    assert_int_equal(load_init(&l, law, load, TASKS, 7), 0);
    assert_int_equal(simulate(&sim, &l, sojourns), 0);
    for (int b = 0; b < BATCHES; b++) {
        double batch = 0;
        for (int i = b * (TASKS / BATCHES); i < (b + 1) * (TASKS / BATCHES); i++)
            batch += sojourns[i] - l.services[i];
        batch /= TASKS / BATCHES;
        sum += batch;
        squares += batch * batch;
    }
    *mean = sum / BATCHES;
    *deviation = sqrt((squares / BATCHES - *mean * *mean) / (BATCHES - 1));
    load_fini(&l);
    free(sojourns);
}

TEST(mean_waits_are_those_of_pollaczek_and_khinchine)
{
    for (enum law law = 0; law < LAWS; law++) {
        double mean, deviation;
        mean_wait_of(law, 0.7, &mean, &deviation);
        assert_close(law_name(law), mean, theory_mg1_wait(0.7, law_second_moment(law)),
                     DEVIATIONS * deviation);
        assert_true(deviation < 0.1 * mean);
    }
}

/* Part of its capacity that a server gives with k = 1, 2, 3, 4, 8, 16 tasks outstanding. */
static const uint32_t bounds[] = {1, 2, 3, 4, 8, 16};
static const struct {
    double hand_over;
    double percent[6];
} loops[] = {{0.1, {90.9, 99.5, 100, 100, 100, 100}},  {0.5, {66.7, 92.3, 98.7, 99.8, 100, 100}},
             {1, {50.0, 80.0, 93.8, 98.5, 100, 100}},  {2, {33.3, 60.0, 78.9, 90.5, 99.9, 100}},
             {5, {16.7, 32.4, 47.0, 60.2, 93.0, 100}}, {10, {9.1, 18.0, 26.8, 35.3, 66.2, 97.8}}};

TEST(mean_value_analysis_gives_the_published_table)
{
    for (size_t row = 0; row < 6; row++)
        for (size_t i = 0; i < 6; i++)
            assert_close("rate", 100 * theory_loop_rate(bounds[i], loops[row].hand_over),
                         loops[row].percent[i], 0.051);
}

/* A queue that never empties: the end of the last task says how fast the server was.  The sum of N
 * exponential services is off by 1/sqrt(N) of itself. */
TEST(bounded_queues_hide_the_hand_over_as_computed)
{
    enum { FEWER = TASKS / 5 };
    double *sojourns = malloc(FEWER * sizeof *sojourns);
    struct load l;
    assert_non_null(sojourns);
    assert_int_equal(load_init(&l, LAW_EXPONENTIAL, 0, FEWER, 3), 0);
    for (size_t row = 0; row < 6; row++)
        for (size_t i = 0; i < 6; i++) {
            const struct sim sim = {.policy = POLICY_JBSQ,
                                    .servers = 1,
                                    .bound = bounds[i],
                                    .hand_over = loops[row].hand_over};
            double wanted = theory_loop_rate(bounds[i], loops[row].hand_over);
            assert_int_equal(simulate(&sim, &l, sojourns), 0);
            assert_close("rate of a bounded queue", FEWER / sojourns[FEWER - 1], wanted,
                         DEVIATIONS * wanted / sqrt(FEWER));
        }
    load_fini(&l);
    free(sojourns);
}

/* To the last bit: they are the same system. */
TEST(a_bound_of_one_without_hand_over_is_the_central_queue)
{
    enum { FEW = 10000 };
    static double central[FEW], bounded[FEW];
    const struct sim ideal = {.policy = POLICY_CENTRAL, .servers = 4};
    const struct sim jbsq = {.policy = POLICY_JBSQ, .servers = 4, .bound = 1};
    struct load l;
    assert_int_equal(load_init(&l, LAW_BIMODAL, 3, FEW, 5), 0);
    assert_int_equal(simulate(&ideal, &l, central), 0);
    assert_int_equal(simulate(&jbsq, &l, bounded), 0);
    assert_memory_equal(central, bounded, sizeof central);
    load_fini(&l);
}

/* A long task and two short ones at once, for two servers. */
TEST(bounds_hold_task_by_task)
{
    double arrivals[] = {0, 0, 0}, services[] = {4, 1, 1}, sojourns[3];
    const struct load l = {.count = 3, .arrivals = arrivals, .services = services};
    const uint32_t free_then_one[] = {2, 2, 1}, always_two[] = {2, 2, 2};
    struct sim sim = {.policy = POLICY_JBSQ, .servers = 2, .bound = 2, .bounds = free_then_one};
    assert_int_equal(simulate(&sim, &l, sojourns), 0);
    assert_true(sojourns[2] == 2); /* waits for the server that is free first */
    sim.bounds = always_two;
    assert_int_equal(simulate(&sim, &l, sojourns), 0);
    assert_true(sojourns[2] == 5); /* behind the long one, whose turn it was */
}

TEST(quantiles_are_those_of_the_sorted_values)
{
    double values[] = {5, 1, 4, 1, 3, 2, 9, 8, 7, 6};
    assert_true(quantile(values, 10, 0.5) == 4);
    assert_true(quantile(values, 10, 0.99) == 9);
    assert_true(quantile(values, 10, 0) == 1);
    assert_true(quantile(values, 10, 0.2) == 1);
}
