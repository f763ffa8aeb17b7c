#include "server/reload.h"

#include "server/net/principal.h"
#include "server/runtime/log.h"

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
    token_table_drop(tokens);
    if (status == 0)
        return 0;
failed:
    log_error("not reloaded, everything stays as it was", LOG_STR("why", error));
    return -1;
}

void reload(struct config **config, const struct config_input *input, struct acceptor *acceptor)
{
    enum config_action action;
    struct config *next = config_load(input, &action);

    if (!next) {
        log_error("not reloaded, everything stays as it was",
                  LOG_STR("why", "the configuration has errors; --check-config lists them"));
        return;
    }
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
