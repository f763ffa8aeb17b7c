#include "client/cli/worker_form.h"

#include "base/utf8.h"
#include "client/cli/json.h"
#include "proto/reader.h"

#include <stdlib.h>
#include <string.h>

const char WORK_NO_MEMORY[] = "the worker is out of memory";

bool input_form_of(const char *name, enum input_form *out)
{
    static const char *const names[] = {"json", "raw", "args"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum input_form)i;
            return true;
        }
    return false;
}

bool output_form_of(const char *name, enum output_form *out)
{
    static const char *const names[] = {"auto", "json", "bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum output_form)i;
            return true;
        }
    return false;
}

/* ---- input ---- */

/* The context is the last parameter; it stands there if it was asked for. */
static uint32_t take_context(struct work *w, struct reader r, uint32_t count)
{
    struct span last = {0};
    for (uint32_t i = 0; i < count; i++)
        read_any(&r, &last);
    json_t *context = count > 0 ? json_from_value(last) : NULL;
    if (json_is_object(context) && json_object_get(context, "call") != NULL) {
        w->context = context;
        return count - 1;
    }
    json_decref(context);
    return count;
}

/* NULL: out of memory. */
static json_t *params_of(struct reader *r, uint32_t count)
{
    json_t *all = json_array();
    struct span value;
    for (; count > 0; count--)
        if (!read_any(r, &value) || json_array_append_new(all, json_from_value(value)) != 0) {
            json_decref(all);
            return NULL;
        }
    return all;
}

/* Takes `value` over. */
static const char *as_line(struct work *w, json_t *value)
{
    w->text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    if (w->text == NULL)
        return WORK_NO_MEMORY;
    /* The newline takes the place of the zero at the end. */
    w->input = span_of(w->text, strlen(w->text) + 1);
    w->text[w->input.len - 1] = '\n';
    return NULL;
}

/* The method is told without the type, which is the actor's name up to its '/'. */
static const char *as_turn(struct work *w, const char *method, struct reader *r, uint32_t count)
{
    const char *actor = json_string_value(json_object_get(w->context, "actor"));
    size_t type = actor != NULL ? strcspn(actor, "/") : 0;
    json_t *params = params_of(r, count);
    if (actor == NULL || strlen(method) <= type) {
        json_decref(params);
        return "the command runs messages to actors";
    }
    return as_line(w, json_pack("{s:s, s:s, s:o, s:O?, s:O?, s:O?}", "actor", actor, "method",
                                method + type + 1, "params", params, "state",
                                json_object_get(w->context, "state"), "schema",
                                json_object_get(w->context, "schema"), "version",
                                json_object_get(w->context, "version")));
}

static const char *as_bytes(struct work *w, struct reader *r, uint32_t count)
{
    if (count != 1 || !read_text(r, &w->input))
        return "the command takes one parameter, a string or bytes";
    return NULL;
}

/* NULL: out of memory. */
static char *argument_of(struct span value)
{
    struct reader r = reader_of(value);
    struct span text;
    if (read_text(&r, &text))
        return span_strdup(text);
    json_t *json = json_from_value(value);
    char *shown = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    return shown;
}

static bool has_zero(struct span value)
{
    struct reader r = reader_of(value);
    struct span text;
    return read_text(&r, &text) && text.len > 0 && memchr(text.at, 0, text.len) != NULL;
}

static const char *as_arguments(struct work *w, struct reader *r, uint32_t count)
{
    struct span value;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_any(r, &value) || has_zero(value))
            return "an argument of a command holds no zero byte";
        w->argv[w->fixed + i] = argument_of(value);
        if (w->argv[w->fixed + i] == NULL)
            return WORK_NO_MEMORY;
    }
    return NULL;
}

const char *work_read(struct work *w, const char *method, struct ergon_raw params,
                      enum input_form form, char *const *command, size_t words)
{
    struct reader r;
    uint32_t count;
    *w = (struct work){.fixed = words};
    read_params(span_of(params.at, params.len), &r, &count);
    count = take_context(w, r, count);
    w->argv = calloc(words + (form == INPUT_ARGS ? count : 0) + 1, sizeof *w->argv);
    if (w->argv == NULL)
        return WORK_NO_MEMORY;
    memcpy(w->argv, command, words * sizeof *command);
    switch (form) {
    case INPUT_JSON:
        return as_line(w, params_of(&r, count));
    case INPUT_TURN:
        return as_turn(w, method, &r, count);
    case INPUT_RAW:
        return as_bytes(w, &r, count);
    case INPUT_ARGS:
        return as_arguments(w, &r, count);
    }
    return NULL;
}

void work_fini(struct work *w)
{
    for (char **argument = w->argv != NULL ? w->argv + w->fixed : NULL;
         argument != NULL && *argument != NULL; argument++)
        free(*argument);
    free(w->argv);
    free(w->text);
    json_decref(w->context);
    *w = (struct work){0};
}

/* ---- output ---- */

