#include "server/unguarded.h"

#include <stdio.h>

#include "base/log.h"

static const char event[] = "whoever reaches this listener may do everything, to tasks of all "
                            "tenants too";
static const char hint[] = "say who may do what: roles, an allow of the listener, or a tokens_file";

/* By the rule of nobody_says() in server/net/connection/admit.c. */
static bool is_unguarded(const struct config *c, size_t i)
{
    const struct config_listener *l = &c->listeners[i];

    return l->way.scheme != URL_UNIX && !url_is_local(&l->way) && l->auth == LISTENER_AUTH_NONE &&
           l->allow.count == 0 && !c->tokens_file && c->role_count == 0;
}

void unguarded_warn(const struct config *c)
{
    for (size_t i = 0; i < c->listener_count; i++)
        if (is_unguarded(c, i))
            log_warn(event, LOG_STR("listener", c->listeners[i].url),
                     LOG_UINT("line", c->listeners[i].origin.line), LOG_STR("hint", hint));
}

void unguarded_tell(const struct config *c)
{
    for (size_t i = 0; i < c->listener_count; i++)
        if (is_unguarded(c, i))
            fprintf(stderr, "%s: %s; %s\n", c->listeners[i].url, event, hint);
}
