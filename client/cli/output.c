#include "client/cli/output.h"

#include "client/cli/json.h"
#include "proto/reader.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

void complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("ergon: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
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

void print_text(const char *text)
{
    for (; *text != 0; text++)
        putchar((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
}

static enum status print_value(json_t *value, size_t layout, const char *what)
{
    bool good = value != NULL && json_dumpf(value, stdout, layout | JSON_ENCODE_ANY) == 0 &&
                putchar('\n') != EOF;
    json_decref(value);
    if (!good)
        complain("the %s cannot be shown as JSON", what);
    return good ? STATUS_OK : STATUS_REMOTE;
}

enum status print_json(json_t *value)
{
    return print_value(value, JSON_COMPACT, "answer");
}

enum status print_result(const struct globals *g, struct span result)
{
    struct reader r = reader_of(result);
    struct span text;
    bool terminal = isatty(STDOUT_FILENO);
    if (g->json || !read_text(&r, &text))
        return print_value(json_from_value(result),
                           terminal && !g->json ? JSON_INDENT(2) : JSON_COMPACT, "result");
    fwrite(text.at, 1, text.len, stdout);
    if (terminal && (text.len == 0 || text.at[text.len - 1] != '\n'))
        putchar('\n');
    return STATUS_OK;
}
