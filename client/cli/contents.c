#include "client/cli/contents.h"

#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

#include <string.h>

enum { INDENT = 2 };

const char *contents_hidden(const char *hidden)
{
    return strcmp(hidden, "secret") == 0 ? "hidden: secret"
                                         : "hidden: it takes the right task.params";
}

static const char ELLIPSIS[] = "\xe2\x80\xa6";

/* The text of parameters ends with an ellipsis where it is not all: of those that have less JSON
 * than MessagePack, it is their own. */
static json_t *params_text(const json_t *task)
{
    const char *hidden = json_text(task, "params_hidden");
    const char *text = json_text(task, "params_text");
    size_t len = strlen(text), end = strlen(ELLIPSIS);
    json_t *size = humanize_size(task, "params_size");
    bool cut = len >= end && strcmp(text + len - end, ELLIPSIS) == 0;
    json_t *shown = hidden[0] != 0
                        ? json_sprintf("%s (%s)", contents_hidden(hidden), json_string_value(size))
                    : cut ? json_sprintf("%s (%s; --params: all)", text, json_string_value(size))
                          : json_string(text);
    json_decref(size);
    return shown;
}

void contents_tidy(json_t *task)
{
    if (json_object_get(task, "params_size") != NULL) {
        json_object_set_new(task, "params", params_text(task));
        json_object_del(task, "params_text");
        json_object_del(task, "params_size");
        json_object_del(task, "params_hidden");
    }
    if (json_is_true(json_object_get(task, "result_hidden")))
        json_object_set_new(task, "result",
                            json_sprintf("hidden: it takes the right task.params, or %s",
                                         json_text(task, "method")));
    json_object_del(task, "result_hidden");
}

json_t *contents_take_attempts(json_t *task)
{
    size_t i;
    json_t *event;
    json_t *attempts = json_incref(json_object_get(task, "attempts"));
    json_object_del(task, "attempts");
    json_array_foreach(json_object_get(task, "history"), i, event)
    {
        json_object_del(event, "traceback");
    }
    return attempts;
}

/* ---- attempts ---- */

static void copy_span(json_t *row, const char *name, const json_t *attempt, const char *key)
{
    char text[32];
    const json_t *us = json_object_get(attempt, key);
    if (json_is_integer(us))
        json_object_set_new(
            row, name,
            json_string(humanize_us((uint64_t)json_integer_value(us), text, sizeof text)));
}

static json_t *row_of(const json_t *attempt)
{
    static const char *const as_they_are[] = {"attempt", "worker",  "name",
                                              "host",    "version", "error"};
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++) {
        json_t *value = json_object_get(attempt, as_they_are[i]);
        if (value != NULL && !json_is_null(value))
            json_object_set(row, as_they_are[i], value);
    }
    const char *outcome = json_text(attempt, "outcome");
    json_object_set_new(row, "outcome", json_string(outcome[0] != 0 ? outcome : "running"));
    copy_span(row, "queued", attempt, "queued_us");
    copy_span(row, "ran", attempt, "run_us");
    return row;
}

static void print_heading(const char *text, bool colour)
{
    printf("%s%s%s\n", colour ? "\033[1m" : "", text, colour ? "\033[0m" : "");
}

/* Line by line, each below the heading. */
static void print_lines(const char *text)
{
    while (*text != 0) {
        int len = (int)strcspn(text, "\n");
        say("%*s%.*s\n", len > 0 ? INDENT : 0, "", len, text);
        text += len + (text[len] == '\n');
    }
}

static bool has_traceback(const json_t *attempt)
{
    return json_figure(attempt, "traceback_size") > 0 || json_text(attempt, "traceback")[0] != 0;
}

static void print_traceback(const json_t *attempt, bool colour)
{
    char heading[64];
    const char *text = json_text(attempt, "traceback");
    snprintf(heading, sizeof heading, "traceback of attempt %" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(attempt, "attempt")));
    print_heading(heading, colour);
    if (text[0] != 0) {
        print_lines(text);
        return;
    }
    json_t *size = humanize_size(attempt, "traceback_size");
    printf("%*s%s (%s)\n", INDENT, "", contents_hidden("denied"), json_string_value(size));
    json_decref(size);
}

void contents_print_attempts(json_t *attempts, bool all, bool colour)
{
    static const char *const columns[] = {"attempt", "outcome", "worker", "host", "version",
                                          "queued",  "ran",     "error",  "name", NULL};
    size_t i, last = json_array_size(attempts);
    json_t *attempt;
    json_t *rows = json_array();
    json_array_foreach(attempts, i, attempt)
    {
        json_array_append_new(rows, row_of(attempt));
        if (has_traceback(attempt))
            last = i;
    }
    if (json_array_size(rows) > 0) {
        print_heading("attempts", colour);
        table_print(rows, columns, INDENT, colour);
    }
    json_array_foreach(attempts, i, attempt)
    {
        if (has_traceback(attempt) && (all || i == last))
            print_traceback(attempt, colour);
    }
    json_decref(rows);
}
