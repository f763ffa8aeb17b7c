#include "server/net/connection/renewal.h"

#include "server/net/connection/admit.h"
#include "server/net/connection/oversight.h"
#include "server/net/stream/tls.h"

/* In the units of a walk, of a few hundred nanoseconds each: signatures cost the most. */
enum { COST_OF_LOOK = 1, COST_OF_RENEWAL = 16, COST_OF_CLOSE = 64, COST_OF_VERIFYING = 256 };

static enum tls_trusted look_at_certificate(struct connection *c, const char **why)
{
    struct tls_context **contexts = c->slot->rules->contexts;

    return contexts == NULL ? TLS_TRUST_STANDS
                            : tls_trusts(&c->stream, contexts[c->loop->index], why);
}

/* Returns what it has cost. */
static uint32_t renew(struct connection *c)
{
    bool answerable = conn_answerable(c);
    const char *why;

    c->generation = c->loop->generation;
    enum tls_trusted trusted = look_at_certificate(c, &why);
    if (trusted == TLS_TRUST_LOST)
        conn_kill(c, why);
    else if (c->principal != NULL && answerable)
        admit_again(c);
    return trusted != TLS_TRUST_STANDS        ? COST_OF_VERIFYING
           : conn_answerable(c) == answerable ? COST_OF_RENEWAL
                                              : COST_OF_CLOSE;
}

void renewal_of(struct connection *c)
{
    renew(c);
}

static uint32_t visit(struct conn_walk *w, struct connection *c)
{
    (void)w;
    return renewal_due(c) ? renew(c) : COST_OF_LOOK;
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
    l->renewal = (struct conn_walk){.loops = &l->self,
                                    .loop_count = 1,
                                    .closes = true,
                                    .visit = visit,
                                    .end = ended,
                                    .drop = dropped};
    conn_walk_start(&l->renewal);
}

void renewal_start(struct net_loop *l)
{
    l->generation++;
    if (!l->renewing)
        walk(l);
}
