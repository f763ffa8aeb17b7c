#include "server/net/connection/newcomers.h"

static void places_init(struct places *p, const uint64_t seed[2])
{
    TAILQ_INIT(&p->all);
    crowds_init(&p->crowds, seed);
}

void newcomers_init(struct net_loop *l)
{
    const uint64_t seed[2] = {activator_random(l->activator), activator_random(l->activator)};

    places_init(&l->newcomers.places, seed);
    places_init(&l->newcomers.shaking, seed);
    l->newcomers.scan = l->limits.scan;
    if (l->newcomers.scan.message_max > NEWCOMER_MESSAGE_MAX)
        l->newcomers.scan.message_max = NEWCOMER_MESSAGE_MAX;
}

void newcomers_fini(struct net_loop *l)
{
    crowds_fini(&l->newcomers.places.crowds);
    crowds_fini(&l->newcomers.shaking.crowds);
}

void places_join(struct places *p, struct place *place, uint64_t key)
{
    TAILQ_INSERT_TAIL(&p->all, place, link);
    p->count++;
    place->crowd = crowds_join(&p->crowds, key);
    if (place->crowd != NULL)
        TAILQ_INSERT_HEAD(&place->crowd->members, &place->of_crowd, link);
}

void places_leave(struct places *p, struct place *place)
{
    TAILQ_REMOVE(&p->all, place, link);
    p->count--;
    if (place->crowd == NULL)
        return;
    TAILQ_REMOVE(&place->crowd->members, &place->of_crowd, link);
    crowds_leave(&p->crowds, place->crowd);
}

struct place *places_first(const struct places *p, const struct crowd *crowd)
{
    return crowd == NULL
               ? TAILQ_FIRST(&p->all)
               : ao_of(TAILQ_LAST(&crowd->members, crowd_members), struct place, of_crowd);
}

struct place *places_last(const struct places *p, const struct crowd *crowd)
{
    return crowd == NULL ? TAILQ_LAST(&p->all, place_queue)
                         : ao_of(TAILQ_FIRST(&crowd->members), struct place, of_crowd);
}

static bool become_newcomer(struct connection *c)
{
    struct net_loop *l = c->loop;
    struct conn_cold *cold = cold_begin(c, COLD_NEWCOMER);

    if (cold == NULL)
        return false;
    c->newcomer = true;
    cold->heard_out = false;
    cold->entered = activator_now(l->activator);
    places_join(&l->newcomers.places, &cold->place, c->slot->key);
    counter_add(&l->counters.newcomers, 1);
    return true;
}

bool newcomer_add(struct connection *c)
{
    const struct listener_rules *rules = c->slot->rules;

    return (rules->contexts == NULL && rules->auth != LISTENER_AUTH_TOKEN) || become_newcomer(c);
}

bool newcomer_again(struct connection *c)
{
    return c->newcomer || c->state == CONN_CLOSED || become_newcomer(c);
}

void newcomer_remove(struct connection *c)
{
    struct net_loop *l = c->loop;

    if (!c->newcomer)
        return;
    c->newcomer = false;
    places_leave(&l->newcomers.places, &c->cold->place);
    counter_add(&l->counters.newcomers, (uint64_t)-1);
    cold_end(c, COLD_NEWCOMER);
}

void newcomer_shook(struct connection *c)
{
    if (!c->shakes)
        return;
    c->shakes = false;
    places_leave(&c->loop->newcomers.shaking, &c->cold->shaking);
}

ao_time newcomer_deadline(const struct connection *c)
{
    ao_time limit = c->loop->limits.auth_timeout;

    return c->newcomer && conn_open(c) && limit > 0 ? c->cold->entered + limit : AO_NEVER;
}
