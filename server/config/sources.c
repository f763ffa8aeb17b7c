#include "server/config/sources.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

/* ---- problems ---- */

void config_origin_text(const struct config_origin *origin, const struct config_key *key,
                        const char *file, char *buf, size_t size)
{
    switch (origin->source) {
    case CONFIG_DEFAULT:
        snprintf(buf, size, "default");
        break;
    case CONFIG_FILE:
        snprintf(buf, size, "%s:%u", file, origin->line);
        break;
    case CONFIG_ENV:
        config_env_name(key, buf, size);
        break;
    case CONFIG_FLAG:
        snprintf(buf, size, "--%s", key->name);
        break;
    }
}

static void put_place(struct config_report *r, const struct config_origin *origin,
                      const struct config_key *key, const char *path)
{
    char place[4096 + 16];

    config_origin_text(origin, key, r->file, place, sizeof place);
    if (origin->source != CONFIG_DEFAULT)
        fprintf(r->out, "%s: ", place);
    bool by_name = origin->source == CONFIG_ENV || origin->source == CONFIG_FLAG;
    if (path && !(by_name && strcmp(path, key->path) == 0))
        fprintf(r->out, "%s: ", path);
}

void config_problem(struct config_report *r, const struct config_origin *origin,
                    const struct config_key *key, const char *path, const char *format, ...)
{
    va_list ap;

    put_place(r, origin, key, path);
    va_start(ap, format);
    vfprintf(r->out, format, ap);
    va_end(ap);
    fputc('\n', r->out);
    r->count++;
}

/* ---- values ---- */

static size_t index_of(const struct config_target *t, const struct config_key *key)
{
    return (size_t)(key - t->table->keys);
}

static void note(const struct config_target *t, const struct config_key *key,
                 const struct config_origin *origin)
{
    if (t->origins)
        t->origins[index_of(t, key)] = *origin;
    else
        *t->given |= UINT32_C(1) << index_of(t, key);
}

void config_replace(const struct config_target *t, const struct config_key *key,
                    const struct config_origin *origin)
{
    if (t->origins ? t->origins[index_of(t, key)].source == origin->source
                   : (*t->given >> index_of(t, key)) & 1)
        return;
    key->type->clear(key, t->base);
    note(t, key, origin);
}

static void note_element(const struct config_target *t, const struct config_key *key,
                         const struct config_origin *origin)
{
    size_t count = config_element_count(key, t->base);

    *config_element_origin(key, config_element_at(key, t->base, count - 1)) = *origin;
}

void config_take(struct config_report *r, const struct config_target *t,
                 const struct config_key *key, const char *text, const char *path,
                 const struct config_origin *origin)
{
    char why[CONFIG_WHY_MAX];

    /* What is printed must be readable as YAML; secrets never are printed. */
    if (key->type != &config_secret && !utf8_valid(span_text(text))) {
        config_problem(r, origin, key, path, "the value is not UTF-8");
        return;
    }
    if (config_is_list(key))
        config_replace(t, key, origin);
    switch (key->type->parse(key, t->base, text, why)) {
    case CONFIG_OK:
        if (key->elements)
            note_element(t, key, origin);
        if (!config_is_list(key))
            note(t, key, origin);
        break;
    case CONFIG_BAD:
        config_problem(r, origin, key, path, "%s", why);
        break;
    case CONFIG_NO_MEMORY:
        r->no_memory = true;
        break;
    }
}

/* ---- the checks across keys ---- */

void wrong(const struct subject *s, const char *path, const char *format, ...)
{
    const struct config_key *key = config_find(&config_keys, s->list ? s->list : path);
    const struct config_origin *origin =
        s->list ? s->origin : &s->config->origins[key - config_keys.keys];
    char where[64], text[CONFIG_WHY_MAX * 2];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (s->list)
        snprintf(where, sizeof where, "%s[%zu]%s%s", s->list, s->index, *path ? "." : "", path);
    config_problem(s->report, origin, key, s->list ? where : path, "%s", text);
}

void wrong_file(const struct subject *s, const char *path, const char *file, const char *done)
{
    char why[128];

    wrong(s, path, "%.150s: cannot be %s: %s", file, done, strerror_r(errno, why, sizeof why));
}

void check_readable(const struct subject *s, const char *path, const char *file)
{
    if (file && access(file, R_OK) != 0)
        wrong_file(s, path, file, "read");
}

void check_patterns(const struct subject *s, const char *path, const struct config_texts *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        const char *text = patterns->at[i], *star = strchr(text, '*');
        if (strpbrk(text, ", \t"))
            wrong(s, path, "\"%.100s\": a pattern has neither a comma nor a blank", text);
        else if (star && star[1] != '\0')
            wrong(s, path, "\"%.100s\": '*' is allowed only at the end of a pattern", text);
    }
}
