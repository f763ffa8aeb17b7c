#include "server/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/file_rights.h"
#include "server/net/auth/principal.h"
#include "base/log.h"

static void on_changed(void *arg, const char *path, bool live)
{
    (void)arg;
    if (live)
        log_info("configuration changed", LOG_STR("key", path));
    else
        log_warn("configuration changed, but only a restart takes it over", LOG_STR("key", path));
}

int reload_secrets(const struct config *c, struct acceptor *acceptor, char *error, size_t size)
{
    struct token_table *tokens = NULL;

    if (c->tokens_file) {
        tokens = token_table_load(c->tokens_file, error, size);
        if (!tokens)
            return -1;
    }
    int status = net_reload(acceptor, tokens, error, size);
    token_table_unref(tokens);
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

/* Each problem becomes a record of the log. */
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

bool reload(struct config **config, const struct config_input *input, struct acceptor *acceptor)
{
    struct config *next = load_again(input);
    char error[512];

    if (!next)
        return false;
    if (reload_secrets(next, acceptor, error, sizeof error) < 0) {
        refuse(error);
        config_free(next);
        return false;
    }
    config_compare(*config, next, on_changed, NULL);
    log_set_threshold(next->log.level);
    file_rights_warn(next);
    config_free(*config);
    *config = next;
    log_info("reloaded");
    return true;
}
