/* What each schedule makes of the same loads, simulated: p99.9 of the sojourn, in mean times of
 * service, for eight servers. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/sched/sim.h"
#include "tests/bench/support/report.h"

enum { TASKS = 1000000, SERVERS = 8, POLICIES = 7, SEED = 1 };

static const struct sim policies[POLICIES] = {
    {.policy = POLICY_CENTRAL, .servers = SERVERS},
    {.policy = POLICY_JBSQ, .servers = SERVERS, .bound = 1, .hand_over = 0.1},
    {.policy = POLICY_JBSQ, .servers = SERVERS, .bound = 2, .hand_over = 0.1},
    {.policy = POLICY_JBSQ, .servers = SERVERS, .bound = 4, .hand_over = 0.1},
    {.policy = POLICY_JBSQ, .servers = SERVERS, .bound = 3, .hand_over = 1},
    {.policy = POLICY_ROUND_ROBIN, .servers = SERVERS},
    {.policy = POLICY_RANDOM, .servers = SERVERS, .seed = SEED},
};

static const struct report_column columns[POLICIES] = {
    {"M/G/8", 1},   {"k=1 Z=0.1", 1}, {"k=2 Z=0.1", 1}, {"k=4 Z=0.1", 1},
    {"k=3 Z=1", 1}, {"in turn", 1},   {"at random", 1},
};

static int show(struct report *r, enum law law, double load, double *sojourns)
{
    char what[64];
    double values[POLICIES];
    struct load l;
    if (load_init(&l, law, load * SERVERS, TASKS, SEED) != 0)
        return -1;
    for (int i = 0; i < POLICIES; i++) {
        if (simulate(&policies[i], &l, sojourns) != 0)
            break;
        values[i] = quantile(sojourns, TASKS, 0.999);
    }
    load_fini(&l);
    snprintf(what, sizeof what, "%s, %.2f", law_name(law), load);
    report_row(r, what, values);
    return 0;
}

int main(int argc, char **argv)
{
    static const double loads[] = {0.3, 0.5, 0.7, 0.8, 0.9};
    struct report r;
    double *sojourns = malloc(TASKS * sizeof *sojourns);
    if (!sojourns)
        return 1;
    report_begin(&r, "sched_policies", argc, argv);
    report_table(&r, "p99.9 of the sojourn in mean times of service, simulated", "service, load",
                 columns, POLICIES);
    for (enum law law = 0; law < LAWS; law++)
        for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
            if (show(&r, law, loads[i], sojourns) != 0)
                return 1;
    report_end(&r);
    free(sojourns);
    return 0;
}
