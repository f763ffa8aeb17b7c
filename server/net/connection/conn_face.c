/* The connection as its port sees it: who it is, its calls in flight, its end. */
#include "server/net/connection/conn_private.h"

#include <assert.h>

#include "server/net/auth/principal.h"
#include "base/log.h"

struct conn_mode *conn_mode(struct connection *c)
{
    return &c->mode;
}

uint64_t conn_id(const struct connection *c)
{
    return c->slot->id;
}

struct net_loop *conn_loop(const struct connection *c)
{
    return c->loop;
}

void **conn_user(struct connection *c)
{
    return &c->user;
}

const char *conn_peer(const struct connection *c)
{
    return c->slot->peer;
}

const struct principal *conn_principal(const struct connection *c)
{
    return c->principal;
}

void conn_set_principal(struct connection *c, const struct principal *p)
{
    const struct principal *old = c->principal;

    c->principal = p == NULL ? NULL : principal_ref(p);
    principal_unref(old);
}

bool conn_auth_required(const struct connection *c)
{
    return c->slot->rules->auth != LISTENER_AUTH_NONE;
}

bool conn_auth_failed(struct connection *c)
{
    uint32_t limit = c->loop->limits.auth_failures;

    if (c->failures < UINT8_MAX)
        c->failures++;
    log_warn("authentication failed", LOG_UINT("conn", conn_id(c)), LOG_STR("peer", conn_peer(c)),
             LOG_UINT("failures", c->failures));
    if (limit == 0 || c->failures < limit)
        return true;
    conn_close(c, "too many failed authentications");
    return false;
}

void conn_call_began(struct connection *c, bool counted)
{
    if (counted)
        c->in_flight++;
    else
        c->polls++;
}

void conn_call_ended(struct connection *c, bool counted)
{
    uint32_t *count = counted ? &c->in_flight : &c->polls;

    assert(*count > 0);
    --*count;
    c->since = activator_now(c->loop->activator);
    if (c->in_flight < c->loop->limits.in_flight)
        c->reserve = 0;
    if (c->state != CONN_OPEN || (c->stopped && input_allowed(c)))
        conn_kick(c);
}

uint32_t conn_polls(const struct connection *c)
{
    return c->polls;
}

void conn_close(struct connection *c, const char *why)
{
    if (!conn_answerable(c))
        return;
    log_info("connection closed", LOG_UINT("conn", conn_id(c)), LOG_STR("peer", conn_peer(c)),
             LOG_STR("reason", why));
    conn_enter(c, CONN_FLUSHING, why);
}
