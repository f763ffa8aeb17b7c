/* A picture of latencies, as SVG: over percentiles, or over rates.  One thread at a time; files are
 * written, so it may block. */
#ifndef ERGON_BENCH_PLOT_H
#define ERGON_BENCH_PLOT_H

#include "client/bench/hdr_histogram.h"

enum { PLOT_LINES_MAX = 6, PLOT_POINTS_MAX = 256 };

enum plot_axis {
    PLOT_PERCENT, /* stretched, so that 90, 99, 99.9 ... have equal distances */
    PLOT_RATE     /* requests a second, linear */
};

struct plot_point {
    double x;    /* as the axis says; percents below 100 */
    uint64_t ns; /* above 0, on a logarithmic scale */
};

struct plot_line {
    const char *name; /* the caller's */
    struct plot_point points[PLOT_POINTS_MAX];
    size_t count;
};

struct plot {
    const char *title; /* the caller's; any text */
    enum plot_axis axis;
    struct plot_line lines[PLOT_LINES_MAX];
    size_t count;
};

/* A point where there is room for one; a latency of 0 is none. */
void plot_add(struct plot_line *line, double x, uint64_t ns);

/* The percentiles of a histogram, as many as it has values for. */
void plot_add_histogram(struct plot_line *line, const struct hdr_histogram *h);

/* False: the file could not be opened, or not be written whole, and `why` names it and says why. */
bool plot_write(const char *path, const struct plot *plot, char *why, size_t why_size);

#endif
