#include "client/cli/doctor/check.h"

#include "base/utf8.h"
#include "client/cli/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 40, TEXT_MAX = 600 };

json_t *fact(const struct visit *v, const char *path)
{
    const json_t *at = v->facts;
    char key[KEY_MAX];
    while (at != NULL && *path != 0) {
        size_t len = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)len, path);
        at = json_object_get(at, key);
        path += len + (path[len] == '.');
    }
    return (json_t *)at;
}

double figure(const struct visit *v, const char *path)
{
    return json_number_value(fact(v, path));
}

bool fills(double used, double limit, double percent)
{
    return limit > 0 && used * 100 >= limit * percent;
}

double grown(const struct visit *v, const char *path)
{
    char before[2 * KEY_MAX];
    snprintf(before, sizeof before, "before.%s", path);
    double by = figure(v, path) - figure(v, before);
    bool same = fact(v, before) != NULL &&
                figure(v, "info.uptime_ms") >= figure(v, "before.info.uptime_ms");
    return same && by > 0 ? by : 0;
}

json_t *entry_of(const json_t *list, const char *key, const char *text)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        if (strcmp(json_text(entry, key), text) == 0)
            return entry;
    }
    return NULL;
}

void each_entry(struct visit *v, const char *list, const char *key,
                void (*look)(struct visit *v, const json_t *entry, const char *name))
{
    size_t i;
    json_t *entry;
    json_array_foreach(fact(v, list), i, entry)
    {
        look(v, entry, json_text(entry, key));
    }
}

/* ---- findings ---- */

static bool steers(struct span text)
{
    while (text.len > 0) {
        struct span next = span_of(text.at, utf8_length(text));
        if (next.len == 0 || utf8_steers(next))
            return true;
        text = span_behind(text, next.len);
    }
    return false;
}

/* $'a\u000ab', as bash and zsh read it: one line. */
static void put_escaped(FILE *out, struct span word)
{
    fputs("$'", out);
    while (word.len > 0) {
        size_t len = utf8_length(word);
        struct span next = span_of(word.at, len > 0 ? len : 1);
        if (len == 0)
            fprintf(out, "\\x%02x", *word.at);
        else if (utf8_steers(next))
            fprintf(out, "\\u%04x", (unsigned)utf8_code(next));
        else if (*word.at == '\'' || *word.at == '\\')
            fprintf(out, "\\%c", *word.at);
        else
            fwrite(next.at, 1, next.len, out);
        word = span_behind(word, next.len);
    }
    putc('\'', out);
}

/* As one word of a shell: names are the server's, or those of its clients, and commands are copied.
 */
static void put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_.:/@,+-";
    if (*word != 0 && *word != '-' && word[strspn(word, plain)] == 0) {
        fputs(word, out);
        return;
    }
    if (steers(span_text(word))) {
        put_escaped(out, span_text(word));
        return;
    }
    putc('\'', out);
    for (; *word != 0; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    putc('\'', out);
}

/* NULL: out of memory. */
static json_t *advice_for(const char *advice, const char *about)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return NULL;
    for (const char *at = advice; *at != 0;)
        if (strncmp(at, "{}", 2) == 0) {
            put_word(out, about);
            at += 2;
        } else
            putc(*at++, out);
    fclose(out);
    json_t *value = json_string(text);
    free(text);
    return value;
}

/* Whole numbers are integers, so that nobody reads "3.0 tasks". */
static json_t *whole(json_t *evidence)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(evidence, next, key, value)
    {
        double n = json_real_value(value);
        if (json_is_real(value) && n > -1e15 && n < 1e15 && n == (double)(json_int_t)n)
            json_object_set_new(evidence, key, json_integer((json_int_t)n));
    }
    return evidence;
}

void found(struct visit *v, const char *about, json_t *evidence, const char *format, ...)
{
    char text[TEXT_MAX], plain[TEXT_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    /* vsnprintf() may have cut a name within a character, and a name may contain line breaks. */
    plain[utf8_plain(plain, sizeof plain - 1, span_text(text))] = 0;
    json_array_append_new(v->findings,
                          json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "finding", v->check->name,
                                    "severity", v->check->severity, "about", about, "text", plain,
                                    "evidence", evidence != NULL ? whole(evidence) : json_object(),
                                    "advice", advice_for(v->check->advice, about)));
}
