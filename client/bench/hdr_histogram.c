#include "client/bench/hdr_histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 1 << HDR_STEPS_LOG2 };

bool hdr_init(struct hdr_histogram *h)
{
    *h = (struct hdr_histogram){.min = UINT64_MAX};
    h->cells = calloc(HDR_CELLS, sizeof *h->cells);
    return h->cells != NULL;
}

void hdr_fini(struct hdr_histogram *h)
{
    free(h->cells);
    h->cells = NULL;
}

void hdr_reset(struct hdr_histogram *h)
{
    memset(h->cells, 0, HDR_CELLS * sizeof *h->cells);
    h->count = h->sum = h->max = 0;
    h->min = UINT64_MAX;
}

uint64_t hdr_cell_top(size_t cell)
{
    if (cell < 2 * STEPS)
        return cell;
    unsigned shift = (unsigned)(cell >> HDR_STEPS_LOG2) - 1;
    uint64_t step = cell - ((size_t)shift << HDR_STEPS_LOG2);
    return ((step + 1) << shift) - 1;
}

void hdr_merge(struct hdr_histogram *to, const struct hdr_histogram *from)
{
    for (size_t cell = 0; cell < HDR_CELLS; cell++)
        to->cells[cell] += from->cells[cell];
    to->count += from->count;
    to->sum += from->sum;
    if (from->min < to->min)
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
}

uint64_t hdr_percentile(const struct hdr_histogram *h, double percent)
{
    /* 99.99 % of 20,000 is 19,998, though the product of doubles may be a hair above it. */
    uint64_t rank = (uint64_t)ceil(percent / 100.0 * (double)h->count - 1e-6);
    uint64_t seen = 0;
    if (h->count == 0)
        return 0;
    if (rank == 0)
        return h->min;
    for (size_t cell = 0; cell < HDR_CELLS; cell++) {
        seen += h->cells[cell];
        if (seen >= rank)
            return hdr_cell_top(cell) < h->max ? hdr_cell_top(cell) : h->max;
    }
    return h->max;
}

uint64_t hdr_count_to(const struct hdr_histogram *h, uint64_t value)
{
    uint64_t seen = 0;
    if (value >= h->max)
        return h->count;
    size_t last = hdr_cell(value);
    for (size_t cell = 0; cell <= last; cell++)
        seen += h->cells[cell];
    return seen;
}

double hdr_mean(const struct hdr_histogram *h)
{
    return h->count > 0 ? (double)h->sum / (double)h->count : 0;
}

double hdr_deviation(const struct hdr_histogram *h)
{
    double mean = hdr_mean(h);
    double squares = 0;
    for (size_t cell = 0; cell < HDR_CELLS; cell++) {
        double off = (double)hdr_cell_top(cell) - mean;
        squares += (double)h->cells[cell] * off * off;
    }
    return h->count > 0 ? sqrt(squares / (double)h->count) : 0;
}
