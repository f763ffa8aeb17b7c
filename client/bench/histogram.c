#include "client/bench/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 1 << HISTOGRAM_STEPS_LOG2 };

bool histogram_init(struct histogram *h)
{
    *h = (struct histogram){.min = UINT64_MAX};
    h->cells = calloc(HISTOGRAM_CELLS, sizeof *h->cells);
    return h->cells != NULL;
}

void histogram_fini(struct histogram *h)
{
    free(h->cells);
    h->cells = NULL;
}

void histogram_reset(struct histogram *h)
{
    memset(h->cells, 0, HISTOGRAM_CELLS * sizeof *h->cells);
    h->count = h->sum = h->max = 0;
    h->min = UINT64_MAX;
}

uint64_t histogram_cell_top(size_t cell)
{
    if (cell < 2 * STEPS)
        return cell;
    unsigned shift = (unsigned)(cell >> HISTOGRAM_STEPS_LOG2) - 1;
    uint64_t step = cell - ((size_t)shift << HISTOGRAM_STEPS_LOG2);
    return ((step + 1) << shift) - 1;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    for (size_t cell = 0; cell < HISTOGRAM_CELLS; cell++)
        to->cells[cell] += from->cells[cell];
    to->count += from->count;
    to->sum += from->sum;
    if (from->min < to->min)
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    /* 99.99 % of 20,000 is 19,998, though the product of doubles may be a hair above it. */
    uint64_t rank = (uint64_t)ceil(percent / 100.0 * (double)h->count - 1e-6);
    uint64_t seen = 0;
    if (h->count == 0)
        return 0;
    if (rank == 0)
        return h->min;
    for (size_t cell = 0; cell < HISTOGRAM_CELLS; cell++) {
        seen += h->cells[cell];
        if (seen >= rank)
            return histogram_cell_top(cell) < h->max ? histogram_cell_top(cell) : h->max;
    }
    return h->max;
}

uint64_t histogram_count_to(const struct histogram *h, uint64_t value)
{
    uint64_t seen = 0;
    if (value >= h->max)
        return h->count;
    size_t last = histogram_cell(value);
    for (size_t cell = 0; cell <= last; cell++)
        seen += h->cells[cell];
    return seen;
}

double histogram_mean(const struct histogram *h)
{
    return h->count > 0 ? (double)h->sum / (double)h->count : 0;
}

double histogram_deviation(const struct histogram *h)
{
    double mean = histogram_mean(h);
    double squares = 0;
    for (size_t cell = 0; cell < HISTOGRAM_CELLS; cell++) {
        double off = (double)histogram_cell_top(cell) - mean;
        squares += (double)h->cells[cell] * off * off;
    }
    return h->count > 0 ? sqrt(squares / (double)h->count) : 0;
}
