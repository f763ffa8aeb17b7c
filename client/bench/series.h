/* What a load measured second by second.  A latency is exact to three percent, so that a second
 * takes 4 KiB.  One thread at a time. */
#ifndef ERGON_BENCH_SERIES_H
#define ERGON_BENCH_SERIES_H

#include "client/bench/hdr_histogram.h"

enum { SERIES_CELLS = HDR_CELLS / 32 };

struct series_second {
    uint64_t sent;   /* requests that were to be sent in it */
    uint64_t good;   /* answers that came in it, without an error */
    uint64_t failed; /* with one */
    uint64_t max_ns; /* of good ones, as the cells are */
    uint32_t cells[SERIES_CELLS];
};

struct series {
    struct series_second *seconds; /* owned */
    uint32_t count, room;
    bool wanted; /* false: nothing is noted */
    bool cut;    /* there was no memory for some second */
};

void series_fini(struct series *s);

/* `at_ns`: since what counts began. */
void series_note_sent(struct series *s, uint64_t at_ns);
void series_note_answer(struct series *s, uint64_t at_ns, uint64_t latency_ns, bool good);

void series_merge(struct series *to, const struct series *from);

/* Nanoseconds; 0 where nothing was answered. */
uint64_t series_percentile(const struct series_second *s, double percent);

/* Writes a CSV file, a line a second.  False: it could not be opened, or not be written whole, and
 * `why` names the path and says why.  Blocks. */
bool series_write(const char *path, const struct series *s, char *why, size_t why_size);

#endif
