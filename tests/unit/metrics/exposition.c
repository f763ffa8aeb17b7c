#include "tests/unit/metrics/exposition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

enum { NAME_SIZE = 128, FAMILIES = 256 };

struct reading {
    char families[FAMILIES][NAME_SIZE];
    unsigned count;
    char type[16];
    bool helped, ended;
    char **samples; /* names with their labels */
    size_t sample_count;
    double bucket; /* the last of the histogram's series */
    bool in_buckets;
};

static const char *family(const struct reading *r)
{
    return r->count > 0 ? r->families[r->count - 1] : "";
}

static void read_type(struct reading *r, const char *name, const char *type)
{
    for (unsigned i = 0; i < r->count; i++)
        if (strcmp(r->families[i], name) == 0)
            fail_msg("%s is typed twice", name);
    assert_true(r->count < FAMILIES);
    snprintf(r->families[r->count++], NAME_SIZE, "%s", name);
    snprintf(r->type, sizeof r->type, "%s", type);
    r->helped = false;
}

static void read_comment(struct reading *r, const char *line)
{
    char name[NAME_SIZE], rest[16];
    if (strcmp(line, "# EOF") == 0) {
        r->ended = true;
    } else if (sscanf(line, "# TYPE %127s %15s", name, rest) == 2) {
        read_type(r, name, rest);
    } else if (sscanf(line, "# UNIT %127s %15s", name, rest) == 2) {
        assert_string_equal(name, family(r));
        assert_true(strlen(name) > strlen(rest));
        assert_string_equal(name + strlen(name) - strlen(rest), rest);
    } else if (sscanf(line, "# HELP %127s %15s", name, rest) == 2) {
        assert_string_equal(name, family(r));
        assert_false(r->helped);
        r->helped = true;
    } else {
        fail_msg("no comment of OpenMetrics: %s", line);
    }
}

static bool suffix_fits(const char *type, const char *suffix)
{
    static const char *const fit[][2] = {
        {"counter", "_total"},    {"gauge", ""},           {"info", "_info"},
        {"histogram", "_bucket"}, {"histogram", "_count"}, {"histogram", "_sum"},
    };
    for (unsigned i = 0; i < sizeof fit / sizeof *fit; i++)
        if (strcmp(type, fit[i][0]) == 0 && strcmp(suffix, fit[i][1]) == 0)
            return true;
    return false;
}

/* `name` is that with the labels; they end before `value`. */
static void check_buckets(struct reading *r, const char *line, const char *suffix, double value)
{
    if (strcmp(r->type, "histogram") != 0)
        return;
    if (strncmp(suffix, "_bucket", 7) == 0) {
        if (r->in_buckets && value < r->bucket)
            fail_msg("buckets go down: %s", line);
        r->in_buckets = strstr(line, "le=\"+Inf\"") == NULL;
        r->bucket = value;
    } else {
        assert_false(r->in_buckets); /* +Inf came */
        if (strncmp(suffix, "_count", 6) == 0 && value != r->bucket)
            fail_msg("the count is not that of +Inf: %s", line);
    }
}

static void read_sample(struct reading *r, const char *line)
{
    const char *blank = strrchr(line, ' ');
    char suffix[32];
    assert_non_null(blank);
    size_t n = strlen(family(r));
    if (strncmp(line, family(r), n) != 0 || !r->helped)
        fail_msg("a sample outside of its family: %s", line);
    snprintf(suffix, sizeof suffix, "%.*s", (int)strcspn(line + n, "{ "), line + n);
    if (!suffix_fits(r->type, suffix))
        fail_msg("of a %s: %s", r->type, line);
    char *end, *sample = strndup(line, (size_t)(blank - line));
    double value = strtod(blank + 1, &end);
    assert_int_equal(*end, '\0');
    r->samples = realloc(r->samples, (r->sample_count + 1) * sizeof *r->samples);
    r->samples[r->sample_count++] = sample;
    check_buckets(r, line, suffix, value);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void exposition_check(const struct metrics_text *t)
{
    struct reading *r = calloc(1, sizeof *r);
    char *text = strndup(t->at, t->length), *rest = text;
    assert_int_equal(strlen(text), t->length);
    assert_int_equal(text[t->length - 1], '\n');
    for (char *line = strsep(&rest, "\n"); line && rest; line = strsep(&rest, "\n")) {
        assert_false(r->ended);
        if (line[0] == '#')
            read_comment(r, line);
        else
            read_sample(r, line);
    }
    assert_true(r->ended);
    qsort(r->samples, r->sample_count, sizeof *r->samples, by_text);
    for (size_t i = 1; i < r->sample_count; i++)
        if (strcmp(r->samples[i - 1], r->samples[i]) == 0)
            fail_msg("%s comes twice", r->samples[i]);
    for (size_t i = 0; i < r->sample_count; i++)
        free(r->samples[i]);
    free(r->samples);
    free(text);
    free(r);
}

static const char *find(const struct metrics_text *t, const char *sample)
{
    size_t n = strlen(sample);
    const char *end = t->at + t->length;
    for (const char *at = t->at; at && at < end;) {
        if ((size_t)(end - at) > n && memcmp(at, sample, n) == 0 && at[n] == ' ')
            return at + n + 1;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return NULL;
}

bool exposition_has(const struct metrics_text *t, const char *sample)
{
    return find(t, sample) != NULL;
}

double exposition_value(const struct metrics_text *t, const char *sample)
{
    const char *at = find(t, sample);
    if (!at)
        fail_msg("no sample \"%s\"", sample);
    return strtod(at, NULL);
}