static const char *pack_bin(struct pack *to, struct span bytes)
{
    bool good = msgpack_pack_bin_with_body(&to->packer, bytes.at, bytes.len) == 0;
    return good ? NULL : WORK_NO_MEMORY;
}

static json_t *json_of(struct span bytes)
{
    json_error_t error;
    return json_loadb((const char *)bytes.at, bytes.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
}

static const char *pack_json(struct pack *to, json_t *value)
{
    bool good = json_to_value(&to->packer, value);
    json_decref(value);
    return good ? NULL : "its output is nested too deeply, or $bytes is not base64";
}

/* [result, changes]: all pairs but `result` are changes. */
static const char *pack_turn(struct pack *to, struct span bytes)
{
    json_t *turn = bytes.len > 0 ? json_of(bytes) : json_object();
    if (!json_is_object(turn)) {
        json_decref(turn);
        return "its output is no object of JSON, such as {\"result\": 1, \"state\": 2}";
    }
    json_t *result = json_incref(json_object_get(turn, "result"));
    json_object_del(turn, "result");
    pack_array(to, 2);
    const char *wrong = pack_json(to, result != NULL ? result : json_null());
    if (wrong == NULL && json_object_size(turn) > 0)
        return pack_json(to, turn);
    pack_nil(to);
    json_decref(turn);
    return wrong;
}

const char *output_pack(struct pack *to, enum output_form form, struct span bytes)
{
    if (form == OUTPUT_TURN)
        return pack_turn(to, bytes);
    if (form == OUTPUT_BIN)
        return pack_bin(to, bytes);
    if (bytes.len == 0 && form == OUTPUT_AUTO) {
        pack_nil(to);
        return NULL;
    }
    json_t *value = bytes.len > 0 ? json_of(bytes) : NULL;
    if (value != NULL)
        return pack_json(to, value);
    if (form == OUTPUT_JSON)
        return "its output is not JSON";
    if (!utf8_valid(bytes))
        return pack_bin(to, bytes);
    if (bytes.at[bytes.len - 1] == '\n')
        bytes.len--;
    pack_span(to, bytes);
    return NULL;
}

/* ---- progress ---- */

static bool take_number(struct span *line, uint64_t *out)
{
    size_t digits = 0;
    *out = 0;
    while (digits < line->len && digits < 18 && line->at[digits] >= '0' && line->at[digits] <= '9')
        *out = *out * 10 + (uint64_t)(line->at[digits++] - '0');
    *line = span_behind(*line, digits);
    return digits > 0;
}

struct span progress_read(struct span line, uint64_t *done, uint64_t *total)
{
    struct span rest = line;
    bool good = take_number(&rest, done) && rest.len > 0 && rest.at[0] == '/';
    if (good)
        rest = span_behind(rest, 1);
    good = good && take_number(&rest, total) && (rest.len == 0 || rest.at[0] == ' ');
    if (good)
        return rest.len > 0 ? span_behind(rest, 1) : rest;
    *done = *total = 0;
    return line;
}

/* ---- standard error ---- */

enum {
    TAIL_KEPT = ERROR_TAIL_MAX + 1, /* bytes: that before it tells whether a line begins there */
    TAIL_ROOM = 2 * TAIL_KEPT       /* so that it moves once in so many bytes */
};

void error_tail_add(struct error_tail *t, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    if (t->at == NULL && (t->at = malloc(TAIL_ROOM + 1)) == NULL)
        return;
    if (len > TAIL_KEPT) {
        bytes += len - TAIL_KEPT;
        len = TAIL_KEPT;
    }
    if (t->len + len > TAIL_ROOM) {
        memmove(t->at, t->at + t->len - TAIL_KEPT, TAIL_KEPT);
        t->len = TAIL_KEPT;
    }
    memcpy(t->at + t->len, bytes, len);
    t->len += len;
}

/* Drops what was cut off a line, unless it is all that there is. */
static void cut_front(struct error_tail *t)
{
    size_t cut = t->len > ERROR_TAIL_MAX ? t->len - ERROR_TAIL_MAX : 0;
    const char *line = cut > 0 ? memchr(t->at + cut - 1, '\n', t->len - cut) : NULL;
    if (line != NULL && line + 1 < t->at + t->len)
        cut = (size_t)(line + 1 - t->at);
    memmove(t->at, t->at + cut, t->len - cut);
    t->len -= cut;
}

const char *error_tail_text(struct error_tail *t)
{
    size_t to = 0, line = 0;
    if (t->at == NULL)
        return "";
    cut_front(t);
    for (size_t i = 0; i < t->len; i++) {
        char c = t->at[i];
        if (c == '\r' && i + 1 < t->len && t->at[i + 1] != '\n' && t->at[i + 1] != '\r')
            to = line;
        else if (c != 0 && c != '\r')
            t->at[to++] = c;
        if (c == '\n')
            line = to;
    }
    t->len = to;
    t->at[to] = 0;
    return t->at;
}

void error_tail_fini(struct error_tail *t)
{
    free(t->at);
    *t = (struct error_tail){0};
}
