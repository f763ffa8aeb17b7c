#include "tests/bench/peers/driver/processor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static double clock_seconds(clockid_t clock)
{
    return (double)clock_read(clock) / 1e9;
}

uint64_t processor_clock_ns(void)
{
    return clock_monotonic();
}

double processor_own(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double processor_of(pid_t pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (!f)
        return 0;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    const char *after_name = strrchr(text, ')');
    if (!after_name ||
        sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double processor_machine(void)
{
    unsigned long user = 0, nice = 0, system = 0, interrupt = 0, soft = 0, steal = 0;
    FILE *f = fopen("/proc/stat", "r");

    if (!f)
        return 0;
    int got = fscanf(f, "cpu %lu %lu %lu %*u %*u %lu %lu %lu", &user, &nice, &system, &interrupt,
                     &soft, &steal);
    fclose(f);
    if (got != 6)
        return 0;
    return (double)(user + nice + system + interrupt + soft + steal) / (double)sysconf(_SC_CLK_TCK);
}
