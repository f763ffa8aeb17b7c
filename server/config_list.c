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

size_t config_element_count(const struct config_key *key, const void *base)
{
    return key->type == CONFIG_LISTENERS ? config_of(base)->listener_count
                                         : config_of(base)->executors.count;
}

void *config_element_at(const struct config_key *key, const void *base, size_t i)
{
    if (key->type == CONFIG_LISTENERS)
        return &config_of(base)->listeners[i];
    return &config_of(base)->executors.list[i];
}

uint32_t *config_element_given(const struct config_key *key, void *element)
{
    return key->type == CONFIG_LISTENERS ? &((struct config_listener *)element)->given
                                         : &((struct config_executor *)element)->given;
}

struct config_origin *config_element_origin(const struct config_key *key, void *element)
{
    return key->type == CONFIG_LISTENERS ? &((struct config_listener *)element)->origin
                                         : &((struct config_executor *)element)->origin;
}

static bool grow_listeners(struct config *c)
{
    struct config_listener *at = realloc(c->listeners, (c->listener_count + 1) * sizeof *at);

    if (!at)
        return false;
    at[c->listener_count++] = (struct config_listener){0};
    c->listeners = at;
    return true;
}

static bool grow_executors(struct config *c)
{
    struct config_executor *at = realloc(c->executors.list, (c->executors.count + 1) * sizeof *at);

    if (!at)
        return false;
    at[c->executors.count++] = (struct config_executor){0};
    c->executors.list = at;
    return true;
}

void *config_element_add(const struct config_key *key, void *base)
{
    void *element;

    if (!(key->type == CONFIG_LISTENERS ? grow_listeners(base) : grow_executors(base)))
        return NULL;
    element = config_element_at(key, base, config_element_count(key, base) - 1);
    return config_set_defaults(config_element_keys(key->type), element) ? element : NULL;
}

static void clear_elements(const struct config_key *key, struct config *c)
{
    for (size_t i = 0; i < config_element_count(key, c); i++)
        config_clear_all(config_element_keys(key->type), config_element_at(key, c, i));
    if (key->type == CONFIG_LISTENERS) {
        free(c->listeners);
        c->listeners = NULL;
        c->listener_count = 0;
    } else {
        free(c->executors.list);
        c->executors.list = NULL;
        c->executors.count = 0;
    }
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
    const char *wrong = url_parse(text, &way);
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
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a map (write - kind: stepped)", text);
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
