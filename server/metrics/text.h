/* Figures as text, written into a buffer that grows: families with their type, unit and help, and
 * their samples.  It is OpenMetrics 1.0, or what was before it, Prometheus' text format 0.0.4:
 * there a family has the name of its samples, an info is a gauge, and there are neither units nor
 * an end mark.
 *
 * A family is begun once, and all its samples follow before the next begins.  Labels are text that
 * has its names and quotes already, as metrics_label() makes it.
 *
 * Thread: one at a time.  Without memory nothing more is written, and `failed` says so. */
#ifndef ERGON_METRICS_TEXT_H
#define ERGON_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"

enum metrics_format { METRICS_OPENMETRICS, METRICS_CLASSIC, METRICS_FORMATS };

struct metrics_text {
    enum metrics_format format; /* to be set while it is empty */
    char *at;                   /* owned; a NUL follows what was written */
    size_t length, room;
    bool failed;
};

void metrics_text_free(struct metrics_text *t);
/* It can be written anew; its format and memory stay. */
void metrics_text_clear(struct metrics_text *t);

enum metrics_type {
    METRICS_COUNTER,
    METRICS_GAUGE,
    METRICS_HISTOGRAM,
    METRICS_INFO,
    METRICS_TYPES
};

/* `name` without suffix; with a `unit` ("seconds", "bytes") it ends with that; NULL: none.  All
 * constant. */
struct metrics_family {
    const char *name;
    enum metrics_type type;
    const char *unit, *help;
};

void metrics_begin(struct metrics_text *t, const struct metrics_family *f);

/* One sample; of a counter its name ends in _total, of an info in _info.  `labels`: `a="b",c="d"`,
 * or "". */
void metrics_count(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                   uint64_t value);
/* The same of seconds. */
void metrics_ns(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                uint64_t ns);
/* The samples of a histogram, in seconds: buckets that count all below them, count and sum. */
void metrics_histogram(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                       const struct histogram_sum *h);

/* The last line, where the format has one. */
void metrics_end(struct metrics_text *t);

/* Appends `name="value"`, escaped, to `labels`; what does not fit is left out whole, and
 * bytes that are no UTF-8 become '?'.  Returns `labels`. */
char *metrics_label(char *labels, size_t size, const char *name, const char *value);

#endif
