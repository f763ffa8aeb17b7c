#include "client/cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "client/cli/synonyms.h"
#include "client/cli/wrap.h"

enum { HELP_INDENT = 31 };

static const char *const PERIOD_DEFAULT = "2s";

struct parser {
    const struct option_set *sets;
    size_t set_count;
    char **argv;
    int argc;
    int at;   /* the argument that is looked at */
    int kept; /* arguments in front of argv */
    char *why;
    size_t why_size;
};

static bool is_argument(const char *word)
{
    return word[0] != '-' || word[1] == 0 || isdigit((unsigned char)word[1]) || word[1] == '.';
}

static bool parse_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0 && *out > 0;
}

static bool parse_size(const char *text, uint64_t *out)
{
    if (text[0] != 0 && text[strspn(text, "0123456789")] == 0) {
        char *end = NULL;
        errno = 0;
        *out = strtoull(text, &end, 10);
        return errno == 0;
    }
    return units_size(span_text(text), out);
}

static const char *append(struct option_list *list, const char *value)
{
    if (list->count == OPTION_LIST_MAX)
        return "one of the 64 that there may be";
    list->at[list->count++] = value;
    return NULL;
}

/* NULL, or what a value of this kind looks like. */
static const char *store(const struct option_spec *spec, void *base, const char *value)
{
    void *to = (char *)base + spec->offset;
    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return NULL;
    case OPTION_TEXT:
        *(const char **)to = value;
        return NULL;
    case OPTION_PERIOD:
        if (value == NULL)
            value = PERIOD_DEFAULT;
        /* fall through */
    case OPTION_DURATION:
        return units_duration(span_text(value), to) ? NULL
                                                    : units_duration_expected(span_text(value));
    case OPTION_SIZE:
        return parse_size(value, to) ? NULL : "a size, as 64, 64k or 1m";
    case OPTION_NUMBER:
        return parse_number(value, to) ? NULL : "a whole number from 1";
    case OPTION_LIST:
    case OPTION_ARGUMENT:
        return append(to, value);
    }
    return "something else";
}

static bool needs_value(const struct option_spec *spec)
{
    return spec->kind != OPTION_FLAG && spec->kind != OPTION_PERIOD;
}

static bool take(struct parser *p, const struct option_spec *spec, void *base, const char *value)
{
    if (needs_value(spec) && value == NULL) {
        if (++p->at >= p->argc) {
            snprintf(p->why, p->why_size, "option --%s needs %s", spec->name, spec->argument);
            return false;
        }
        value = p->argv[p->at];
    }
    const char *wanted = store(spec, base, value);
    if (wanted != NULL)
        snprintf(p->why, p->why_size, "option --%s: '%s' is not %s", spec->name, value, wanted);
    else if (spec->kind == OPTION_ARGUMENT)
        p->argv[p->kept++] = (char *)value;
    return wanted == NULL;
}

static const struct option_spec *find(const struct parser *p, const char *name, size_t len,
                                      char letter, void **base)
{
    for (size_t i = 0; i < p->set_count; i++) {
        const struct option_spec *s = p->sets[i].specs;
        *base = p->sets[i].base;
        for (; s != NULL && s->name != NULL; s++)
            if (letter != 0 ? s->letter == letter
                            : strlen(s->name) == len && strncmp(s->name, name, len) == 0)
                return s;
    }
    return NULL;
}

static bool suggest_option(struct parser *p, const char *word, const char *option, size_t len)
{
    snprintf(p->why, p->why_size, "unknown option %s; did you mean --%.*s?", word, (int)len,
             option);
    return false;
}

/* `name` is that of a long option, or the letter of a short one.  A name of other programs comes
 * first, then one behind a single dash, then one that is similar: at most half of it is wrong. */
static bool unknown(struct parser *p, const char *word, struct span name)
{
    void *base;
    char text[SUGGEST_WORD_MAX + 1];
    const char *meant;
    snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.at);
    bool letter = word[1] == '-' && name.len == 1; /* --h is no -h */
    for (size_t i = 0; !letter && (meant = synonym_option(text, i)) != NULL; i++)
        if (find(p, meant, strcspn(meant, " "), 0, &base) != NULL)
            return suggest_option(p, word, meant, strlen(meant));
    if (word[1] != '-' && find(p, word + 1, strlen(word + 1), 0, &base) != NULL)
        return suggest_option(p, word, word + 1, strlen(word + 1));
    struct suggestion near = suggest_for(name, name.len / 2);
    for (size_t k = 0; word[1] == '-' && k < p->set_count; k++)
        for (const struct option_spec *o = p->sets[k].specs; o != NULL && o->name != NULL; o++)
            suggest_offer(&near, span_text(o->name));
    if (near.name.len > 0)
        return suggest_option(p, word, (const char *)near.name.at, near.name.len);
    snprintf(p->why, p->why_size, "unknown option %s", word);
    return false;
}

static bool long_option(struct parser *p, const char *word)
{
    void *base;
    size_t len = strcspn(word + 2, "=");
    const struct option_spec *spec = find(p, word + 2, len, 0, &base);
    const char *value = word[2 + len] == '=' ? word + 2 + len + 1 : NULL;
    if (spec == NULL)
        return unknown(p, word, span_of(word + 2, len));
    if (spec->kind == OPTION_FLAG && value != NULL) {
        snprintf(p->why, p->why_size, "option --%s takes no value", spec->name);
        return false;
    }
    return take(p, spec, base, value);
}

static bool short_options(struct parser *p, const char *word)
{
    for (const char *c = word + 1; *c != 0; c++) {
        void *base;
        const struct option_spec *spec = find(p, NULL, 0, *c, &base);
        if (spec == NULL)
            return unknown(p, word, span_of(c, 1));
        if (needs_value(spec))
            return take(p, spec, base, c[1] != 0 ? c + 1 : NULL);
        take(p, spec, base, NULL);
    }
    return true;
}

bool options_parse(const struct option_set *sets, size_t set_count, int *argc, char **argv,
                   bool stop_at_first, char *why, size_t why_size)
{
    struct parser p = {sets, set_count, argv, *argc, 0, 0, why, why_size};
    bool ended = false;
    for (; p.at < p.argc; p.at++) {
        char *word = argv[p.at];
        ended = ended || (stop_at_first && is_argument(word));
        if (ended || is_argument(word))
            argv[p.kept++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (!(word[1] == '-' ? long_option(&p, word) : short_options(&p, word)))
            return false;
    }
    *argc = p.kept;
    return true;
}

void options_help(FILE *out, const struct option_spec *specs)
{
    for (const struct option_spec *s = specs; s != NULL && s->name != NULL; s++) {
        char left[64];
        int n = s->letter != 0 ? snprintf(left, sizeof left, "-%c, ", s->letter)
                               : snprintf(left, sizeof left, "    ");
        bool period = s->kind == OPTION_PERIOD; /* its value may be left out */
        snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s%s", s->name,
                 s->argument == NULL ? ""
                 : period            ? "[="
                                     : " ",
                 s->argument != NULL ? s->argument : "", period ? "]" : "");
        fprintf(out, "  %-*s ", HELP_INDENT - 3, left);
        wrap_behind(out, HELP_INDENT, s->help);
    }
}
