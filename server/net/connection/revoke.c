#include "server/net/connection/revoke.h"

#include "server/net/connection/conn_private.h"
#include "server/net/connection/oversight.h"
#include "server/net/stream/tls.h"

enum { COST_OF_LOOK = 4, COST_OF_CLOSE = 64 };

static uint32_t look(struct conn_walk *w, struct connection *c)
{
    struct tls_context **contexts = c->slot->rules->contexts;

    (void)w;
    if (contexts == NULL || !tls_is_revoked(&c->stream, contexts[c->loop->index]))
        return COST_OF_LOOK;
    conn_kill(c, c->state == CONN_HANDSHAKE
                     ? "certificates were read again within its handshake: it may come again"
                     : "its certificate was revoked");
    return COST_OF_CLOSE;
}

static void ended(struct conn_walk *w)
{
    struct net_loop *l = ao_of(w, struct net_loop, revocation);

    l->revoking = false;
    if (l->revoke_again)
        revoke_start(l);
}

/* It is a part of its loop. */
static void dropped(struct conn_walk *w)
{
    (void)w;
}

void revoke_start(struct net_loop *l)
{
    l->revoke_again = l->revoking;
    if (l->revoking)
        return;
    l->revoking = true;
    l->self = l;
    l->revocation = (struct conn_walk){
        .loops = &l->self, .loop_count = 1, .visit = look, .end = ended, .drop = dropped};
    conn_walk_start(&l->revocation);
}
