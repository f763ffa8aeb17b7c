/* The process, those of its modules, its logs, and what the families of a sample are made with. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/metrics/families.h"
#include "server/tracing/tracer.h"

static const uint64_t ns_per_second = 1000000000, ns_per_us = 1000;

void write_one(struct metrics_text *t, const char *name, enum metrics_type type, const char *unit,
               uint64_t value, const char *help)
{
    const struct metrics_family f = {name, type, unit, help};
    metrics_begin(t, &f);
    metrics_count(t, &f, "", value);
}

void write_one_ns(struct metrics_text *t, const char *name, enum metrics_type type, uint64_t ns,
                  const char *help)
{
    const struct metrics_family f = {name, type, "seconds", help};
    metrics_begin(t, &f);
    metrics_ns(t, &f, "", ns);
}

/* Of /proc/self/statm; 0: it cannot be read. */
static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The kernel says it as the size of that folder since Linux 6.2; before that they are counted. */
static uint64_t open_descriptors(void)
{
    uint64_t count = 0;
    struct stat folder;
    if (stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0)
        return (uint64_t)folder.st_size;
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        count += e->d_name[0] != '.';
    closedir(d);
    return count > 0 ? count - 1 : 0; /* without the one that reads */
}

static uint64_t ns_of(struct timeval v)
{
    return (uint64_t)v.tv_sec * ns_per_second + (uint64_t)v.tv_usec * ns_per_us;
}

static void write_build(struct metrics_text *t, const struct rpc_shared *s)
{
    const struct metrics_family f = {"ergon_build", METRICS_INFO, NULL,
                                     "The version of the server, and how its loops wait."};
    char labels[LABELS_MAX] = "";
    metrics_begin(t, &f);
    metrics_label(labels, sizeof labels, "version", ERGON_VERSION);
    if (s->idle)
        metrics_label(labels, sizeof labels, "idle", s->idle);
    metrics_count(t, &f, labels, 1);
}

/* Unix seconds.  What has no end is left out: a time that is none would look like an end. */
static void write_end(struct metrics_text *t, const struct metrics_family *f, const char *purpose,
                      const char *listener, const _Atomic int64_t *at)
{
    int64_t ends = atomic_load_explicit(at, memory_order_relaxed);
    char labels[LABELS_MAX] = "";

    if (ends <= 0 || ends == INT64_MAX)
        return;
    metrics_label(labels, sizeof labels, "purpose", purpose);
    if (listener)
        metrics_label(labels, sizeof labels, "listener", listener);
    metrics_count(t, f, labels, (uint64_t)ends);
}

static void write_ends(struct metrics_text *t, const struct rpc_setup *setup)
{
    static const struct metrics_family f = {
        "ergon_certificate_not_after_seconds", METRICS_GAUGE, "seconds",
        "When it ends, since 1970: the certificate of a listener, its list of revoked ones, the "
        "first of the tokens. As of the start or the last reload; none where there is none."};
    uint32_t count = atomic_load_explicit(&setup->listener_count, memory_order_acquire);

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < count; i++) {
        const struct rpc_listener *l = &setup->listeners[i];
        write_end(t, &f, "listener", l->url, &l->certificate_ends);
        write_end(t, &f, "crl", l->url, &l->crl_ends);
    }
    write_end(t, &f, "token", NULL, &setup->token_ends);
}

void write_process(struct metrics_text *t, const struct rpc_shared *s)
{
    struct rusage used = {0};
    struct rlimit files = {0};
    uint64_t up = clock_monotonic() - s->started;

    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_NOFILE, &files);
    write_build(t, s);
    write_one_ns(t, "process_start_time_seconds", METRICS_GAUGE, clock_wall() - up,
                 "Start of the server, since 1970.");
    write_one_ns(t, "ergon_uptime_seconds", METRICS_GAUGE, up, "For how long the server runs.");
    write_one_ns(t, "process_cpu_seconds", METRICS_COUNTER,
                 ns_of(used.ru_utime) + ns_of(used.ru_stime), "Processor time of all threads.");
    write_one(t, "process_resident_memory_bytes", METRICS_GAUGE, "bytes", resident_bytes(),
              "Memory that is not swapped out.");
    write_one(t, "process_open_fds", METRICS_GAUGE, NULL, open_descriptors(), "Open descriptors.");
    write_one(t, "process_max_fds", METRICS_GAUGE, NULL, (uint64_t)files.rlim_cur,
              "How many descriptors may be open.");
    write_one(t, "ergon_draining", METRICS_GAUGE, NULL,
              atomic_load_explicit(&s->draining, memory_order_relaxed),
              "1 while the server shuts down, else 0.");
    write_ends(t, &s->setup);
}

