/* The identity of a connection's peer, and its rights. */
#include "server/net/connection_rights.h"

#include "base/clock.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"
#include "server/net/connection/unauthenticated.h"

#define LOOK_AGAIN AO_S(60) /* at a wall clock */

const struct token_table *conn_tokens(const struct connection *c)
{
    return c->loop->tokens;
}

const struct principal *conn_principal(const struct connection *c)
{
    return c->principal;
}

bool conn_may(const struct connection *c, struct span method)
{
    const char *here = c->slot->rules->methods;

    return principal_may(c->principal, method) && (here == NULL || patterns_fit(here, method));
}

uint64_t conn_rights(const struct connection *c)
{
    return rights_id(principal_rights(c->principal)) << 8 | c->slot->rules->index;
}

const char *conn_allow(const struct connection *c)
{
    return c->slot->rules->methods;
}

bool conn_unlimited(const struct connection *c)
{
    return c->unlimited;
}

bool conn_was_shut_out(const struct connection *c)
{
    return c->shut_out;
}

/* Far ahead the wall clock may be set meanwhile, so it is looked at again now and then. */
static void note_end(struct connection *c)
{
    uint64_t now = clock_wall(), end = principal_expires(c->principal);
    uint64_t left = end > now ? end - now : 0;

    c->mortal = end > 0;
    c->expires = activator_now(c->loop->activator) + (left < LOOK_AGAIN ? left : LOOK_AGAIN);
}

static void note_rights(struct connection *c)
{
    const char *here = c->slot->rules->methods;

    c->unlimited = c->mortal = false;
    if (c->principal == NULL)
        return;
    c->unlimited = rights_all_methods(principal_rights(c->principal)) &&
                   (here == NULL || strcmp(here, "*") == 0);
    note_end(c);
}

void conn_set_principal(struct connection *c, const struct principal *p)
{
    const struct principal *old = c->principal;

    c->principal = shared_principals_hold(&c->loop->principals, p);
    shared_principals_release(&c->loop->principals, old);
    note_rights(c);
    if (c->state != CONN_OPEN || !conn_open_tally(c))
        return;
    if (p)
        unauthenticated_remove(c);
}

bool conn_auth_failed(struct connection *c)
{
    uint32_t limit = c->loop->limits.auth_failures;
    struct conn_cold *cold = cold_begin(c, COLD_FAILURES);

    if (cold == NULL) {
        conn_out_of_memory(c);
        return false;
    }
    cold->failures++;
    conn_slot_offend(c->slot, OFFENCE_TOKEN);
    log_warn("authentication failed", LOG_UINT("conn", conn_id(c)), LOG_PEER("peer", conn_peer(c)),
             LOG_UINT("failures", cold->failures));
    if (limit == 0 || cold->failures < limit)
        return true;
    conn_close(c, "too many failed authentications");
    return false;
}
