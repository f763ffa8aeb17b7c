#include "server/config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/config_parts.h"

bool config_set_defaults(const struct config_table *table, void *base)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct config_key *key = &table->keys[i];
        char why[CONFIG_WHY_MAX];
        if (!key->normal)
            continue;
        enum config_outcome outcome = config_value_set(key, base, key->normal, why);
        assert(outcome != CONFIG_BAD);
        if (outcome == CONFIG_NO_MEMORY)
            return false;
    }
    return true;
}

void config_clear_all(const struct config_table *table, void *base)
{
    for (size_t i = 0; i < table->count; i++)
        config_value_clear(&table->keys[i], base);
}

static struct config *config_new(void)
{
    struct config *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->origins = calloc(config_keys.count, sizeof *c->origins);
    if (c->origins && config_set_defaults(&config_keys, c))
        return c;
    config_free(c);
    return NULL;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    config_clear_all(&config_keys, c);
    free(c->origins);
    free(c->file);
    free(c);
}

static void read_sources(struct config_report *r, struct config *c, const struct config_input *in,
                         const char *file)
{
    if (file) {
        c->file = strdup(file);
        r->no_memory |= !c->file;
        config_read_file(r, c, file);
    }
    config_read_env(r, c, in->envp);
    config_read_flags(r, c, in->argc, in->argv, NULL);
}

/* What does not parse is told first: checking half a configuration would only add to it. */
static void fill(struct config_report *r, struct config *c, const struct config_input *in,
                 const struct config_request *request)
{
    if (request->action == CONFIG_HELP || request->action == CONFIG_VERSION)
        return;
    read_sources(r, c, in, request->file);
    if (r->count > 0 || r->no_memory)
        return;
    config_derive(r, c);
    if (!r->no_memory)
        config_check(r, c);
}

struct config *config_load(const struct config_input *in, enum config_action *action)
{
    struct config_report report = {.out = in->errors};
    struct config_request request = {.action = CONFIG_SERVE,
                                     .file = config_getenv(in->envp, "ERGON_CONFIG")};
    struct config *c = config_new();

    if (!c)
        report.no_memory = true;
    else
        config_read_flags(&report, NULL, in->argc, in->argv, &request);
    if (report.count == 0 && !report.no_memory)
        fill(&report, c, in, &request);
    *action = request.action;
    if (report.count == 0 && !report.no_memory)
        return c;
    config_free(c);
    errno = report.no_memory ? ENOMEM : EINVAL;
    return NULL;
}

/* ---- comparison ---- */

struct comparison {
    void (*changed)(void *arg, const char *path, bool live);
    void *arg;
};

static void compare_elements(const struct comparison *cmp, const struct config_key *list,
                             const struct config *was, const struct config *is)
{
    const struct config_table *table = config_element_keys(list->type);
    size_t count = config_element_count(list, was);

    if (count != config_element_count(list, is)) {
        cmp->changed(cmp->arg, list->path, false);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < table->count; k++) {
            const struct config_key *key = &table->keys[k];
            char path[CONFIG_PATH_MAX];
            if (config_value_equal(key, config_element_at(list, was, i),
                                   config_element_at(list, is, i)))
                continue;
            snprintf(path, sizeof path, "%s[%zu].%s", list->path, i, key->path);
            cmp->changed(cmp->arg, path, key->live);
        }
}

void config_compare(const struct config *was, const struct config *is,
                    void (*changed)(void *arg, const char *path, bool live), void *arg)
{
    struct comparison cmp = {changed, arg};

    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        if (config_element_keys(key->type))
            compare_elements(&cmp, key, was, is);
        else if (!config_value_equal(key, was, is))
            changed(arg, key->path, key->live);
    }
}
