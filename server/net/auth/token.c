/* The token file, parsed whole into an immutable table. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/instant.h"
#include "server/net/auth/token.h"

enum { LINE_MAX_BYTES = 4096, NS_A_SECOND = 1000000000 };

struct token_line {
    uint8_t hash[SHA256_SIZE];
    uint64_t expires;                  /* Unix ns; 0: never */
    const struct principal *principal; /* a reference */
};

struct token_table {
    _Atomic uint32_t references; /* as in principal.c */
    size_t count;
    unsigned vain; /* line */
    struct token_line *lines;
};

struct parse {
    const char *path;
    struct role_table *roles;
    unsigned line; /* from 1 */
    char *error;
    size_t size;
};

static bool bad(const struct parse *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The message never quotes the line: it may hold a token by mistake. */
static bool bad(const struct parse *p, const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p->line == 0)
        snprintf(p->error, p->size, "%s: %s", p->path, text);
    else
        snprintf(p->error, p->size, "%s:%u: %s", p->path, p->line, text);
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hash(const struct parse *p, const char *word, uint8_t out[static SHA256_SIZE])
{
    static const char prefix[] = "sha256:";
    const char *hex = word + sizeof prefix - 1;

    if (strncmp(word, prefix, sizeof prefix - 1) != 0)
        return bad(p, "a line starts with \"sha256:\" and the hash of a token; make one with "
                      "\"ergon token\"");
    if (strlen(hex) != 2 * (size_t)SHA256_SIZE)
        return bad(p, "the hash has %zu characters instead of %d hex digits", strlen(hex),
                   2 * SHA256_SIZE);
    for (int i = 0; i < SHA256_SIZE; i++) {
        int high = hex_digit(hex[2 * i]);
        int low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return bad(p, "the hash holds a character that is no hex digit");
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool parse_methods(const struct parse *p, const char *methods)
{
    for (const char *at = methods;;) {
        size_t len = strcspn(at, ",");
        if (len == 0)
            return bad(p, "a method is empty: write \"echo,server.*\", or \"*\" for all");
        const char *star = memchr(at, '*', len);
        if (star != NULL && star != at + len - 1)
            return bad(p, "'*' is allowed only at the end of a method pattern");
        at += len;
        if (*at == '\0')
            return true;
        at++;
    }
}

static bool add_line(struct token_table *t, const struct token_line *line)
{
    if ((t->count & (t->count - 1)) == 0) { /* room doubles at each power of two */
        size_t room = t->count == 0 ? 1 : 2 * t->count;
        struct token_line *bigger = realloc(t->lines, room * sizeof *bigger);
        if (bigger == NULL)
            return false;
        t->lines = bigger;
    }
    t->lines[t->count++] = *line;
    return true;
}

/* `text` NULL: it has none. */
static bool parse_end(const struct parse *p, const char *text, struct token_line *line)
{
    static const char prefix[] = "expires=";

    line->expires = 0;
    if (text == NULL)
        return true;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return bad(p, "only expires=TIME may follow the methods, which are separated by commas "
                      "without blanks");
    if (instant_parse(span_text(text + sizeof prefix - 1), &line->expires) && line->expires > 0)
        return true;
    return bad(p, "the end of a token is a moment such as expires=2027-01-01T00:00:00Z");
}

static bool take_line(const struct parse *p, struct token_table *t, struct token_line *line,
                      const char *name, const char *methods)
{
    line->principal = principal_new(&(struct principal_options){.how = PRINCIPAL_TOKEN,
                                                                .name = name,
                                                                .methods = methods,
                                                                .roles = p->roles,
                                                                .token = line->hash,
                                                                .expires = line->expires});
    if (line->principal == NULL || !add_line(t, line)) {
        principal_unref(line->principal);
        return bad(p, "out of memory");
    }
    if (t->vain == 0 && patterns_seem_to_grant(methods))
        t->vain = p->line;
    return true;
}

static bool parse_line(const struct parse *p, struct token_table *t, char *text)
{
    static const char blank[] = " \t\r\n";
    struct token_line line;
    char *rest = text;

    text[strcspn(text, "#")] = '\0';
    char *hash = strtok_r(rest, blank, &rest);
    if (hash == NULL)
        return true;
    char *name = strtok_r(NULL, blank, &rest);
    char *methods = strtok_r(NULL, blank, &rest);
    char *end = strtok_r(NULL, blank, &rest);
    if (!parse_hash(p, hash, line.hash))
        return false;
    if (name == NULL || methods == NULL)
        return bad(p, "a line is \"sha256:HASH PRINCIPAL METHOD[,METHOD...] [expires=TIME]\"");
    if (strtok_r(NULL, blank, &rest) != NULL)
        return bad(p, "methods are separated by commas, without blanks");
    if (principal_is_full_name(name))
        return bad(p, "the name of a principal cannot begin with token:, cert:, unix:, address:, "
                      "database: or module:, the prefixes of ways to authenticate");
    return parse_end(p, end, &line) && parse_methods(p, methods) &&
           take_line(p, t, &line, name, methods);
}

static bool parse_file(struct parse *p, struct token_table *t, FILE *file)
{
    char text[LINE_MAX_BYTES];

    while (fgets(text, sizeof text, file) != NULL) {
        p->line++;
        if (strchr(text, '\n') == NULL && !feof(file))
            return bad(p, "the line is longer than %d characters", LINE_MAX_BYTES - 2);
        if (!parse_line(p, t, text))
            return false;
    }
    p->line = 0;
    return !ferror(file) || bad(p, "cannot be read");
}

struct token_table *token_table_load(const char *path, struct role_table *roles, char *error,
                                     size_t size)
{
    struct parse p = {.path = path, .roles = roles, .error = error, .size = size};
    struct token_table *t = calloc(1, sizeof *t);
    char text[96];

    if (t == NULL) {
        bad(&p, "out of memory");
        return NULL;
    }
    atomic_init(&t->references, 1);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        bad(&p, "%s", strerror_r(errno, text, sizeof text));
        goto fail;
    }
    bool good = parse_file(&p, t, file);
    fclose(file);
    if (good)
        return t;
fail:
    token_table_unref(t);
    return NULL;
}

struct token_table *token_table_ref(struct token_table *t)
{
    atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
    return t;
}

void token_table_unref(struct token_table *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < t->count; i++)
        principal_unref(t->lines[i].principal);
    free(t->lines);
    free(t);
}

static const struct token_line *line_of(const struct token_table *t, const struct token_line *line)
{
    for (size_t i = 0; t != NULL && i < t->count; i++)
        if (memcmp(t->lines[i].hash, line->hash, sizeof line->hash) == 0 &&
            strcmp(principal_name(t->lines[i].principal), principal_name(line->principal)) == 0)
            return &t->lines[i];
    return NULL;
}

static bool is_same(const struct token_line *a, const struct token_line *b)
{
    const struct rights *one = principal_rights(a->principal);
    const struct rights *other = principal_rights(b->principal);
    const struct span all = {0};

    return a->expires == b->expires && rights_within(one, other, all, all) &&
           rights_within(other, one, all, all);
}

void token_table_compare(const struct token_table *before, const struct token_table *after,
                         void (*tell)(void *arg, const char *principal, const char *how), void *arg)
{
    for (size_t i = 0; before != NULL && i < before->count; i++)
        if (line_of(after, &before->lines[i]) == NULL)
            tell(arg, principal_name(before->lines[i].principal), "removed");
    for (size_t i = 0; after != NULL && i < after->count; i++) {
        const struct token_line *line = line_of(before, &after->lines[i]);
        if (line == NULL || !is_same(line, &after->lines[i]))
            tell(arg, principal_name(after->lines[i].principal), line ? "changed" : "added");
    }
}

int64_t token_table_first_end(const struct token_table *t)
{
    uint64_t first = 0;

    for (size_t i = 0; i < t->count; i++)
        if (t->lines[i].expires > 0 && (first == 0 || t->lines[i].expires < first))
            first = t->lines[i].expires;
    return first > 0 ? (int64_t)(first / NS_A_SECOND) : INT64_MAX;
}

bool token_table_names(const struct token_table *t, const char *name)
{
    char full[LINE_MAX_BYTES];

    principal_full_name(PRINCIPAL_TOKEN, name, full, sizeof full);
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(principal_name(t->lines[i].principal), full) == 0)
            return true;
    return false;
}

unsigned token_table_vain_line(const struct token_table *t)
{
    return t->vain;
}

const struct principal *token_table_find_hash(const struct token_table *t, const uint8_t *hash)
{
    const struct principal *found = NULL;

    for (size_t i = 0; i < t->count; i++) /* all of them, whichever fits */
        if (crypto_equal(t->lines[i].hash, hash) &&
            (t->lines[i].expires == 0 || t->lines[i].expires > clock_wall()))
            found = t->lines[i].principal;
    return found;
}

const struct principal *token_table_find(const struct token_table *t, struct span token)
{
    uint8_t hash[SHA256_SIZE];

    return crypto_sha256(token, hash) ? token_table_find_hash(t, hash) : NULL;
}
