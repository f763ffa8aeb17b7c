/* Lists: of texts, and of maps that a table of keys describes; and what is done to all keys of such
 * a table. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/key_table.h"

/* ---- a whole struct ---- */

bool config_set_defaults(const struct config_table *table, void *base)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct config_key *key = &table->keys[i];
        char why[CONFIG_WHY_MAX];
        if (!key->normal)
            continue;
        enum config_outcome outcome = key->type->parse(key, base, key->normal, why);
        assert(outcome != CONFIG_BAD);
        if (outcome == CONFIG_NO_MEMORY)
            return false;
    }
    return true;
}

void config_clear_all(const struct config_table *table, void *base)
{
    for (size_t i = 0; i < table->count; i++)
        table->keys[i].type->clear(&table->keys[i], base);
}

/* ---- lists of texts ---- */

static enum config_outcome add_text(const struct config_key *key, void *base, const char *text,
                                    char *why)
{
    struct config_texts *list = config_member(key, base);
    char **at;

    if (*text == '\0') {
        snprintf(why, CONFIG_WHY_MAX, "an element of the list is empty");
        return CONFIG_BAD;
    }
    at = realloc(list->at, (list->count + 1) * sizeof *at);
    if (!at)
        return CONFIG_NO_MEMORY;
    list->at = at;
    at[list->count] = strdup(text);
    if (!at[list->count])
        return CONFIG_NO_MEMORY;
    list->count++;
    return CONFIG_OK;
}

static bool equal_texts(const struct config_key *key, const void *a, const void *b)
{
    const struct config_texts *x = config_member(key, a), *y = config_member(key, b);

    if (x->count != y->count)
        return false;
    for (size_t i = 0; i < x->count; i++)
        if (strcmp(x->at[i], y->at[i]) != 0)
            return false;
    return true;
}

static void clear_texts(const struct config_key *key, void *base)
{
    struct config_texts *list = config_member(key, base);

    for (size_t i = 0; i < list->count; i++)
        free(list->at[i]);
    free(list->at);
    *list = (struct config_texts){0};
}

const struct config_type config_textlist = {"list of texts", " PATH", .parse = add_text,
                                            .equal = equal_texts, .clear = clear_texts};

const struct config_type config_namelist = {"list of names", " NAME", .parse = add_text,
                                            .equal = equal_texts, .clear = clear_texts};

/* ---- lists of maps ---- */

/* The member is a pointer to the elements, of a type that only the key's table knows. */
static char *first_element(const struct config_key *key, const void *base)
{
    char *first;

    memcpy(&first, config_member(key, base), sizeof first);
    return first;
}

static void set_elements(const struct config_key *key, void *base, void *first, size_t count)
{
    memcpy(config_member(key, base), &first, sizeof first);
    memcpy((char *)base + key->count_offset, &count, sizeof count);
}

size_t config_element_count(const struct config_key *key, const void *base)
{
    return *(const size_t *)(const void *)((const char *)base + key->count_offset);
}

void *config_element_at(const struct config_key *key, const void *base, size_t i)
{
    return first_element(key, base) + i * key->elements->size;
}

uint32_t *config_element_given(const struct config_key *key, void *element)
{
    return (void *)((char *)element + key->elements->given_offset);
}

struct config_origin *config_element_origin(const struct config_key *key, void *element)
{
    return (void *)((char *)element + key->elements->origin_offset);
}

void *config_element_add(const struct config_key *key, void *base)
{
    size_t count = config_element_count(key, base), size = key->elements->size;
    char *first = realloc(first_element(key, base), (count + 1) * size);

    if (!first)
        return NULL;
    set_elements(key, base, first, count + 1);
    memset(first + count * size, 0, size);
    return config_set_defaults(key->elements, first + count * size) ? first + count * size : NULL;
}

static enum config_outcome refuse_text(const struct config_key *key, void *base, const char *text,
                                       char *why)
{
    (void)base;
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a map (write - %s)", text,
             key->elements->example);
    return CONFIG_BAD;
}

static enum config_outcome add_by_url(const struct config_key *key, void *base, const char *text,
                                      char *why)
{
    const struct config_key *url_key = key->elements->keys;
    enum url_use use = url_key->type == &config_adminurl ? URL_ADMIN : URL_LISTEN;
    struct url way;
    const char *wrong = url_parse(text, use, &way);

    if (wrong) {
        snprintf(why, CONFIG_WHY_MAX, "\"%.100s\": %s", text, wrong);
        return CONFIG_BAD;
    }
    void *element = config_element_add(key, base);
    if (!element)
        return CONFIG_NO_MEMORY;
    *config_element_given(key, element) = 1; /* the bit of the first key */
    return url_key->type->parse(url_key, element, text, why);
}

static bool equal_maps(const struct config_key *list, const void *a, const void *b)
{
    if (config_element_count(list, a) != config_element_count(list, b))
        return false;
    for (size_t i = 0; i < config_element_count(list, a); i++)
        for (size_t k = 0; k < list->elements->count; k++) {
            const struct config_key *key = &list->elements->keys[k];
            if (!key->type->equal(key, config_element_at(list, a, i),
                                  config_element_at(list, b, i)))
                return false;
        }
    return true;
}

static void clear_maps(const struct config_key *key, void *base)
{
    for (size_t i = 0; i < config_element_count(key, base); i++)
        config_clear_all(key->elements, config_element_at(key, base, i));
    free(first_element(key, base));
    set_elements(key, base, NULL, 0);
}

const struct config_type config_urlmaps = {"list of maps", " URL", .parse = add_by_url,
                                           .equal = equal_maps, .clear = clear_maps};
const struct config_type config_maps = {"list of maps", "", .parse = refuse_text,
                                        .equal = equal_maps, .clear = clear_maps};
