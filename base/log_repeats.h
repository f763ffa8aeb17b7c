/* Sums up records that repeat.
 *
 * Of one kind and source so many records a window are written, and those that follow are counted;
 * when the window has ended, one sum tells how many they were.  Kind is the event with its level,
 * source is the first text of a record, of a peer its address.  The table is bounded: sources that
 * find no place in it share one with the others of their kind, so that a crowd of sources leaves
 * the records of other kinds alone.
 *
 * Plain data with no lock: whoever shares one guards it.  Time is passed in (monotonic ns). */
#ifndef ERGON_BASE_LOG_REPEATS_H
#define ERGON_BASE_LOG_REPEATS_H

#include "base/log.h"

enum {
    LOG_SOURCE_MAX = 64,         /* with its zero; a longer source is cut */
    LOG_REPEATS_WAYS = 8,        /* places in which one kind and source may stand */
    LOG_REPEATS_PLACES = 32 * 8, /* in all, without those that are shared */
    LOG_REPEATS_SHARED = 64,     /* by kind; kinds may meet there */
    LOG_REPEATS_ALL = LOG_REPEATS_PLACES + LOG_REPEATS_SHARED
};

/* Records that were left out. */
struct log_sum {
    enum log_level level;
    const char *event;           /* NULL: of several kinds */
    char source[LOG_SOURCE_MAX]; /* empty: they have none, or several */
    uint64_t times;              /* 0: there is nothing to say */
    uint64_t within;             /* ns: from the begin of the window until now */
};

struct log_repeat {
    enum log_level level;
    const char *event;
    char source[LOG_SOURCE_MAX];
    uint64_t began;   /* of the window */
    uint32_t written; /* within it; 0: the place is free */
    uint64_t held;    /* left out within it */
};

struct log_repeats {
    uint32_t most;   /* records of one kind and source that are written in a window; 0: all */
    uint64_t window; /* ns */
    uint32_t open;   /* places with held > 0 */
    struct log_repeat at[LOG_REPEATS_ALL]; /* the last are shared */
};

void log_repeats_init(struct log_repeats *r, uint32_t most, uint64_t window);

/* Fills `source` (LOG_SOURCE_MAX bytes) with the source of a record that has these fields. */
void log_source(const struct log_field *fields, char *source);

/* True: the record is to be written; false: it was counted.  `sum` is what must be said before it;
 * its times may be 0. */
bool log_repeats_admit(struct log_repeats *r, uint64_t now, enum log_level level, const char *event,
                       const char *source, struct log_sum *sum);

/* The next sum whose window has ended at `now`, or, with `all`, any.  False: there is none. */
bool log_repeats_due(struct log_repeats *r, uint64_t now, bool all, struct log_sum *sum);

/* When the next sum is due; UINT64_MAX: nothing is held. */
uint64_t log_repeats_next(const struct log_repeats *r);

#endif
