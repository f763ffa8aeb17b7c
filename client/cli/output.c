#include "client/cli/output.h"

#include "base/utf8.h"
#include "client/cli/json.h"
#include "client/cli/yaml.h"
#include "proto/reader.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

static enum output_format chosen;
static bool no_headers;

void output_choose(enum output_format format)
{
    chosen = format;
}

bool output_is_wide(void)
{
    return chosen == FORMAT_WIDE;
}

bool output_is_names(void)
{
    return chosen == FORMAT_NAME;
}

void output_headers(bool wanted)
{
    no_headers = !wanted;
}

bool output_has_headers(void)
{
    return !no_headers;
}

static bool is_for_programs(void)
{
    return chosen == FORMAT_JSON || chosen == FORMAT_YAML;
}

/* ---- what others may not do to a terminal ---- */

/* What steers as \u001b, what is no text as \xff.  Lines and tabs stay. */
static void put_shown(FILE *out, struct span text)
{
    while (text.len > 0) {
        size_t len = utf8_length(text);
        struct span next = span_of(text.at, len > 0 ? len : 1);
        if (len == 0)
            fprintf(out, "\\x%02x", text.at[0]);
        else if (utf8_steers(next) && text.at[0] != '\n' && text.at[0] != '\t')
            fprintf(out, "\\u%04x", (unsigned)utf8_code(next));
        else
            fwrite(next.at, 1, next.len, out);
        text = span_behind(text, next.len);
    }
}

static void put_formatted(FILE *out, const char *format, va_list list)
{
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0)
        return;
    put_shown(out, span_text(text));
    free(text);
}

/* A copy that is UTF-8, whatever a server or the command line held; NULL: out of memory. */
static json_t *clean_string(const char *text)
{
    struct span from = span_text(text);
    size_t room = 3 * from.len;
    char *to = malloc(room + 1);
    json_t *string = to != NULL ? json_stringn(to, utf8_clean(to, room, from)) : NULL;
    free(to);
    return string;
}

/* A line of JSON to standard error; frees `value`. */
static void put_message(json_t *value)
{
    char *line = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;
    if (line != NULL)
        put_shown(stderr, span_text(line));
    fputc('\n', stderr);
    free(line);
    json_decref(value);
}

static void put_error(const char *command, const char *code, const char *hint, const char *text)
{
    if (is_for_programs()) {
        put_message(json_pack("{s:{s:s, s:o, s:o?}}", "error", "code", code, "text",
                              clean_string(text), "hint",
                              hint != NULL ? clean_string(hint) : NULL));
        return;
    }
    fprintf(stderr, "ergon%s%s: ", command != NULL ? " " : "", command != NULL ? command : "");
    put_shown(stderr, span_text(text));
    if (hint != NULL) {
        fputs("; ", stderr);
        put_shown(stderr, span_text(hint));
    }
    fputc('\n', stderr);
}

void complain(const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) >= 0)
        put_error(NULL, "USAGE", NULL, text);
    va_end(list);
    free(text);
}

void complain_as(const char *code, const char *hint, const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) >= 0)
        put_error(NULL, code, hint, text);
    va_end(list);
    free(text);
}

void complain_by(const char *command, const char *code, const char *hint, const char *text)
{
    put_error(command, code, hint, text);
}

void notice(const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) >= 0) {
        if (is_for_programs())
            put_message(json_pack("{s:{s:o}}", "notice", "text", clean_string(text)));
        else
            put_error(NULL, "", NULL, text);
    }
    va_end(list);
    free(text);
}

void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_formatted(stdout, format, list);
    va_end(list);
}

char *plain_text(const char *text)
{
    struct span from = span_text(text);
    size_t room = 3 * from.len; /* a byte that is no text becomes three */
    char *to = malloc(room + 1);
    if (to != NULL)
        to[utf8_plain(to, room, from)] = 0;
    return to;
}

void print_text(const char *text)
{
    char *plain = plain_text(text);
    fputs(plain != NULL ? plain : "?", stdout);
    free(plain);
}

const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != 0 ? value : NULL;
}

bool colour_wanted(const struct globals *g, FILE *out)
{
    const char *terminal = environment("TERM");
    return !g->no_color && environment("NO_COLOR") == NULL && isatty(fileno(out)) &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

/* JSON says the same of a character in its escaped form, and so does YAML within quotes, where it
 * has all such. */
static enum status print_value(json_t *value, size_t layout, const char *what)
{
    bool yaml = chosen == FORMAT_YAML;
    char *text = value == NULL ? NULL
                 : yaml        ? yaml_text(value, true)
                               : json_dumps(value, layout | JSON_ENCODE_ANY);
    if (text != NULL)
        put_shown(stdout, span_text(text));
    bool good = text != NULL && (yaml || putchar('\n') != EOF) && ferror(stdout) == 0;
    free(text);
    json_decref(value);
    if (!good)
        complain_as("OUTPUT", NULL, "the %s cannot be shown as %s", what, yaml ? "YAML" : "JSON");
    return good ? STATUS_OK : STATUS_REMOTE;
}

enum status print_json(json_t *value)
{
    return print_value(value, JSON_COMPACT, "answer");
}

enum status print_result(const struct globals *g, struct span result, bool raw)
{
    struct reader r = reader_of(result);
    struct span text;
    bool terminal = isatty(STDOUT_FILENO);
    if (g->json || !read_text(&r, &text))
        return print_value(json_from_value(result),
                           terminal && !g->json ? JSON_INDENT(2) : JSON_COMPACT, "result");
    if (terminal && !raw)
        put_shown(stdout, text);
    else
        fwrite(text.at, 1, text.len, stdout);
    if (terminal && !raw && (text.len == 0 || text.at[text.len - 1] != '\n'))
        putchar('\n');
    return STATUS_OK;
}
