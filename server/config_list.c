#include <stdlib.h>
#include <string.h>

#include "server/config_parts.h"

static struct config_texts *texts_at(const struct config_key *key, const void *base)
{
    return (struct config_texts *)((char *)(uintptr_t)base + key->offset);
}

static struct config *config_of(const void *base)
{
    return (struct config *)(uintptr_t)base;
}

/* ---- lists of texts ---- */

static enum config_outcome add_text(struct config_texts *list, const char *text, char *why)
{
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

static bool texts_equal(const struct config_texts *a, const struct config_texts *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->at[i], b->at[i]) != 0)
            return false;
    return true;
}

static void clear_texts(struct config_texts *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->at[i]);
    free(list->at);
    *list = (struct config_texts){0};
}

/* ---- lists of maps ---- */

static void *elements_of(const struct config_key *key, const struct config *c)
{
    if (key->type == CONFIG_LISTENERS)
        return c->listeners;
    return key->type == CONFIG_TENANTS ? (void *)c->tenants : (void *)c->executors.list;
}

static void set_elements(const struct config_key *key, struct config *c, void *at, size_t count)
{
    if (key->type == CONFIG_LISTENERS) {
        c->listeners = at;
        c->listener_count = count;
    } else if (key->type == CONFIG_TENANTS) {
        c->tenants = at;
        c->tenant_count = count;
    } else {
        c->executors.list = at;
        c->executors.count = count;
    }
}

size_t config_element_count(const struct config_key *key, const void *base)
{
    const struct config *c = config_of(base);

    if (key->type == CONFIG_LISTENERS)
        return c->listener_count;
    return key->type == CONFIG_TENANTS ? c->tenant_count : c->executors.count;
}

void *config_element_at(const struct config_key *key, const void *base, size_t i)
{
    char *first = elements_of(key, config_of(base));

    return first + i * config_element_keys(key->type)->size;
}

uint32_t *config_element_given(const struct config_key *key, void *element)
{
    if (key->type == CONFIG_LISTENERS)
        return &((struct config_listener *)element)->given;
    if (key->type == CONFIG_TENANTS)
        return &((struct config_tenant *)element)->given;
    return &((struct config_executor *)element)->given;
}

struct config_origin *config_element_origin(const struct config_key *key, void *element)
{
    if (key->type == CONFIG_LISTENERS)
        return &((struct config_listener *)element)->origin;
    if (key->type == CONFIG_TENANTS)
        return &((struct config_tenant *)element)->origin;
    return &((struct config_executor *)element)->origin;
}

void *config_element_add(const struct config_key *key, void *base)
{
    struct config *c = config_of(base);
    const struct config_table *table = config_element_keys(key->type);
    size_t count = config_element_count(key, c);
    char *at = realloc(elements_of(key, c), (count + 1) * table->size);

    if (!at)
        return NULL;
    set_elements(key, c, at, count + 1);
    memset(at + count * table->size, 0, table->size);
    return config_set_defaults(table, at + count * table->size) ? at + count * table->size : NULL;
}

static void clear_elements(const struct config_key *key, struct config *c)
{
    for (size_t i = 0; i < config_element_count(key, c); i++)
        config_clear_all(config_element_keys(key->type), config_element_at(key, c, i));
    free(elements_of(key, c));
    set_elements(key, c, NULL, 0);
}

static bool elements_equal(const struct config_key *key, const void *a, const void *b)
{
    const struct config_table *table = config_element_keys(key->type);

    if (config_element_count(key, a) != config_element_count(key, b))
        return false;
    for (size_t i = 0; i < config_element_count(key, a); i++)
        for (size_t k = 0; k < table->count; k++)
            if (!config_value_equal(&table->keys[k], config_element_at(key, a, i),
                                    config_element_at(key, b, i)))
                return false;
    return true;
}

static enum config_outcome add_listener(const struct config_key *key, void *base, const char *text,
                                        char *why)
{
    struct url way;
    const char *wrong = url_parse(text, URL_LISTEN, &way);
    struct config_listener *l;

    if (wrong) {
        snprintf(why, CONFIG_WHY_MAX, "\"%.100s\": %s", text, wrong);
        return CONFIG_BAD;
    }
    l = config_element_add(key, base);
    if (!l)
        return CONFIG_NO_MEMORY;
    l->given = 1; /* the URL is the first key of its table */
    l->url = strdup(text);
    return l->url ? CONFIG_OK : CONFIG_NO_MEMORY;
}

/* ---- all lists ---- */

enum config_outcome config_list_add(const struct config_key *key, void *base, const char *text,
                                    char *why)
{
    if (key->type == CONFIG_TEXTS)
        return add_text(texts_at(key, base), text, why);
    if (key->type == CONFIG_LISTENERS)
        return add_listener(key, base, text, why);
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a map (write - %s)", text,
             key->type == CONFIG_TENANTS ? "name: ada" : "kind: stepped");
    return CONFIG_BAD;
}

bool config_list_equal(const struct config_key *key, const void *a, const void *b)
{
    return key->type == CONFIG_TEXTS ? texts_equal(texts_at(key, a), texts_at(key, b))
                                     : elements_equal(key, a, b);
}

void config_list_clear(const struct config_key *key, void *base)
{
    if (key->type == CONFIG_TEXTS)
        clear_texts(texts_at(key, base));
    else
        clear_elements(key, base);
}
