#include "tests/bench/sched/theory.h"

#include <math.h>

enum { HALVINGS = 200 };

/* Erlang C: the part of the tasks that wait.  By the recursion of Erlang B, which is stable. */
static double part_that_waits(uint32_t servers, double load)
{
    double offered = load * servers, b = 1;
    for (uint32_t i = 1; i <= servers; i++)
        b = offered * b / (i + offered * b);
    return b / (1 - load * (1 - b));
}

/* Those who wait do so for an exponential time of rate n(1 - load); then all are served. */
static double mmn_tail(uint32_t servers, double load, double t)
{
    double waits = part_that_waits(servers, load), rate = servers * (1 - load);
    double both =
        fabs(rate - 1) < 1e-9 ? (1 + t) * exp(-t) : (rate * exp(-t) - exp(-rate * t)) / (rate - 1);
    return (1 - waits) * exp(-t) + waits * both;
}

double theory_mmn_quantile(uint32_t servers, double load, double part)
{
    double low = 0, high = 1e6;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (mmn_tail(servers, load, middle) > 1 - part)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double theory_mg1_wait(double load, double second_moment)
{
    return load * second_moment / (2 * (1 - load));
}

/* GI/M/1: the sojourn is exponential with rate 1 - sigma, sigma the root below 1 of
 * sigma = E[exp(-(1 - sigma) x time between arrivals)]. */
double theory_in_turn_quantile(uint32_t servers, double load, double part)
{
    double rate = load * servers, sigma = 0;
    for (int i = 0; i < 100 * HALVINGS; i++)
        sigma = pow(rate / (rate + 1 - sigma), servers);
    return -log(1 - part) / (1 - sigma);
}

double theory_loop_rate(uint32_t tokens, double hand_over)
{
    double at_server = 0, rate = 0;
    for (uint32_t k = 1; k <= tokens; k++) {
        double sojourn = 1 + at_server;
        rate = k / (hand_over + sojourn);
        at_server = rate * sojourn;
    }
    return rate;
}
