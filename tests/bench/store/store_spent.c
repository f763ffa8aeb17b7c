#include "tests/bench/store/store_spent.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { RAW_BYTES = 128 };

static double used_by(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Bytes that the process has written, and by how many calls. */
static void written(double *bytes, double *calls)
{
    unsigned long long b = 0, n = 0;
    FILE *f = fopen("/proc/self/io", "r");
    if (!f || fscanf(f, "rchar: %*u wchar: %llu syscr: %*u syscw: %llu", &b, &n) != 2)
        b = n = 0;
    if (f)
        fclose(f);
    *bytes = (double)b;
    *calls = (double)n;
}

struct spent spent_so_far(const struct store *store)
{
    struct store_info info;
    store_info(store, &info);
    struct spent s = {.ns = (double)ao_clock_monotonic.now(NULL),
                      .writer_us = used_by(RUSAGE_SELF) - used_by(RUSAGE_THREAD),
                      .commits = (double)info.commits};
    written(&s.bytes, &s.calls);
    return s;
}

double raw_rate(const char *path, uint32_t batch, uint64_t total)
{
    size_t size = (size_t)batch * RAW_BYTES;
    char *bytes = calloc(1, size);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !bytes)
        abort();
    uint64_t done = 0;
    ao_time began = ao_clock_monotonic.now(NULL);
    for (; done < total && ao_clock_monotonic.now(NULL) - began < AO_S(2); done += batch)
        if (write(fd, bytes, size) != (ssize_t)size || fdatasync(fd) != 0)
            abort();
    double took = (double)(ao_clock_monotonic.now(NULL) - began);
    close(fd);
    unlink(path);
    free(bytes);
    return (double)done / took * 1e6;
}
