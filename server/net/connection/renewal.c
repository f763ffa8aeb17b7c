#include "server/net/connection/renewal.h"

#include "server/net/connection/admit.h"
#include "server/net/connection/oversight.h"
#include "server/net/stream/tls.h"

enum { COST_OF_LOOK = 1, COST_OF_RENEWAL = 16, COST_OF_CLOSE = 64 };

static bool is_revoked(const struct connection *c)
{
    struct tls_context **contexts = c->slot->rules->contexts;

    return contexts != NULL && tls_is_revoked(&c->stream, contexts[c->loop->index]);
}

void renewal_of(struct connection *c)
{
    c->generation = c->loop->generation;
    if (is_revoked(c))
        conn_kill(c, c->state == CONN_HANDSHAKE
                         ? "certificates were read again within its handshake: it may come again"
                         : "its certificate was revoked");
    else if (c->principal != NULL && conn_answerable(c))
        admit_again(c);
}

static uint32_t visit(struct conn_walk *w, struct connection *c)
{
    bool answerable = conn_answerable(c);

    (void)w;
    if (!renewal_due(c))
        return COST_OF_LOOK;
    renewal_of(c);
    return conn_answerable(c) == answerable ? COST_OF_RENEWAL : COST_OF_CLOSE;
}

static void walk(struct net_loop *l);

/* A reload that came meanwhile has not reached those that were passed before. */
static void ended(struct conn_walk *w)
{
    struct net_loop *l = ao_of(w, struct net_loop, renewal);

    l->renewing = false;
    if (l->walked != l->generation)
        walk(l);
}

/* It is a part of its loop. */
static void dropped(struct conn_walk *w)
{
    (void)w;
}

static void walk(struct net_loop *l)
{
    l->renewing = true;
    l->walked = l->generation;
    l->self = l;
    l->renewal = (struct conn_walk){
        .loops = &l->self, .loop_count = 1, .visit = visit, .end = ended, .drop = dropped};
    conn_walk_start(&l->renewal);
}

void renewal_start(struct net_loop *l)
{
    l->generation++;
    if (!l->renewing)
        walk(l);
}
