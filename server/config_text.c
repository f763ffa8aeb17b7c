#include <stdlib.h>
#include <string.h>

#include "server/config_parts.h"

enum { CORE_MAX = 4095, CORES_MAX = 1024, TEXT_MAX = 4095 };

static char **text_at(const struct config_key *key, const void *base)
{
    return (char **)((char *)(uintptr_t)base + key->offset);
}

static struct config_cores *cores_at(const struct config_key *key, const void *base)
{
    return (struct config_cores *)((char *)(uintptr_t)base + key->offset);
}

enum config_outcome config_text_set(const struct config_key *key, void *base, const char *text,
                                    char *why)
{
    const char *wrong = NULL;
    struct url url;
    char *copy;

    if (*text == '\0')
        wrong = "an empty value; leave the key out instead";
    else if (strlen(text) > TEXT_MAX)
        wrong = "a value is limited to 4095 bytes";
    else if (key->type == CONFIG_URL)
        wrong = url_parse(text, URL_LISTEN, &url);
    if (wrong) {
        snprintf(why, CONFIG_WHY_MAX, "\"%.100s\": %s", text, wrong);
        return CONFIG_BAD;
    }
    copy = strdup(text);
    if (!copy)
        return CONFIG_NO_MEMORY;
    config_text_clear(key, base);
    *text_at(key, base) = copy;
    return CONFIG_OK;
}

/* ---- cores ---- */

static bool take_number(const char **text, uint32_t *n)
{
    size_t digits = strspn(*text, "0123456789");

    *n = 0;
    if (digits == 0 || digits > 4)
        return false;
    for (size_t i = 0; i < digits; i++)
        *n = *n * 10 + (uint32_t)(*(*text)++ - '0');
    return *n <= CORE_MAX;
}

/* "3" or "0-2" */
static bool take_range(const char **text, uint32_t *first, uint32_t *last)
{
    if (!take_number(text, first))
        return false;
    *last = *first;
    if (**text != '-')
        return true;
    ++*text;
    return take_number(text, last) && *last >= *first;
}

static bool add_cores(struct config_cores *cores, uint32_t first, uint32_t last)
{
    size_t more = last - first + 1;
    uint32_t *at = realloc(cores->at, (cores->count + more) * sizeof *at);

    if (!at)
        return false;
    cores->at = at;
    for (uint32_t core = first; core <= last; core++)
        at[cores->count++] = core;
    return true;
}

static enum config_outcome parse_cores(const char *text, struct config_cores *cores)
{
    uint32_t first, last;

    for (;; text++) {
        if (!take_range(&text, &first, &last) || cores->count + last - first >= CORES_MAX)
            return CONFIG_BAD;
        if (!add_cores(cores, first, last))
            return CONFIG_NO_MEMORY;
        if (*text != ',')
            return *text == '\0' ? CONFIG_OK : CONFIG_BAD;
    }
}

enum config_outcome config_cores_set(const struct config_key *key, void *base, const char *text,
                                     char *why)
{
    struct config_cores cores = {0};
    enum config_outcome outcome = parse_cores(text, &cores);

    if (outcome == CONFIG_OK) {
        config_text_clear(key, base);
        *cores_at(key, base) = cores;
        return CONFIG_OK;
    }
    free(cores.at);
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a list of at most 1024 cores (write \"0-2,5\")",
             text);
    return outcome;
}

static bool cores_text(const struct config_cores *cores, char *buf, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < cores->count && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%u", i ? "," : "", cores->at[i]);
    return cores->count > 0;
}

static bool cores_equal(const struct config_cores *a, const struct config_cores *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->at, b->at, a->count * sizeof *a->at) == 0);
}

/* ---- all that own memory ---- */

bool config_text_text(const struct config_key *key, const void *base, char *buf, size_t size)
{
    const char *text;

    if (key->type == CONFIG_CORES)
        return cores_text(cores_at(key, base), buf, size);
    if (config_is_list(key->type))
        return false;
    text = *text_at(key, base);
    if (text)
        snprintf(buf, size, "%s", text);
    return text != NULL;
}

bool config_text_equal(const struct config_key *key, const void *a, const void *b)
{
    const char *x, *y;

    if (key->type == CONFIG_CORES)
        return cores_equal(cores_at(key, a), cores_at(key, b));
    if (config_is_list(key->type))
        return config_list_equal(key, a, b);
    x = *text_at(key, a);
    y = *text_at(key, b);
    return x == y || (x && y && strcmp(x, y) == 0);
}

static void clear_cores(struct config_cores *cores)
{
    free(cores->at);
    *cores = (struct config_cores){0};
}

static void clear_text(char **text, bool secret)
{
    if (*text && secret)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void config_text_clear(const struct config_key *key, void *base)
{
    if (key->type == CONFIG_CORES)
        clear_cores(cores_at(key, base));
    else if (config_is_list(key->type))
        config_list_clear(key, base);
    else
        clear_text(text_at(key, base), key->type == CONFIG_SECRET);
}
