#include "client/bench/series.h"

#include "base/grow.h"
#include "client/bench/output.h"

#include <inttypes.h>
#include <math.h>

enum { CELLS_TOGETHER = HDR_CELLS / SERIES_CELLS, SECONDS_MAX = 1 << 20 };
static const uint64_t SECOND_NS = 1000 * 1000 * 1000;

void series_fini(struct series *s)
{
    free(s->seconds);
    *s = (struct series){0};
}

/* NULL: without memory, or it is not wanted. */
static struct series_second *reach(struct series *s, uint64_t second)
{
    if (second < s->count)
        return &s->seconds[second];
    if (!s->wanted)
        return NULL;
    struct series_second *grown =
        second < SECONDS_MAX ? grow_array(s->seconds, &s->room, (uint32_t)second, sizeof *grown)
                             : NULL;
    s->cut = s->cut || grown == NULL;
    if (grown == NULL)
        return NULL;
    s->seconds = grown;
    s->count = (uint32_t)second + 1;
    return &s->seconds[second];
}

void series_note_sent(struct series *s, uint64_t at_ns)
{
    struct series_second *second = reach(s, at_ns / SECOND_NS);
    if (second != NULL)
        second->sent++;
}

void series_note_answer(struct series *s, uint64_t at_ns, uint64_t latency_ns, bool good)
{
    struct series_second *second = reach(s, at_ns / SECOND_NS);
    if (second == NULL)
        return;
    second->good += good;
    second->failed += !good;
    if (!good)
        return;
    second->cells[hdr_cell(latency_ns) / CELLS_TOGETHER]++;
    if (latency_ns > second->max_ns)
        second->max_ns = latency_ns;
}

void series_merge(struct series *to, const struct series *from)
{
    to->wanted = to->wanted || from->wanted;
    to->cut = to->cut || from->cut;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct series_second *f = &from->seconds[i];
        struct series_second *t = reach(to, i);
        if (t == NULL)
            return;
        t->sent += f->sent;
        t->good += f->good;
        t->failed += f->failed;
        if (f->max_ns > t->max_ns)
            t->max_ns = f->max_ns;
        for (size_t cell = 0; cell < SERIES_CELLS; cell++)
            t->cells[cell] += f->cells[cell];
    }
}

uint64_t series_percentile(const struct series_second *s, double percent)
{
    uint64_t seen = 0, rank = (uint64_t)ceil(percent / 100 * (double)s->good - 1e-6);
    for (size_t cell = 0; cell < SERIES_CELLS && s->good > 0; cell++) {
        seen += s->cells[cell];
        uint64_t top = hdr_cell_top((cell + 1) * CELLS_TOGETHER - 1);
        if (seen >= rank && seen > 0)
            return top < s->max_ns ? top : s->max_ns;
    }
    return s->max_ns;
}

static void print(FILE *out, const void *series)
{
    const struct series *s = series;
    fputs("second,sent,good,errors,p50_us,p90_us,p99_us,p99.9_us,max_us\n", out);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct series_second *second = &s->seconds[i];
        const double percents[] = {50, 90, 99, 99.9};
        fprintf(out, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, i, second->sent, second->good,
                second->failed);
        for (size_t p = 0; p < sizeof percents / sizeof *percents; p++)
            fprintf(out, ",%.1f", (double)series_percentile(second, percents[p]) / 1000);
        fprintf(out, ",%.1f\n", (double)second->max_ns / 1000);
    }
}

bool series_write(const char *path, const struct series *s, char *why, size_t why_size)
{
    return output_write(path, print, s, why, why_size);
}
