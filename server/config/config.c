#include "server/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/sources.h"

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
    free(c->copy);
    free(c->grant);
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
    config_read_environment(r, c, in->envp);
    config_read_flags(r, c, in->argc, in->argv, NULL);
}

/* The service manager's, if it names one alone. */
static void take_state_folder(struct config_report *r, struct config *c,
                              const struct config_input *in)
{
    const char *folder = config_getenv(in->envp, "STATE_DIRECTORY");

    if (!c->cluster.exists || c->cluster.state || !folder || !*folder || strchr(folder, ':'))
        return;
    c->cluster.state = strdup(folder);
    r->no_memory |= !c->cluster.state;
}

static void take_verb(struct config_report *r, struct config *c,
                      const struct config_request *request)
{
    static const char *const verbs[] = {[CONFIG_VERB_INIT] = "init",
                                        [CONFIG_VERB_UPGRADE] = "upgrade",
                                        [CONFIG_VERB_UPGRADE_CHECK] = "upgrade-check",
                                        [CONFIG_VERB_UPGRADE_FINISH] = "upgrade-finish",
                                        [CONFIG_VERB_LOOK] = "look",
                                        [CONFIG_VERB_LOOK_JSON] = "look-json"};
    size_t i = 0, count = sizeof verbs / sizeof *verbs;

    while (i < count && strcmp(verbs[i], request->verb) != 0)
        i++;
    c->verb = (enum config_verb)i;
    c->grant = request->grant ? strdup(request->grant) : NULL;
    r->no_memory |= request->grant && !c->grant;
    c->copy = request->copy ? strdup(request->copy) : NULL;
    r->no_memory |= request->copy && !c->copy;
    if (i == count)
        config_problem(r, &(struct config_origin){0}, NULL, NULL,
                       "--cluster-admin: \"%.40s\" is not one of init, upgrade, upgrade-check, "
                       "upgrade-finish, look, look-json",
                       request->verb);
    else if (!c->cluster.exists)
        config_problem(r, &(struct config_origin){0}, NULL, NULL,
                       "--cluster-admin: the store is no database (write --store "
                       "postgresql://HOST/NAME)");
}

/* What does not parse is reported first: to check half a configuration would only add to that. */
static void fill(struct config_report *r, struct config *c, const struct config_input *in,
                 const struct config_request *request)
{
    if (request->action == CONFIG_HELP || request->action == CONFIG_VERSION)
        return;
    if (request->store) {
        free(c->store);
        c->store = strdup(request->store);
        r->no_memory |= !c->store;
        if (request->action != CONFIG_BACKUP_STORE)
            return;
        c->copy = strdup(request->copy ? request->copy : "");
        r->no_memory |= !c->copy;
        if (!request->copy)
            config_problem(r, &(struct config_origin){0}, NULL, NULL,
                           "--backup-store: needs --backup-to COPY");
        return;
    }
    read_sources(r, c, in, request->file);
    if (r->count > 0 || r->no_memory)
        return;
    config_derive(r, c);
    take_state_folder(r, c, in);
    if (!r->no_memory && request->action == CONFIG_ADMINISTER)
        take_verb(r, c, request);
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
    size_t count = config_element_count(list, was);

    if (count != config_element_count(list, is)) {
        cmp->changed(cmp->arg, list->path, list->live);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < list->elements->count; k++) {
            const struct config_key *key = &list->elements->keys[k];
            char path[CONFIG_PATH_MAX];
            if (key->type->equal(key, config_element_at(list, was, i),
                                 config_element_at(list, is, i)))
                continue;
            snprintf(path, sizeof path, "%s[%zu].%s", list->path, i, key->path);
            cmp->changed(cmp->arg, path, key->live || list->live);
        }
}

void config_compare(const struct config *was, const struct config *is,
                    void (*changed)(void *arg, const char *path, bool live), void *arg)
{
    struct comparison cmp = {changed, arg};

    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        if (key->elements)
            compare_elements(&cmp, key, was, is);
        else if (!key->type->equal(key, was, is))
            changed(arg, key->path, key->live);
    }
}
