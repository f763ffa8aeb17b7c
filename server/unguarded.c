#include "server/unguarded.h"

#include <stdio.h>

#include "base/log.h"

static const char event[] = "whoever reaches this listener may do everything, to tasks of all "
                            "tenants too";
static const char hint[] = "say who may do what: roles, an allow of the listener, or a tokens_file";

/* By the rule of nobody_says() in server/net/connection/admit.c. */
static bool is_unguarded(const struct config *c, const struct config_listener *l)
{
    return l->way.scheme != URL_UNIX && !url_is_local(&l->way) && l->auth == LISTENER_AUTH_NONE &&
           l->allow.count == 0 && !c->tokens_file && c->role_count == 0;
}

static void warn(const struct config *c, const struct config_listener *l)
{
    if (is_unguarded(c, l))
        log_warn(event, LOG_STR("listener", l->url), LOG_UINT("line", l->origin.line),
                 LOG_STR("hint", hint));
}

static void tell(const struct config *c, const struct config_listener *l)
{
    if (is_unguarded(c, l))
        fprintf(stderr, "%s: %s; %s\n", l->url, event, hint);
}

static void each_listener(const struct config *c,
                          void (*fn)(const struct config *c, const struct config_listener *l))
{
    for (size_t i = 0; i < c->listener_count; i++)
        fn(c, &c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        fn(c, &c->admin.listeners[i]);
}

void unguarded_warn(const struct config *c)
{
    each_listener(c, warn);
}

void unguarded_tell(const struct config *c)
{
    each_listener(c, tell);
}

static bool is_plain(const struct config_listener *l)
{
    return l->way.scheme == URL_TCP && !url_is_local(&l->way);
}

uint32_t unguarded_count(const struct config *c)
{
    uint32_t count = 0;

    for (size_t i = 0; i < c->listener_count; i++)
        count += is_unguarded(c, &c->listeners[i]) || is_plain(&c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        count += is_plain(&c->admin.listeners[i]);
    return count;
}