static void write_log(struct metrics_text *t, const struct metrics_family *f, uint64_t log,
                      uint64_t audit)
{
    metrics_begin(t, f);
    metrics_count(t, f, "log=\"log\"", log);
    metrics_count(t, f, "log=\"audit\"", audit);
}

void write_logs(struct metrics_text *t)
{
    static const struct metrics_family records = {"ergon_log_records", METRICS_COUNTER, NULL,
                                                  "Records that were accepted."};
    static const struct metrics_family repeated = {
        "ergon_log_repeated", METRICS_COUNTER, NULL,
        "Records that were left out, since they repeat others, and summed up."};
    static const struct metrics_family dropped = {
        "ergon_log_dropped", METRICS_COUNTER, NULL,
        "Records that were lost for want of room or of a disk."};
    static const struct metrics_family waiting = {"ergon_log_waiting_bytes", METRICS_GAUGE, "bytes",
                                                  "Records that are still to be written."};
    struct log_figures l = log_figures(), a = audit_figures();

    write_log(t, &records, l.records, a.records);
    write_log(t, &repeated, l.repeated, a.repeated);
    write_log(t, &dropped, l.dropped, a.dropped);
    write_log(t, &waiting, l.waiting, a.waiting);
}

void write_spans(struct metrics_text *t, const struct rpc_shared *s)
{
    struct tracer_figures f;

    tracer_figures(s->tracer, &f);
    write_one(t, "ergon_spans_exported", METRICS_COUNTER, NULL, f.exported,
              "Spans that a collector took.");
    write_one(t, "ergon_spans_dropped", METRICS_COUNTER, NULL, f.dropped,
              "Spans that found no room, or no collector in time.");
    write_one(t, "ergon_spans_waiting", METRICS_GAUGE, NULL, f.waiting,
              "Spans that wait for the collector.");
}

/* --- Modules in processes of their own; a server without any has no such family --- */

static bool next_module(const struct rpc_processes *p, uint32_t place,
                        struct rpc_module_figures *out)
{
    return p->figures && p->figures(p->arg, place, out);
}

static const char *label(char buf[LABELS_MAX], const struct rpc_module_figures *f)
{
    buf[0] = '\0';
    return metrics_label(buf, LABELS_MAX, "module", f->module);
}

void write_modules(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family
        running = {"ergon_module_processes", METRICS_GAUGE, NULL, "Processes of modules that run."},
        ended = {"ergon_module_process_ends", METRICS_COUNTER, NULL,
                 "Processes of modules that had run and ended."},
        failed = {"ergon_module_process_failures", METRICS_COUNTER, NULL,
                  "Processes of modules that did not start, or were refused."};
    struct rpc_module_figures f;
    char labels[LABELS_MAX];

    if (!next_module(&s->processes, 0, &f))
        return;
    metrics_begin(t, &running);
    for (uint32_t i = 0; next_module(&s->processes, i, &f); i++)
        metrics_count(t, &running, label(labels, &f), f.running);
    metrics_begin(t, &ended);
    for (uint32_t i = 0; next_module(&s->processes, i, &f); i++)
        metrics_count(t, &ended, label(labels, &f), f.ended);
    metrics_begin(t, &failed);
    for (uint32_t i = 0; next_module(&s->processes, i, &f); i++)
        metrics_count(t, &failed, label(labels, &f), f.failed);
}
