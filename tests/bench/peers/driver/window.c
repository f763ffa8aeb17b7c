#include "tests/bench/peers/driver/window.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/peers/driver/processor.h"

struct usage {
    double driver, server, alone, machine;
    uint64_t at;
};

static struct usage usage_now(const struct window_options *o)
{
    struct usage u = {.driver = processor_own(), .machine = processor_machine()};

    u.alone = o->pid_count > 0 ? processor_of(o->pids[0]) : 0;
    u.server = u.alone;
    for (int i = 1; i < o->pid_count; i++)
        u.server += processor_of(o->pids[i]);
    u.at = processor_clock_ns();
    return u;
}

static double positive(double v)
{
    return v > 0 ? v : 0;
}

bool window_measure(window_run *run, void *load, struct hdr_histogram *times,
                    const struct window_options *o, struct window *w)
{
    hdr_reset(times);
    struct usage before = usage_now(o);
    bool ok = run(load, before.at + (uint64_t)(o->seconds * 1e9));
    struct usage after = usage_now(o);
    *w = (struct window){
        .tasks = (double)times->count,
        .seconds = (double)(after.at - before.at) / 1e9,
        .p50 = (double)hdr_percentile(times, 50) / 1e3,
        .p99 = (double)hdr_percentile(times, 99) / 1e3,
        .p999 = (double)hdr_percentile(times, 99.9) / 1e3,
        .max = (double)times->max / 1e3,
        .driver = after.driver - before.driver,
        .server = after.server - before.server,
        .alone = after.alone - before.alone,
    };
    w->others = positive(after.machine - before.machine - w->driver - w->server);
    if (ok && w->tasks == 0)
        fprintf(stderr, "driver: no task ended in the window\n");
    return ok && w->tasks > 0;
}

static double rate(const struct window *w)
{
    return w->tasks / w->seconds;
}

void window_print_json(const struct window *w)
{
    printf("{\"rate\":%.1f,\"tasks\":%.0f,\"seconds\":%.4f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
           "\"p999_us\":%.1f,\"max_us\":%.1f,\"lag_us\":%.2f,\"driver_us\":%.4f,\"server_us\":%.4f,"
           "\"alone_us\":%.4f,\"driver_cores\":%.3f,\"server_cores\":%.3f,\"other_cores\":%.3f}\n",
           rate(w), w->tasks, w->seconds, w->p50, w->p99, w->p999, w->max, w->lag,
           w->driver / w->tasks * 1e6, w->server / w->tasks * 1e6, w->alone / w->tasks * 1e6,
           w->driver / w->seconds, w->server / w->seconds, w->others / w->seconds);
    fflush(stdout);
}

static int by_rate(const void *a, const void *b)
{
    double x = rate(a), y = rate(b);

    return (x > y) - (x < y);
}

void window_print(struct window *w, size_t count)
{
    qsort(w, count, sizeof *w, by_rate);
    const struct window *m = &w[count / 2];

    printf("rate      %.0f /s (%.0f to %.0f)\n", rate(m), rate(&w[0]), rate(&w[count - 1]));
    printf("time      p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us\n", m->p50, m->p99,
           m->p999, m->max);
    printf("a task    server %.3f us (%.3f alone, without workers), driver %.3f us of processor "
           "time\n",
           m->server / m->tasks * 1e6, m->alone / m->tasks * 1e6, m->driver / m->tasks * 1e6);
    printf("cores     server %.2f, driver %.2f, others %.2f\n", m->server / m->seconds,
           m->driver / m->seconds, m->others / m->seconds);
}
