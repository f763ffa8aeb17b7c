/* The real manager and executors against the simulator, under the very same tasks: sojourns in mean
 * times of service.
 *
 *     bench_sched [--json] [--seconds S] [--load L]... [--service LAW] [--shape burn|wait]
 *
 *     burn   one blocking executor burns 1 ms a task
 *     wait   eight blocking executors wait 5 ms a task
 *
 * Each row takes S seconds (3) of load; all rows, some two and a half minutes. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/sched/real.h"
#include "tests/bench/sched/sim.h"
#include "tests/bench/support/report.h"

enum { LOADS_MAX = 16, PARTS = 3, SEED = 1, TASKS_MIN = 100, WARM_UP_PART = 20, QUEUE = 64 };
enum { PAIRS = 4 /* real, JBSQ, M/G/n, ratio */, COLUMNS = PAIRS * PARTS + 4 };

struct shape {
    const char *name, *title;
    struct real_options options;
};

static const struct shape shapes[] = {
    {"burn",
     "one executor, 1 ms of processor time",
     {.work = REAL_BURNS, .executors = 1, .service = AO_MS(1), .queue = QUEUE}},
    {"wait",
     "eight executors, 5 ms of waiting",
     {.work = REAL_WAITS, .executors = 8, .service = AO_MS(5), .queue = QUEUE}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct wanted {
    bool json;
    double seconds;
    double loads[LOADS_MAX];
    int load_count;
    const char *law, *shape; /* NULL: all */
};

static const double parts[PARTS] = {0.5, 0.99, 0.999};

static const struct report_column columns[COLUMNS] = {
    {"real p50", 2},    {"real p99", 2},   {"real p99.9", 2}, {"JBSQ p50", 2},
    {"JBSQ p99", 2},    {"JBSQ p99.9", 2}, {"M/G/n p50", 2},  {"M/G/n p99", 2},
    {"M/G/n p99.9", 2}, {"k", 2},          {"Z", 3},          {"stretch", 3},
    {"lag p99", 3},     {"ratio p50", 2},  {"ratio p99", 2},  {"ratio p99.9", 2},
};

/* The first of them find a system that knows no times of service yet. */
static void quantiles(double *sojourns, uint32_t count, double *values)
{
    uint32_t first = count / WARM_UP_PART;
    for (int i = 0; i < PARTS; i++)
        values[i] = quantile(sojourns + first, count - first, parts[i]);
}

static int compare(const struct real_options *o, const struct load *load, double *sojourns,
                   uint32_t *bounds, double *values)
{
    struct real_result real;
    struct sim jbsq = {
        .policy = POLICY_JBSQ, .servers = o->executors, .bound = o->queue, .bounds = bounds};
    const struct sim ideal = {.policy = POLICY_CENTRAL, .servers = o->executors};
    if (real_run(o, load, sojourns, bounds, &real) != 0)
        return -1;
    quantiles(sojourns, load->count, values);
    jbsq.hand_over = real.hand_over;
    if (simulate(&jbsq, load, sojourns) != 0)
        return -1;
    quantiles(sojourns, load->count, values + PARTS);
    if (simulate(&ideal, load, sojourns) != 0)
        return -1;
    quantiles(sojourns, load->count, values + PARTS * 2);
    double *rest = values + PARTS * 3;
    rest[0] = real.bound;
    rest[1] = real.hand_over;
    rest[2] = real.stretch;
    rest[3] = real.lag;
    for (int i = 0; i < PARTS; i++)
        rest[4 + i] = values[i] / values[PARTS + i];
    return 0;
}

static int show(struct report *r, const struct wanted *w, const struct shape *shape, enum law law,
                double load)
{
    const struct real_options *o = &shape->options;
    char what[64];
    double values[COLUMNS];
    double rate = load * o->executors;
    double tasks = w->seconds * 1e9 / (double)o->service * rate;
    uint32_t count = tasks < TASKS_MIN ? TASKS_MIN : (uint32_t)tasks;
    double *sojourns = malloc(count * sizeof *sojourns);
    uint32_t *bounds = malloc(count * sizeof *bounds);
    struct load l = {0};
    int failed = -1;
    if (sojourns && bounds && load_init(&l, law, rate, count, SEED) == 0 &&
        compare(o, &l, sojourns, bounds, values) == 0) {
        snprintf(what, sizeof what, "%s, %.2f, %u tasks", law_name(law), load, count);
        report_row(r, what, values);
        failed = 0;
    }
    load_fini(&l);
    free(sojourns);
    free(bounds);
    return failed;
}

static int show_shape(struct report *r, const struct wanted *w, const struct shape *shape)
{
    report_table(r, shape->title, "service, load", columns, COLUMNS);
    for (enum law law = 0; law < LAWS; law++) {
        if (w->law && strcmp(w->law, law_name(law)) != 0)
            continue;
        for (int i = 0; i < w->load_count; i++)
            if (show(r, w, shape, law, w->loads[i]) != 0)
                return -1;
    }
    return 0;
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--json] [--seconds S] [--load L]... [--service LAW] [--shape NAME]\n"
            "  S above 0, L above 0 and below 1; LAW: fixed, exponential, log-normal, bimodal;\n"
            "  NAME: burn, wait\n",
            program);
    return -1;
}

static bool known(const struct wanted *w)
{
    bool law = !w->law, shape = !w->shape, loads = true;
    for (enum law i = 0; i < LAWS; i++)
        law |= w->law && strcmp(w->law, law_name(i)) == 0;
    for (int i = 0; i < SHAPES; i++)
        shape |= w->shape && strcmp(w->shape, shapes[i].name) == 0;
    for (int i = 0; i < w->load_count; i++)
        loads &= w->loads[i] > 0 && w->loads[i] < 1;
    return law && shape && loads && w->seconds > 0;
}

static int parse(struct wanted *w, int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},        {"seconds", required_argument, NULL, 's'},
        {"load", required_argument, NULL, 'l'},  {"service", required_argument, NULL, 'v'},
        {"shape", required_argument, NULL, 'h'}, {0}};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'j':
            w->json = true;
            break;
        case 's':
            w->seconds = atof(optarg);
            break;
        case 'l':
            if (w->load_count == LOADS_MAX)
                return usage(argv[0]);
            w->loads[w->load_count++] = atof(optarg);
            break;
        case 'v':
            w->law = optarg;
            break;
        case 'h':
            w->shape = optarg;
            break;
        default:
            return usage(argv[0]);
        }
    }
    return optind < argc || !known(w) ? usage(argv[0]) : 0;
}

int main(int argc, char **argv)
{
    static const double loads[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
    struct wanted w = {.seconds = 3};
    struct report r;
    if (parse(&w, argc, argv) != 0)
        return 2;
    if (w.load_count == 0) {
        memcpy(w.loads, loads, sizeof loads);
        w.load_count = sizeof loads / sizeof *loads;
    }
    report_open(&r, "sched", w.json);
    for (int i = 0; i < SHAPES; i++)
        if ((!w.shape || strcmp(w.shape, shapes[i].name) == 0) &&
            show_shape(&r, &w, &shapes[i]) != 0)
            return 1;
    report_note(
        &r,
        "k: mean of the bounds that were in force, task by task, and simulated so; Z: hand-over, "
        "measured before, and simulated;\nstretch: services "
        "as they came out, over those asked for;\nlag: how late the generator was; "
        "ratio: real over simulated JBSQ");
    report_end(&r);
    return 0;
}
