#include "server/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Tokens and certificates take effect together, or not at all. */
static int reload_secrets(const struct config *c, struct acceptor *acceptor)
{
    char error[512];
    struct token_table *tokens = NULL;

    if (c->tokens_file) {
        tokens = token_table_load(c->tokens_file, error, sizeof error);
        if (!tokens)
            goto failed;
    }
    int status = net_reload(acceptor, tokens, error, sizeof error);
    token_table_unref(tokens);
    if (status == 0)
        return 0;
failed:
    log_error("not reloaded, everything stays as it was", LOG_STR("why", error));
    return -1;
}

static void log_lines(char *text)
{
    char *rest;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        log_error("not reloaded, everything stays as it was", LOG_STR("why", line));
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

void reload(struct config **config, const struct config_input *input, struct acceptor *acceptor)
{
    struct config *next = load_again(input);

    if (!next)
        return;
    if (reload_secrets(next, acceptor) < 0) {
        config_free(next);
        return;
    }
    config_compare(*config, next, on_changed, NULL);
    log_set_threshold(next->log.level);
    config_free(*config);
    *config = next;
    log_info("reloaded");
}
