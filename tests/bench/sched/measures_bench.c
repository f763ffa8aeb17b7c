/* What each measure makes of three executors that differ in weight and priority and are equally
 * fast: how many of 9,000 tasks each is given, from one in flight to more than all can take, and
 * what part of the three is busy.  A simulation of the choice itself, which goes by the same
 * function. */
#include <stdio.h>

#include "server/tasks/manager/placement.h"
#include "tests/bench/support/report.h"

enum { EXECUTORS = 3, BOUND = 2, TASKS = 9000, SERVICE = 1000 /* ns, simulated */ };

struct play {
    enum placement_policy policy;
    struct snapshot executors[EXECUTORS];
    uint64_t ends[EXECUTORS]; /* of the task that runs; valid while any is outstanding */
    unsigned given[EXECUTORS], waiting;
    int last;
    uint64_t now;
};

static void give(struct play *p)
{
    while (p->waiting > 0) {
        int i = placement_choose(p->policy, p->executors, EXECUTORS, PLACEMENT_NONE, p->last);
        if (i == PLACEMENT_NONE)
            return;
        if (p->executors[i].outstanding++ == 0)
            p->ends[i] = p->now + SERVICE;
        p->executors[i].history++;
        p->given[i]++;
        p->last = i;
        p->waiting--;
    }
}

/* The task that ends first; its place in flight is taken by the next. */
static void end_one(struct play *p)
{
    int first = -1;
    for (int i = 0; i < EXECUTORS; i++)
        if (p->executors[i].outstanding > 0 && (first < 0 || p->ends[i] < p->ends[first]))
            first = i;
    p->now = p->ends[first];
    p->executors[first].outstanding--;
    p->ends[first] = p->now + SERVICE;
}

static void run(enum placement_policy policy, unsigned in_flight, struct play *p)
{
    static const uint32_t weights[EXECUTORS] = {6, 2, 1};
    static const int priorities[EXECUTORS] = {0, 5, 10};
    *p = (struct play){.policy = policy, .waiting = in_flight, .last = PLACEMENT_NONE};
    for (int i = 0; i < EXECUTORS; i++)
        p->executors[i] = (struct snapshot){.bound = BOUND,
                                            .weight = weights[i],
                                            .priority = priorities[i],
                                            .awaited = policy == PLACEMENT_WEIGHT,
                                            .service_ns = SERVICE};
    for (unsigned n = 0; n < TASKS; n++) {
        give(p);
        end_one(p);
        p->waiting++;
    }
}

static void show(struct report *r, unsigned in_flight)
{
    static const struct report_column columns[] = {
        {"to the one of 6, %", 1}, {"of 2, %", 1}, {"of 1, %", 1}, {"busy, %", 1}};
    static const char *const names[] = {"occupancy", "length", "priority", "weight", "completion"};
    char title[64];
    snprintf(title, sizeof title, "%u in flight", in_flight);
    report_table(r, title, "measure", columns, 4);
    for (int policy = 0; policy <= PLACEMENT_COMPLETION; policy++) {
        struct play p;
        double values[EXECUTORS + 1];
        run((enum placement_policy)policy, in_flight, &p);
        unsigned all = p.given[0] + p.given[1] + p.given[2];
        for (int i = 0; i < EXECUTORS; i++)
            values[i] = 100.0 * p.given[i] / all;
        values[EXECUTORS] = 100.0 * TASKS * SERVICE / (double)(p.now * EXECUTORS);
        report_row(r, names[policy], values);
    }
}

int main(int argc, char **argv)
{
    static const unsigned in_flight[] = {1, 2, 3, 6, 64};
    struct report r;
    report_begin(&r, "sched_measures", argc, argv);
    for (size_t i = 0; i < sizeof in_flight / sizeof *in_flight; i++)
        show(&r, in_flight[i]);
    report_end(&r);
    return 0;
}
