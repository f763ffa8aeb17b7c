#include "server/config_parts.h"

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
    config_value_clear(key, t->base);
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

    if (config_is_list(key->type))
        config_replace(t, key, origin);
    switch (config_value_set(key, t->base, text, why)) {
    case CONFIG_OK:
        if (config_element_keys(key->type))
            note_element(t, key, origin);
        if (!config_is_list(key->type))
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
