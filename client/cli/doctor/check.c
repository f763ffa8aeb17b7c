#include "client/cli/doctor/check.h"

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

/* ---- findings ---- */

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
    char text[TEXT_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    json_t *said = json_string(text);
    if (said == NULL) /* a name was cut within a character */
        said = json_string(v->check->name);
    json_array_append_new(v->findings,
                          json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "finding", v->check->name,
                                    "severity", v->check->severity, "about", about, "text", said,
                                    "evidence", evidence != NULL ? whole(evidence) : json_object(),
                                    "advice", advice_for(v->check->advice, about)));
}
