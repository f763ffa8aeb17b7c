#include <string.h>

#include "server/config_parts.h"

enum { VALUE_MAX = 4200, INDENT = 2, COMMENT_COLUMN = 44 };

struct printer {
    FILE *out;
    const struct config *config;
};

/* In double quotes, which YAML reads back whatever the text is. */
static void quote(const char *text, char *buf, size_t size)
{
    size_t n = 0;

    buf[n++] = '"';
    for (; *text && n + 8 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            n += (size_t)snprintf(buf + n, size - n, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            n += (size_t)snprintf(buf + n, size - n, "\\x%02x", c);
        else
            buf[n++] = (char)c;
    }
    buf[n++] = '"';
    buf[n] = '\0';
}

static bool needs_quotes(enum config_type type)
{
    return type == CONFIG_TEXT || type == CONFIG_URL || type == CONFIG_CORES || type == CONFIG_MODE;
}

static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* "key: value"; what is not set, or must not be shown, is a comment. */
static void value_text(const struct config_key *key, const void *base, char *line, size_t size)
{
    char value[VALUE_MAX], quoted[VALUE_MAX];
    const char *name = last_word(key->path);

    if (!config_value_text(key, base, value, sizeof value))
        snprintf(line, size, "# %s:", name);
    else if (key->type == CONFIG_SECRET)
        snprintf(line, size, "# %s: \"***\"", name);
    else if (needs_quotes(key->type)) {
        quote(value, quoted, sizeof quoted);
        snprintf(line, size, "%s: %s", name, quoted);
    } else
        snprintf(line, size, "%s: %s", name, value);
    explicit_bzero(value, sizeof value);
}

static void put_line(const struct printer *p, int indent, const char *line, const char *origin)
{
    fprintf(p->out, "%*s%-*s # %s\n", indent, "", COMMENT_COLUMN - indent, line, origin);
}

static void put_texts(const struct printer *p, int indent, const struct config_key *key,
                      const void *base, const char *origin)
{
    const struct config_texts *list = (const void *)((const char *)base + key->offset);
    char line[VALUE_MAX], quoted[VALUE_MAX];

    snprintf(line, sizeof line, "%s:%s", last_word(key->path), list->count ? "" : " []");
    put_line(p, indent, line, origin);
    for (size_t i = 0; i < list->count; i++) {
        quote(list->at[i], quoted, sizeof quoted);
        fprintf(p->out, "%*s- %s\n", indent + INDENT, "", quoted);
    }
}

/* Opens the groups of `path` that those of `before` did not; returns how deep the key stands. */
static int open_groups(const struct printer *p, const char *path, const char *before, int indent)
{
    bool shared = true;
    int depth = 0;

    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1, depth++) {
        size_t length = (size_t)(dot - path) + 1;
        shared = shared && strncmp(path, before, length) == 0;
        if (shared)
            before += length;
        else
            fprintf(p->out, "%*s%.*s:\n", indent + depth * INDENT, "", (int)length - 1, path);
    }
    return depth;
}

/* ---- elements ---- */

/* What was not written and is the default stands as a comment: some keys are refused where they
 * have no meaning, and what is printed must be accepted again. */
static void put_element_value(const struct printer *p, int indent, const struct config_key *key,
                              const void *element, bool given, const char *origin)
{
    char text[VALUE_MAX], line[VALUE_MAX + 2];

    if (key->type == CONFIG_TEXTS && given) {
        put_texts(p, indent, key, element, origin);
        return;
    }
    value_text(key, element, text, sizeof text);
    if (given || *text == '#') {
        put_line(p, indent, text, *text == '#' ? "not set" : origin);
        return;
    }
    char value[VALUE_MAX];
    config_value_text(key, element, value, sizeof value);
    bool normal = key->normal && strcmp(value, key->normal) == 0;
    snprintf(line, sizeof line, "%s%s", normal ? "# " : "", text);
    put_line(p, indent, line, normal ? "default" : "follows from other keys");
}

static void put_element(const struct printer *p, int indent, const struct config_key *list,
                        void *element)
{
    const struct config_table *table = config_element_keys(list->type);
    uint32_t given = *config_element_given(list, element);
    const char *before = "";
    char origin[VALUE_MAX], first[VALUE_MAX];

    config_origin_text(config_element_origin(list, element), list, p->config->file, origin,
                       sizeof origin);
    fprintf(p->out, "%*s- ", indent, "");
    value_text(&table->keys[0], element, first, sizeof first);
    fprintf(p->out, "%-*s # %s\n", COMMENT_COLUMN - indent - INDENT, first, origin);
    for (size_t i = 1; i < table->count; i++) {
        const struct config_key *key = &table->keys[i];
        int depth = open_groups(p, key->path, before, indent + INDENT);
        put_element_value(p, indent + INDENT + depth * INDENT, key, element, (given >> i) & 1,
                          origin);
        before = key->path;
    }
}

static void put_elements(const struct printer *p, int indent, const struct config_key *list,
                         const char *origin)
{
    size_t count = config_element_count(list, p->config);
    char line[CONFIG_PATH_MAX];

    snprintf(line, sizeof line, "%s:%s", last_word(list->path), count ? "" : " []");
    put_line(p, indent, line, origin);
    for (size_t i = 0; i < count; i++)
        put_element(p, indent + INDENT, list, config_element_at(list, p->config, i));
}

/* ---- the whole ---- */

static void put_key(const struct printer *p, int indent, const struct config_key *key,
                    const char *origin)
{
    char line[VALUE_MAX];

    if (config_element_keys(key->type)) {
        put_elements(p, indent, key, origin);
    } else if (key->type == CONFIG_TEXTS) {
        put_texts(p, indent, key, p->config, origin);
    } else {
        value_text(key, p->config, line, sizeof line);
        put_line(p, indent, line, origin);
    }
}

bool config_print(const struct config *c, FILE *out)
{
    struct printer p = {out, c};
    const char *before = "";

    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        char origin[VALUE_MAX];
        int depth = open_groups(&p, key->path, before, 0);
        config_origin_text(&c->origins[i], key, c->file, origin, sizeof origin);
        put_key(&p, depth * INDENT, key, origin);
        before = key->path;
    }
    return fflush(out) == 0 && !ferror(out);
}
