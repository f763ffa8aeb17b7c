#include "server/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/audit.h"
#include "server/net/auth/token.h"
#include "server/plan.h"
#include "server/system/security_warnings.h"

static bool allows_any(const struct config *c, size_t listener)
{
    const struct config_texts *allow = &c->listeners[listener].allow;

    for (size_t i = 0; i < allow->count; i++)
        if (strcmp(allow->at[i], "task.any") == 0)
            return true;
    return false;
}

/* `*` once included the right to act on tasks of others.  Warns if the configuration may rely on
 * that. */
static void note_vain_patterns(const struct config *c, const struct token_table *tokens)
{
    static const char event[] = "this pattern grants no right over others, as it once did";
    static const char hint[] = "to act on tasks of other tenants, a principal needs the right "
                               "task.any by its own name: docs/running.md, Upgrade";

    if (tokens && token_table_vain_line(tokens) > 0)
        log_warn(event, LOG_STR("file", c->tokens_file),
                 LOG_UINT("line", token_table_vain_line(tokens)), LOG_STR("why", hint));
    for (size_t i = 0; i < c->listener_count; i++)
        for (size_t k = 0; k < c->listeners[i].allow.count; k++)
            if (patterns_seem_to_grant(c->listeners[i].allow.at[k]) && !allows_any(c, i)) {
                log_warn(event, LOG_STR("listener", c->listeners[i].url),
                         LOG_UINT("line", c->listeners[i].origin.line), LOG_STR("why", hint));
                break;
            }
}

/* References to the tables in force; NULL: none.  Main thread. */
static struct token_table *known_tokens;
static struct role_table *known_roles;

/* The change takes effect even if it cannot be recorded: a signal cannot be answered with BUSY. */
static void record(const char *event, const struct log_field *fields)
{
    if (audit_reserve())
        audit_write(event, fields);
    else
        audit_note(LOG_WARN, event, fields);
}

static void record_token(void *by, const char *principal, const char *how)
{
    const struct log_field fields[] = {
        LOG_STR("principal", principal), LOG_STR("method", "reload"), LOG_STR("outcome", how),
        LOG_STR("on", "token"),          LOG_STR("by", by),           {0}};

    record("token changed", fields);
}

static void record_role(void *by, const struct role *role, const char *how)
{
    const struct log_field fields[] = {
        LOG_STR("principal", role->members), LOG_STR("method", "reload"), LOG_STR("outcome", how),
        LOG_STR("on", role->name),           LOG_STR("by", by),           {0}};

    record("role changed", fields);
}

static void record_key(const char *by, const char *path)
{
    const struct log_field fields[] = {LOG_STR("method", "reload"),
                                       LOG_STR("outcome", "changed"),
                                       LOG_STR("on", path),
                                       LOG_STR("by", by),
                                       {0}};

    record("configuration changed", fields);
}

/* Records what has changed since the tables before; at the start (`by` NULL) nothing has. */
static void note_tables(const struct net_secrets *secrets, const char *by)
{
    void *arg = (void *)(uintptr_t)by;

    if (by) {
        token_table_compare(known_tokens, secrets->tokens, record_token, arg);
        role_table_compare(known_roles, secrets->roles, record_role, arg);
    }
    token_table_unref(known_tokens);
    role_table_unref(known_roles);
    known_tokens = secrets->tokens == NULL ? NULL : token_table_ref(secrets->tokens);
    known_roles = role_table_count(secrets->roles) == 0 ? NULL : role_table_ref(secrets->roles);
}

int reload_secrets(const struct config *c, struct acceptor *acceptor,
                   const struct reload_request *request, char *error, size_t size)
{
    struct net_secrets secrets = {.roles = plan_roles(c),
                                  .lower = c->on_revoke == CONFIG_REVOKE_LOWER,
                                  .taken = request ? request->taken : NULL,
                                  .arg = request ? request->arg : NULL};
    int status = -1;

    if (!secrets.roles) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    if (c->tokens_file)
        secrets.tokens = token_table_load(c->tokens_file, secrets.roles, error, size);
    if (!c->tokens_file || secrets.tokens)
        status = net_reload(acceptor, &secrets, error, size);
    if (status == 0)
        note_vain_patterns(c, secrets.tokens);
    if (status == 0)
        note_tables(&secrets, request ? request->by : NULL);
    token_table_unref(secrets.tokens);
    role_table_unref(secrets.roles);
    return status;
}

static void refuse(const char *why)
{
    log_error("not reloaded, everything stays as it was", LOG_STR("why", why));
}

static void log_lines(char *text)
{
    char *rest;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        refuse(line);
}

/* Logs each problem as a record. */
static struct config *load_again(const struct config_input *input)
{
    char *text = NULL;
    size_t size = 0;
    enum config_action action;
    struct config_input quiet = *input;

    quiet.errors = open_memstream(&text, &size);
    if (!quiet.errors)
        return NULL;
    struct config *c = config_load(&quiet, &action);
    fclose(quiet.errors);
    if (!c)
        log_lines(text);
    free(text);
    return c;
}

static void on_changed(void *arg, const char *path, bool live)
{
    if (!live) {
        log_warn("configuration changed, but only a restart takes it over", LOG_STR("key", path));
        return;
    }
    log_info("configuration changed", LOG_STR("key", path));
    record_key(arg, path);
}

bool reload(struct config **config, const struct config_input *input, struct acceptor *acceptor,
            const struct reload_request *request)
{
    struct config *next = load_again(input);
    char error[512];

    if (!next)
        return false;
    log_set_threshold(next->log.level); /* before the loops are notified */
    if (reload_secrets(next, acceptor, request, error, sizeof error) < 0) {
        log_set_threshold((*config)->log.level);
        refuse(error);
        config_free(next);
        return false;
    }
    config_compare(*config, next, on_changed, (void *)(uintptr_t)request->by);
    crl_warn(next);
    unguarded_warn(next);
    file_rights_warn(next);
    config_free(*config);
    *config = next;
    return true;
}
