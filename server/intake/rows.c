#include "server/intake/rows.h"

#include <stdio.h>
#include <string.h>

#include "proto/errors.h"

/* ---- a row as it was read ---- */

static void refuse(struct row *row, const char *code, const char *text)
{
    row->end = ROW_REFUSED;
    snprintf(row->why, sizeof row->why, "%s: %s", code, text);
}

static json_t *read_part(struct row *row, const char *what, const char *text)
{
    json_error_t error;
    char why[320];
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (value || json_error_code(&error) == json_error_out_of_memory)
        return value;
    snprintf(why, sizeof why, "the %s cannot be MessagePack: %.200s", what, error.text);
    refuse(row, error_name(ERGON_E_BAD_PARAMS), why);
    return NULL;
}

static bool add_number(struct row *row, json_t *options)
{
    if (json_object_get(options, "inbox")) {
        refuse(row, error_name(ERGON_E_BAD_PARAMS), "unknown option \"inbox\"");
        return false;
    }
    return json_object_set_new(options, "inbox", json_integer((json_int_t)row->id)) == 0;
}

/* Without memory it has no spec, and is tried later. */
static void read_spec(struct row *row, const struct inbox_row *from)
{
    json_t *params = read_part(row, "parameters", from->params);
    json_t *options = params ? read_part(row, "options", from->options) : NULL;

    if (options && add_number(row, options))
        row->spec = json_pack("[s, O, O]", row->method, params, options);
    json_decref(params);
    json_decref(options);
}

bool rows_add(struct rows *rows, const struct inbox_row *from)
{
    if (rows->count == INBOX_ROWS)
        return false;
    struct row *row = &rows->at[rows->count++];
    *row = (struct row){.id = from->id, .end = ROW_UNREAD};
    snprintf(row->role, sizeof row->role, "%s", from->role);
    snprintf(row->method, sizeof row->method, "%s", from->method);
    read_spec(row, from);
    if (!row->spec && row->end == ROW_UNREAD)
        row->end = ROW_LATER;
    return true;
}

void rows_clear(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++)
        json_decref(rows->at[i].spec);
    rows->count = 0;
}

/* ---- what the server answers ---- */

/* The same submission would get the same error again.  Others say nothing of it, or leave open
 * whether it was taken. */
static bool is_final(enum ergon_error error)
{
    static const enum ergon_error all[] = {
        ERGON_E_BAD_PARAMS,  ERGON_E_NO_METHOD,  ERGON_E_DENIED,  ERGON_E_NOT_FOUND,
        ERGON_E_TOO_LARGE,   ERGON_E_AFTER,      ERGON_E_STOPPED, ERGON_E_TOO_DEEP,
        ERGON_E_NO_EXECUTOR, ERGON_E_BAD_REQUEST};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == error)
            return true;
    return false;
}

static void end_with(struct row *row, const char *code, const char *text)
{
    row->end = ROW_LATER;
    if (is_final(error_find(code)))
        refuse(row, code, *text ? text : error_meaning(error_find(code)));
}

/* One outcome of task.submit_many: {id, ...} or {error: "CODE: text"}. */
static void end_by(struct row *row, const json_t *outcome)
{
    const char *error = json_string_value(json_object_get(outcome, "error"));
    char code[40];

    if (!error) {
        row->end = json_object_get(outcome, "id") ? ROW_TAKEN : ROW_LATER;
        return;
    }
    snprintf(code, sizeof code, "%.*s", (int)strcspn(error, ":"), error);
    const char *text = error + strlen(code);
    end_with(row, code, text + strspn(text, ": "));
}

/* ---- submissions ---- */

static void submit_one(struct row *row, struct lines *lines)
{
    struct line_answer answer;

    lines_call(lines, row->role, "task.submit", row->spec, &answer);
    if (answer.result)
        end_by(row, answer.result);
    else
        end_with(row, answer.code, answer.text);
    json_decref(answer.result);
}

static json_t *list_of(struct row *rows, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; list && i < count; i++)
        if (json_array_append(list, rows[i].spec) != 0) {
            json_decref(list);
            list = NULL;
        }
    return json_pack("[o]", list); /* NULL without a list */
}

/* False: something in the list is wrong, and so none of it was taken. */
static bool submit_list(struct row *rows, uint32_t count, struct lines *lines)
{
    struct line_answer answer = {.code = "MEMORY"};
    json_t *list = list_of(rows, count);

    if (list)
        lines_call(lines, rows[0].role, "task.submit_many", list, &answer);
    json_decref(list);
    bool wrong = !answer.result && is_final(error_find(answer.code));
    for (uint32_t i = 0; i < count && !wrong; i++)
        if (answer.result)
            end_by(&rows[i], json_array_get(answer.result, i));
        else
            rows[i].end = ROW_LATER;
    json_decref(answer.result);
    return !wrong;
}

/* A wrong row is found by halves, so that one among many costs few commits. */
static void submit_run(struct row *rows, uint32_t count, struct lines *lines)
{
    uint32_t half = count / 2;

    if (count == 1) {
        submit_one(rows, lines);
    } else if (!submit_list(rows, count, lines)) {
        submit_run(rows, half, lines);
        submit_run(rows + half, count - half, lines);
    }
}

/* Those of one role that follow one another go in one request. */
void rows_submit(struct rows *rows, struct lines *lines)
{
    for (uint32_t from = 0, end; from < rows->count; from = end) {
        struct row *first = &rows->at[from];
        end = from + 1;
        if (first->end != ROW_UNREAD)
            continue;
        while (end < rows->count && rows->at[end].end == ROW_UNREAD &&
               strcmp(rows->at[end].role, first->role) == 0)
            end++;
        submit_run(first, end - from, lines);
    }
}
