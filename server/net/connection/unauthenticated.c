#include "server/net/connection/unauthenticated.h"

#include <assert.h>

static void places_init(struct places *p, const uint64_t seed[2])
{
    TAILQ_INIT(&p->all);
    origins_init(&p->origins, seed);
}

void unauthenticated_init(struct net_loop *l)
{
    const uint64_t seed[2] = {activator_random(l->activator), activator_random(l->activator)};

    places_init(&l->unauthenticated.places, seed);
    places_init(&l->unauthenticated.shaking, seed);
    l->unauthenticated.scan = l->limits.scan;
    if (l->unauthenticated.scan.message_max > UNAUTHENTICATED_MESSAGE_MAX)
        l->unauthenticated.scan.message_max = UNAUTHENTICATED_MESSAGE_MAX;
}

void unauthenticated_fini(struct net_loop *l)
{
    assert(l->unauthenticated.places.count == 0 && l->unauthenticated.shaking.count == 0);
    origins_fini(&l->unauthenticated.places.origins);
    origins_fini(&l->unauthenticated.shaking.origins);
}

void places_join(struct places *p, struct place *place, uint64_t key)
{
    TAILQ_INSERT_TAIL(&p->all, place, link);
    p->count++;
    place->origin = origins_join(&p->origins, key);
    if (place->origin != NULL)
        TAILQ_INSERT_HEAD(&place->origin->members, &place->of_origin, link);
}

void places_leave(struct places *p, struct place *place)
{
    assert(p->count > 0 && (place->origin == NULL || place->origin->count <= p->count));
    TAILQ_REMOVE(&p->all, place, link);
    p->count--;
    if (place->origin == NULL)
        return;
    TAILQ_REMOVE(&place->origin->members, &place->of_origin, link);
    origins_leave(&p->origins, place->origin);
}

struct place *places_first(const struct places *p, const struct origin *origin)
{
    return origin == NULL
               ? TAILQ_FIRST(&p->all)
               : ao_of(TAILQ_LAST(&origin->members, origin_members), struct place, of_origin);
}

struct place *places_last(const struct places *p, const struct origin *origin)
{
    return origin == NULL ? TAILQ_LAST(&p->all, place_queue)
                          : ao_of(TAILQ_FIRST(&origin->members), struct place, of_origin);
}

static bool become_unauthenticated(struct connection *c)
{
    struct net_loop *l = c->loop;
    struct conn_cold *cold = cold_begin(c, COLD_UNAUTHENTICATED);

    if (cold == NULL)
        return false;
    assert(!c->unauthenticated && c->state != CONN_CLOSED);
    c->unauthenticated = true;
    cold->heard_out = false;
    cold->entered = activator_now(l->activator);
    places_join(&l->unauthenticated.places, &cold->place, c->slot->key);
    counter_add(&l->counters.newcomers, 1);
    return true;
}

bool unauthenticated_add(struct connection *c)
{
    const struct listener_rules *rules = c->slot->rules;

    return (rules->contexts == NULL && rules->auth != LISTENER_AUTH_TOKEN) ||
           become_unauthenticated(c);
}

bool unauthenticated_again(struct connection *c)
{
    return c->unauthenticated || c->state == CONN_CLOSED || become_unauthenticated(c);
}

void unauthenticated_remove(struct connection *c)
{
    struct net_loop *l = c->loop;

    if (!c->unauthenticated)
        return;
    assert(c->cold->uses & COLD_UNAUTHENTICATED && !c->shakes); /* one use for both lists */
    c->unauthenticated = false;
    places_leave(&l->unauthenticated.places, &c->cold->place);
    counter_add(&l->counters.newcomers, (uint64_t)-1);
    cold_end(c, COLD_UNAUTHENTICATED);
}

void unauthenticated_shook(struct connection *c)
{
    if (!c->shakes)
        return;
    assert(c->cold->uses & COLD_UNAUTHENTICATED);
    c->shakes = false;
    places_leave(&c->loop->unauthenticated.shaking, &c->cold->shaking);
}

ao_time unauthenticated_deadline(const struct connection *c)
{
    ao_time limit = c->loop->limits.auth_timeout;

    return c->unauthenticated && conn_open(c) && limit > 0 ? c->cold->entered + limit : AO_NEVER;
}
