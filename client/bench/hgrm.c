#include "client/bench/hgrm.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { TICKS = 5 }; /* lines for each halving of the distance to 100 % */

static const double NS_PER_MS = 1e6;

static void print_line(FILE *out, uint64_t ns, double percent, uint64_t count)
{
    fprintf(out, "%12.6f %14.12f %10llu", (double)ns / NS_PER_MS, percent / 100,
            (unsigned long long)count);
    if (percent < 100)
        fprintf(out, " %14.2f", 100 / (100 - percent));
    fputc('\n', out);
}

static double next_percent(double percent)
{
    double halvings = floor(log2(100 / (100 - percent))) + 1;
    return percent + 100 / (TICKS * exp2(halvings));
}

void hgrm_print(FILE *out, const struct histogram *h)
{
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    for (double percent = 0; h->count > 0; percent = next_percent(percent)) {
        uint64_t value = histogram_percentile(h, percent);
        uint64_t count = histogram_count_to(h, value);
        if (count == h->count)
            break;
        print_line(out, value, percent, count);
    }
    if (h->count > 0)
        print_line(out, h->max, 100, h->count);
    fprintf(out, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", histogram_mean(h) / NS_PER_MS,
            histogram_deviation(h) / NS_PER_MS);
    fprintf(out, "#[Max     = %12.6f, Total count    = %12llu]\n", (double)h->max / NS_PER_MS,
            (unsigned long long)h->count);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n",
            HISTOGRAM_VALUE_LOG2 - HISTOGRAM_STEPS_LOG2, 2 << HISTOGRAM_STEPS_LOG2);
}

static bool cannot_write(const char *path, char *why, size_t why_size)
{
    char text[96];
    snprintf(why, why_size, "cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
    return false;
}

bool hgrm_check(const char *path, char *why, size_t why_size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return (errno == EEXIST && access(path, W_OK) == 0) || cannot_write(path, why, why_size);
    close(fd);
    unlink(path); /* there is no empty file where there is no result */
    return true;
}

bool hgrm_write(const char *path, const struct histogram *h, char *why, size_t why_size)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return cannot_write(path, why, why_size);
    hgrm_print(out, h);
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    return good || cannot_write(path, why, why_size);
}
