#include "server/metrics/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "base/utf8.h"

enum {
    FIRST_ROOM = 65536, /* bytes */
    LINE_MAX = 1024,    /* bytes of one line */
    HELP_MAX = 512,     /* of these, help; what is longer is cut */
    LADDER_STEP = 4     /* of so many buckets, two octaves, one is shown */
};
static const uint64_t ns_per_second = 1000000000;

static const char *const types[METRICS_FORMATS][METRICS_TYPES] = {
    [METRICS_OPENMETRICS] = {[METRICS_COUNTER] = "counter",
                             [METRICS_GAUGE] = "gauge",
                             [METRICS_HISTOGRAM] = "histogram",
                             [METRICS_INFO] = "info"},
    [METRICS_CLASSIC] = {[METRICS_COUNTER] = "counter",
                         [METRICS_GAUGE] = "gauge",
                         [METRICS_HISTOGRAM] = "histogram",
                         [METRICS_INFO] = "gauge"}};
static const char *const suffixes[METRICS_TYPES] = {[METRICS_COUNTER] = "_total",
                                                    [METRICS_GAUGE] = "",
                                                    [METRICS_HISTOGRAM] = "",
                                                    [METRICS_INFO] = "_info"};

void metrics_text_free(struct metrics_text *t)
{
    free(t->at);
    *t = (struct metrics_text){0};
}

void metrics_text_clear(struct metrics_text *t)
{
    t->length = 0;
    t->failed = false;
}

static bool make_room(struct metrics_text *t)
{
    if (t->failed || t->room - t->length >= LINE_MAX)
        return !t->failed;
    size_t room = t->room ? t->room * 2 : FIRST_ROOM;
    char *at = realloc(t->at, room);
    t->failed = !at;
    if (!at)
        return false;
    t->at = at;
    t->room = room;
    return true;
}

/* One line, whole or not at all. */
__attribute__((format(printf, 2, 3))) static void line(struct metrics_text *t, const char *format,
                                                       ...)
{
    if (!make_room(t))
        return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->length, LINE_MAX, format, args);
    va_end(args);
    if (n < 0 || n >= LINE_MAX)
        t->failed = true;
    else
        t->length += (size_t)n;
}

/* OpenMetrics wants quotes in it escaped; the other would show the escape. */
static const char *help_of(char *text, size_t size, const struct metrics_text *t, const char *help)
{
    size_t length = 0;

    for (; *help && length + 2 < size; help++) {
        if (*help == '"' && t->format == METRICS_OPENMETRICS)
            text[length++] = '\\';
        text[length++] = *help;
    }
    text[length] = '\0';
    return text;
}

void metrics_begin(struct metrics_text *t, const struct metrics_family *f)
{
    const char *suffix = t->format == METRICS_CLASSIC ? suffixes[f->type] : "";
    char help[HELP_MAX];

    line(t, "# TYPE %s%s %s\n", f->name, suffix, types[t->format][f->type]);
    if (f->unit && t->format == METRICS_OPENMETRICS)
        line(t, "# UNIT %s %s\n", f->name, f->unit);
    line(t, "# HELP %s%s %s\n", f->name, suffix, help_of(help, sizeof help, t, f->help));
}

/* The name with its suffix, and the labels in braces if there are any. */
static void sample(struct metrics_text *t, const struct metrics_family *f, const char *suffix,
                   const char *labels, const char *value)
{
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    line(t, "%s%s%s%s%s %s\n", f->name, suffix, open, labels, close, value);
}

void metrics_count(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                   uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    sample(t, f, suffixes[f->type], labels, text);
}

static const char *seconds(char *text, size_t size, uint64_t ns)
{
    snprintf(text, size, "%" PRIu64 ".%09" PRIu64, ns / ns_per_second, ns % ns_per_second);
    return text;
}

void metrics_ns(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                uint64_t ns)
{
    char text[40];
    sample(t, f, suffixes[f->type], labels, seconds(text, sizeof text, ns));
}

static void bucket(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                   const char *bound, uint64_t count)
{
    line(t, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", f->name, labels, *labels ? "," : "", bound,
         count);
}

void metrics_histogram(struct metrics_text *t, const struct metrics_family *f, const char *labels,
                       const struct histogram_sum *h)
{
    char text[40];
    uint64_t count = 0;

    for (unsigned i = 0; i < HISTOGRAM_LAST; i++) {
        count += h->buckets[i];
        if (i % LADDER_STEP == 0)
            bucket(t, f, labels, seconds(text, sizeof text, histogram_bound(i)), count);
    }
    count += h->buckets[HISTOGRAM_LAST];
    bucket(t, f, labels, "+Inf", count);
    snprintf(text, sizeof text, "%" PRIu64, count);
    sample(t, f, "_count", labels, text);
    sample(t, f, "_sum", labels, seconds(text, sizeof text, h->sum_ns));
}

void metrics_end(struct metrics_text *t)
{
    if (t->format == METRICS_OPENMETRICS)
        line(t, "# EOF\n");
}

/* Behind `labels`; false: there is no room. */
static bool put(char *labels, size_t size, size_t *length, const char *text)
{
    size_t n = strlen(text);
    if (*length + n >= size)
        return false;
    memcpy(labels + *length, text, n + 1);
    *length += n;
    return true;
}

static bool put_value(char *labels, size_t size, size_t *length, const char *value)
{
    bool clean = utf8_valid(span_text(value)), good = true;
    for (; good && *value; value++) {
        char one[2] = {!clean && (unsigned char)*value >= 128 ? '?' : *value, 0};
        const char *escaped = *value == '\n'   ? "\\n"
                              : *value == '"'  ? "\\\""
                              : *value == '\\' ? "\\\\"
                                               : one;
        good = put(labels, size, length, escaped);
    }
    return good;
}

char *metrics_label(char *labels, size_t size, const char *name, const char *value)
{
    size_t before = strlen(labels), length = before;
    bool good = (before == 0 || put(labels, size, &length, ",")) &&
                put(labels, size, &length, name) && put(labels, size, &length, "=\"") &&
                put_value(labels, size, &length, value) && put(labels, size, &length, "\"");
    if (!good)
        labels[before] = '\0';
    return labels;
}
