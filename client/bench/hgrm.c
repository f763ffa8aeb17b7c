#include "client/bench/hgrm.h"

#include "client/bench/output.h"

#include <math.h>

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

void hgrm_print(FILE *out, const struct hdr_histogram *h)
{
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    for (double percent = 0; h->count > 0; percent = next_percent(percent)) {
        uint64_t value = hdr_percentile(h, percent);
        uint64_t count = hdr_count_to(h, value);
        if (count == h->count)
            break;
        print_line(out, value, percent, count);
    }
    if (h->count > 0)
        print_line(out, h->max, 100, h->count);
    fprintf(out, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", hdr_mean(h) / NS_PER_MS,
            hdr_deviation(h) / NS_PER_MS);
    fprintf(out, "#[Max     = %12.6f, Total count    = %12llu]\n", (double)h->max / NS_PER_MS,
            (unsigned long long)h->count);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", HDR_VALUE_LOG2 - HDR_STEPS_LOG2,
            2 << HDR_STEPS_LOG2);
}

static void print(FILE *out, const void *histogram)
{
    hgrm_print(out, histogram);
}

bool hgrm_write(const char *path, const struct hdr_histogram *h, char *why, size_t why_size)
{
    return output_write(path, print, h, why, why_size);
}
