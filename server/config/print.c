/* Prints a configuration as the file that would bring it about. */
#include <string.h>

#include "base/utf8.h"
#include "server/config/sources.h"

enum { VALUE_MAX = 8192, INDENT = 2, COMMENT_COLUMN = 44 };

struct printer {
    FILE *out;
    const struct config *config;
};

/* Characters that YAML does not read as they are: what steers, and the mark of an order of bytes
 * and those that are none, which it refuses. */
static bool is_escaped(struct span character, uint32_t code)
{
    return utf8_steers(character) || code == 0xfeff || (code & 0xfffe) == 0xfffe;
}

/* In double quotes, which YAML reads back whatever the text is, since every value is UTF-8. Returns
 * the columns taken. */
static int put_quoted(FILE *out, const char *text)
{
    int n = fprintf(out, "\"");

    for (struct span rest = span_text(text); rest.len > 0;) {
        struct span c = span_of(rest.at, utf8_length(rest));
        uint32_t code = utf8_code(c);
        if (code == '"' || code == '\\')
            n += fprintf(out, "\\%c", (char)code);
        else if (is_escaped(c, code))
            n += fprintf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
        else
            n += fprintf(out, "%.*s", (int)c.len, (const char *)c.at);
        rest = span_behind(rest, c.len);
    }
    return n + fprintf(out, "\"");
}

static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* The origin may be a path, of any bytes: a comment ends at the end of its line, and is UTF-8. */
static void put_origin(const struct printer *p, int column, const char *origin)
{
    char plain[VALUE_MAX];
    size_t len = utf8_plain(plain, sizeof plain, span_text(origin));

    fprintf(p->out, "%*s # %.*s\n", column < COMMENT_COLUMN ? COMMENT_COLUMN - column : 0, "",
            (int)len, plain);
}

/* "key: value"; a NULL value: it is not set, or must not be shown. */
static void put_value(const struct printer *p, int column, const struct config_key *key,
                      const char *value, const char *origin)
{
    column += fprintf(p->out, "%s:", last_word(key->path));
    if (value && key->type->quoted)
        column += fprintf(p->out, " ") + put_quoted(p->out, value);
    else if (value)
        column += fprintf(p->out, " %s", value);
    put_origin(p, column, origin);
}

static void put_texts(const struct printer *p, int indent, const struct config_key *key,
                      const void *base, const char *origin)
{
    const struct config_texts *list = config_member(key, base);
    int column =
        fprintf(p->out, "%*s%s:%s", indent, "", last_word(key->path), list->count ? "" : " []");

    put_origin(p, column, origin);
    for (size_t i = 0; i < list->count; i++) {
        fprintf(p->out, "%*s- ", indent + INDENT, "");
        put_quoted(p->out, list->at[i]);
        fputc('\n', p->out);
    }
}

/* Opens the groups of `path` that those of `before` did not; returns the depth of the key. */
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

static bool is_text_list(const struct config_key *key)
{
    return key->type == &config_textlist || key->type == &config_namelist;
}

/* ---- elements ---- */

/* A default that nobody wrote is printed as a comment: some keys are refused where they have no
 * meaning, and what is printed must be accepted again. */
static void put_element_value(const struct printer *p, int indent, const struct config_key *key,
                              const void *element, const char *origin, bool first)
{
    char value[VALUE_MAX];
    bool set = !config_is_list(key) && key->type->print(key, element, value, sizeof value);
    bool normal = !origin && (!set || (key->normal && strcmp(value, key->normal) == 0));

    if (is_text_list(key) && origin) {
        put_texts(p, indent, key, element, origin);
        return;
    }
    const char *lead = normal ? "# " : "";
    int column = first ? fprintf(p->out, "%*s- ", indent - INDENT, "")
                       : fprintf(p->out, "%*s%s", indent, "", lead);
    if (!origin)
        origin = normal ? "default" : "follows from other keys";
    put_value(p, column, key, set ? value : NULL, origin);
}

static void put_element(const struct printer *p, int indent, const struct config_key *list,
                        void *element)
{
    const struct config_table *table = list->elements;
    uint32_t given = *config_element_given(list, element) | 1; /* the first carries the dash */
    const char *before = "";
    char origin[VALUE_MAX];

    config_origin_text(config_element_origin(list, element), list, p->config->file, origin,
                       sizeof origin);
    for (size_t i = 0; i < table->count; i++) {
        const struct config_key *key = &table->keys[i];
        int depth = open_groups(p, key->path, before, indent + INDENT);
        put_element_value(p, indent + INDENT + depth * INDENT, key, element,
                          (given >> i) & 1 ? origin : NULL, i == 0);
        before = key->path;
    }
}

static void put_elements(const struct printer *p, int indent, const struct config_key *list,
                         const char *origin)
{
    size_t count = config_element_count(list, p->config);
    int column = fprintf(p->out, "%*s%s:%s", indent, "", last_word(list->path), count ? "" : " []");

    put_origin(p, column, origin);
    for (size_t i = 0; i < count; i++)
        put_element(p, indent + INDENT, list, config_element_at(list, p->config, i));
}

/* ---- the whole ---- */

static void put_plain(const struct printer *p, int indent, const struct config_key *key,
                      const char *origin)
{
    char value[VALUE_MAX];
    bool set = key->type->print(key, p->config, value, sizeof value);
    bool shown = set && key->type != &config_secret;

    int column = fprintf(p->out, "%*s%s", indent, "", shown ? "" : "# ");
    put_value(p, column, key, shown ? value : set ? "***" : NULL, origin);
    explicit_bzero(value, sizeof value);
}

static void put_key(const struct printer *p, int indent, const struct config_key *key,
                    const char *origin)
{
    if (key->elements)
        put_elements(p, indent, key, origin);
    else if (is_text_list(key))
        put_texts(p, indent, key, p->config, origin);
    else
        put_plain(p, indent, key, origin);
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
