/* When the last starts of a key were: a log that slides.  It answers whether one more start leaves
 * every window of a duration `per`, wherever it is laid, with at most `max` starts.
 *
 * Why a log: a token bucket (and GCRA, which is one) bounds a burst and a mean.  One that holds
 * `max` tokens and gains them back lets 2 x max start within `per`: those that it held, and those
 * that it gained meanwhile.  One that never does so holds a single token, and spreads starts that
 * may well come together.  "At most max in any window" needs the times of the last max starts.
 *
 * Memory: a mark (16 bytes) a start, and only for starts within `per`.  Beyond START_MARKS starts a
 * window, those of a slice of per / START_MARKS share a mark, which counts all of them as of the
 * last: it errs on the safe side, and holds a start back for a slice (0.1 % of `per`) at most.  So
 * no key takes more than 16 KiB.  Without memory marks are shared, too.
 *
 * A start leaves the window when it is `per` old, to the ns: the window is open at one end.
 * Pure: the time, which never goes back, is passed in. */
#ifndef ERGON_JOBS_START_WINDOW_H
#define ERGON_JOBS_START_WINDOW_H

#include <ergon/ao.h>

enum { START_MARKS = 1024, START_MARKS_FEW = 2 };

struct start_mark {
    ao_time at;     /* the last of these starts; see start_window_age() */
    uint64_t count; /* starts */
};

/* How many may start in which time. */
struct start_rate {
    uint32_t max; /* 1 and more */
    ao_time per;  /* ns, 1 and more */
};

struct start_window {
    struct start_mark *marks; /* ring, `few` or malloc'ed */
    struct start_mark few[START_MARKS_FEW];
    uint32_t first, length, room; /* of the ring; room is a power of two */
    ao_time slice_began;          /* the first start of the newest mark */
    uint64_t count;               /* starts, of all marks */
};

void start_window_init(struct start_window *w);
void start_window_fini(struct start_window *w);

/* A start at `now`; if a later start was added before it, it counts at the time of that. */
void start_window_add(struct start_window *w, struct start_rate rate, ao_time now);
/* Starts that were `age` before now, or longer: read back from a file, the oldest first. */
void start_window_add_past(struct start_window *w, struct start_rate rate, ao_time age,
                           uint64_t count, ao_time now);
/* Forgets the starts that have left the window. */
void start_window_pass(struct start_window *w, struct start_rate rate, ao_time now);

/* After start_window_pass(): so many more may start, beside `promised` starts to come. */
uint32_t start_window_free(const struct start_window *w, struct start_rate rate, uint64_t promised);
/* When the next start leaves it; AO_NEVER: it is empty. */
ao_time start_window_moves(const struct start_window *w, struct start_rate rate);
/* When the n-th job that waits (from 0) may start, if those before it, and the promised ones, start
 * as early as they may. */
ao_time start_window_opens(const struct start_window *w, struct start_rate rate, uint64_t promised,
                           uint32_t n, ao_time now);

/* A start may have been before the clock's zero, since a clock begins with the machine: so what
 * a mark holds is later than the clock's time by this. */
#define START_EPOCH ((ao_time)1 << 62)

/* The i-th mark from the oldest; i < length. */
static inline const struct start_mark *start_window_mark(const struct start_window *w, uint32_t i)
{
    return &w->marks[(w->first + i) & (w->room - 1)];
}

/* How long ago the last start of the mark was. */
static inline ao_time start_window_age(const struct start_mark *mark, ao_time now)
{
    return now + START_EPOCH > mark->at ? now + START_EPOCH - mark->at : 0;
}

#endif
