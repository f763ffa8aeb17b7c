/* Which newcomer gives way when there are too many, of all, of those whose handshakes take memory,
 * or of all connections. */
#include "server/net/connection/give_way.h"
#include "server/net/connection/newcomers.h"
#include "server/net/stream/tls.h"

#define TIME_TO_SPEAK AO_S(1)

enum { CROWD_PART = 16 /* an address with a lesser part of all is no crowd */ };

/* The connection that a place is in. */
typedef struct connection *of_place(struct place *p);

static struct connection *newcomer_of(struct place *p)
{
    return ao_of(p, struct conn_cold, place)->owner;
}

static struct connection *shaker_of(struct place *p)
{
    return ao_of(p, struct conn_cold, shaking)->owner;
}

/* The server has done all that it can: what comes next is the peer's.  In a crowd, or behind a long
 * step, it may be the server that is late: nobody pays for that. */
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
static const struct crowd *crowd_of(const struct places *p)
{
    const struct crowd *crowd = crowds_largest(&p->crowds);

    return crowd == NULL || crowd->count <= p->count / CROWD_PART ? NULL : crowd;
}

/* Closes one, if there is one; of up to `spared` of one address only one that had time to speak.
 * NULL: none. */
static struct connection *give_way(const struct places *p, of_place *of, uint32_t spared,
                                   const char *why)
{
    const struct crowd *crowd = crowd_of(p);

    if (p->count == 0)
        return NULL;
    struct connection *c = of(places_first(p, crowd));
    if (is_silent(c))
        conn_slot_offend(c->slot, OFFENCE_SILENT);
    else if (spared > 0 && (crowd == NULL || crowd->count <= spared))
        return NULL;
    else
        c = of(places_last(p, crowd));
    conn_give_way(c, why);
    return c;
}

void newcomers_make_room(struct net_loop *l)
{
    const struct places *p = &l->newcomers.places;

    if (l->limits.newcomers > 0 && p->count > l->limits.newcomers)
        give_way(p, newcomer_of, 0, "too many have not said who they are (limits.newcomers)");
}

struct connection *newcomers_yield(struct net_loop *l, uint32_t spared, const char *why)
{
    return give_way(&l->newcomers.places, newcomer_of, spared, why);
}

void newcomer_shakes(struct connection *c)
{
    struct net_loop *l = c->loop;
    struct places *p = &l->newcomers.shaking;

    if (c->shakes || !tls_shakes(&c->stream))
        return;
    c->shakes = true;
    places_join(p, &c->cold->shaking, c->slot->key);
    if (l->limits.handshakes > 0 && p->count > l->limits.handshakes)
        give_way(p, shaker_of, 0, "too many TLS handshakes have begun (limits.handshakes)");
}
