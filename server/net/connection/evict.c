/* Which connection closes for another: when there are too many unauthenticated ones, too many
 * handshakes that take memory, or no place is left at all. */
#include "server/net/connection/evict.h"

#include "server/net/connection/closing.h"
#include "server/net/connection/unauthenticated.h"
#include "server/net/stream/tls.h"

#define TIME_TO_SPEAK AO_S(1)

enum { ORIGIN_PART = 16 /* an address with a lesser part of all is no origin */ };

/* The connection that a place is in. */
typedef struct connection *of_place(struct place *p);

static struct connection *unauthenticated_of(struct place *p)
{
    return ao_of(p, struct conn_cold, place)->owner;
}

static struct connection *shaker_of(struct place *p)
{
    return ao_of(p, struct conn_cold, shaking)->owner;
}

/* The server has done all that it can: what comes next is the peer's.  In an origin, or behind a
 * long step, it may be the server that is late: no connection is closed for that. */
static bool is_waited_for(const struct connection *c)
{
    enum ao_state state = ao_state(&c->ao);

    return c->ready == 0 && (state == AO_STATE_SLEEPING || state == AO_STATE_INACTIVE);
}

/* It had time to speak, and said nothing. */
static bool is_silent(const struct connection *c)
{
    return is_waited_for(c) &&
           activator_clock(c->loop->activator) - c->cold->entered >= TIME_TO_SPEAK;
}

/* That of the address with the most; NULL: no address has so many that it is to blame. */
static const struct origin *origin_of(const struct places *p)
{
    const struct origin *origin = origins_largest(&p->origins);

    return origin == NULL || origin->count <= p->count / ORIGIN_PART ? NULL : origin;
}

/* Closes one, if there is one; of up to `spared` of one address only one that had time to speak.
 * NULL: none. */
static struct connection *evict(const struct places *p, of_place *of, uint32_t spared,
                                const char *why)
{
    const struct origin *origin = origin_of(p);

    if (p->count == 0)
        return NULL;
    struct connection *c = of(places_first(p, origin));
    if (is_silent(c))
        conn_slot_offend(c->slot, OFFENCE_SILENT);
    else if (spared > 0 && (origin == NULL || origin->count <= spared))
        return NULL;
    else
        c = of(places_last(p, origin));
    conn_evict(c, why);
    return c;
}

void unauthenticated_make_room(struct net_loop *l)
{
    const struct places *p = &l->unauthenticated.places;

    if (l->limits.newcomers > 0 && p->count > l->limits.newcomers)
        evict(p, unauthenticated_of, 0, "too many unauthenticated connections (limits.newcomers)");
}

void unauthenticated_shakes(struct connection *c)
{
    struct net_loop *l = c->loop;
    struct places *p = &l->unauthenticated.shaking;

    if (c->shakes || !tls_shakes(&c->stream))
        return;
    c->shakes = true;
    places_join(p, &c->cold->shaking, c->slot->key);
    if (l->limits.handshakes > 0 && p->count > l->limits.handshakes)
        evict(p, shaker_of, 0, "too many TLS handshakes have begun (limits.handshakes)");
}

/* --- For the acceptor: no place is left --- */

static const char is_full[] = "all connection slots are in use: addresses with few connections "
                              "take precedence over those with many (limits.connections)";

static bool is_at_work(const struct connection *c)
{
    return c->in_flight + c->polls > 0 || c->serves;
}

/* The one whose place is free by that; NULL: none.  One that is closed and stays for its calls
 * alone has no use for it. */
static struct conn_slot *give_one_up(struct net_loop *l, const struct eviction *y)
{
    struct connection *c;

    if (y->slot == NULL) {
        c = evict(&l->unauthenticated.places, unauthenticated_of, y->spared, is_full);
        return c == NULL ? NULL : c->slot;
    }
    c = y->slot->connection;
    if (c == NULL)
        return NULL; /* it comes home, or has */
    if (c->state == CONN_CLOSED)
        return y->slot;
    if (y->who == EVICT_IDLE && is_at_work(c))
        return NULL;
    conn_evict(c, is_full);
    return y->slot;
}

void connections_evict(struct net_loop *l, struct eviction *y)
{
    y->slot = give_one_up(l, y);
    message_send(l->to_acceptor, &y->message);
}
