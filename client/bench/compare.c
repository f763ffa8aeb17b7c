#include "client/bench/compare.h"

#include "client/bench/text.h"

#include "base/utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMN = 14 };

/* What makes two runs runs of the same load. */
static const char *const PLAN[] = {"method",      "payload",   "submit", "loop",    "threads",
                                   "connections", "in_flight", "rate",   "arrivals"};

/* ---- the reports ---- */

/* A rate, or a time: what no run has cannot be compared. */
static bool is_figure(const json_t *value)
{
    const double most = 1e15;
    double n = json_number_value(value);
    return n >= 0 && n <= most;
}

static bool is_report(const json_t *j)
{
    const char *key;
    json_t *value, *times = json_object_get(j, "latency_us");
    const json_t *rate = json_object_get(j, "answers_per_second");
    json_object_foreach(times, key, value)
    {
        if (!is_figure(value))
            return false;
    }
    return json_is_object(times) && json_is_number(rate) && is_figure(rate);
}

/* `why` in one line: a file of somebody else may be quoted in it. */
static void explain(char *why, size_t why_size, const char *path, const char *what,
                    const char *more)
{
    char text[400];
    snprintf(text, sizeof text, "%s: %s%s", path, what, more);
    why[utf8_plain(why, why_size - 1, span_text(text))] = 0;
}

/* A new reference, or NULL. */
static json_t *read_report(const char *path, char *why, size_t why_size)
{
    json_error_t error;
    json_t *j = json_load_file(path, 0, &error);
    const char *refusal = json_string_value(json_object_get(j, "no_result"));
    if (j == NULL)
        explain(why, why_size, path, error.text, "");
    else if (is_report(j))
        return j;
    else if (refusal != NULL)
        explain(why, why_size, path, "the run had no result: ", refusal);
    else
        explain(why, why_size, path,
                "this is no report of one run, as ergon bench --json prints it", "");
    json_decref(j);
    return NULL;
}

/* ---- the figures ---- */

struct figure {
    const char *name;
    double value[2];
    bool time; /* in us; else a rate */
};

static double ratio(const struct figure *f)
{
    return f->value[0] > 0 ? f->value[1] / f->value[0] : 0;
}

enum { FIGURES = PERCENTILE_COUNT + 2 };

static void take_figures(json_t *const reports[2], struct figure figures[FIGURES])
{
    size_t n = 0;
    figures[n++] = (struct figure){.name = "throughput"};
    figures[n++] = (struct figure){.name = "mean", .time = true};
    for (size_t i = 0; i < PERCENTILE_COUNT; i++)
        figures[n++] = (struct figure){.name = PERCENTILES[i].name, .time = true};
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const json_t *from =
                figures[i].time ? json_object_get(reports[k], "latency_us") : reports[k];
            const char *key = figures[i].time ? figures[i].name : "answers_per_second";
            figures[i].value[k] = json_number_value(json_object_get(from, key));
        }
}

static bool differs(json_t *const reports[2], const char *key)
{
    const json_t *a = json_object_get(reports[0], key), *b = json_object_get(reports[1], key);
    return !(a == NULL && b == NULL) && !json_equal(a, b);
}

/* ---- text ---- */

static const char *shown(const struct figure *f, int which, char *text)
{
    if (f->time)
        return time_text((uint64_t)(f->value[which] * 1000), text);
    char number[NUMBER_SIZE];
    snprintf(text, NUMBER_SIZE + 4, "%s/s", grouped((uint64_t)f->value[which], number));
    return text;
}

/* NULL is fine.  JSON may have in it what steers a terminal. */
static void print_value(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    size_t room = text != NULL ? strlen(text) : 0;
    char *plain = malloc(room + 1);
    if (text != NULL && plain != NULL)
        fwrite(plain, 1, utf8_plain(plain, room, span_text(text)), stdout);
    else
        fputs("none", stdout);
    free(plain);
    free(text);
}

static void print_difference(json_t *const reports[2], const char *key)
{
    printf("differs      %s: ", key);
    print_value(json_object_get(reports[0], key));
    fputs(", ", stdout);
    print_value(json_object_get(reports[1], key));
    putchar('\n');
}

static void print_text(json_t *const reports[2], const struct figure figures[FIGURES],
                       const char *const paths[2])
{
    printf("%-12s %*.*s %*.*s %*s\n", "", COLUMN, COLUMN, paths[0], COLUMN, COLUMN, paths[1],
           COLUMN, "ratio");
    for (size_t i = 0; i < FIGURES; i++) {
        char a[NUMBER_SIZE + 4], b[NUMBER_SIZE + 4];
        printf("%-12s %*s %*s %*.3f\n", figures[i].name, COLUMN, shown(&figures[i], 0, a), COLUMN,
               shown(&figures[i], 1, b), COLUMN, ratio(&figures[i]));
    }
    for (size_t i = 0; i < sizeof PLAN / sizeof *PLAN; i++)
        if (differs(reports, PLAN[i]))
            print_difference(reports, PLAN[i]);
}

/* ---- JSON ---- */

static void print_json(json_t *const reports[2], const struct figure figures[FIGURES])
{
    json_t *all = json_object(), *list = json_object(), *others = json_array();
    for (size_t i = 0; i < FIGURES; i++)
        json_object_set_new(list, figures[i].name,
                            json_pack("{s:f,s:f,s:f}", "first", figures[i].value[0], "second",
                                      figures[i].value[1], "ratio", ratio(&figures[i])));
    for (size_t i = 0; i < sizeof PLAN / sizeof *PLAN; i++)
        if (differs(reports, PLAN[i]))
            json_array_append_new(others, json_string(PLAN[i]));
    json_object_set_new(all, "figures", list);
    json_object_set_new(all, "differs", others);
    json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(all);
}

bool compare_print(const char *first, const char *second, bool json, char *why, size_t why_size)
{
    struct figure figures[FIGURES];
    const char *const paths[2] = {first, second};
    json_t *reports[2] = {read_report(first, why, why_size), NULL};
    if (reports[0] != NULL)
        reports[1] = read_report(second, why, why_size);
    bool good = reports[1] != NULL;
    if (good) {
        take_figures(reports, figures);
        if (json)
            print_json(reports, figures);
        else
            print_text(reports, figures, paths);
    }
    json_decref(reports[0]);
    json_decref(reports[1]);
    return good;
}
