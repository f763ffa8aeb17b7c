#include "server/net/connection/newcomers.h"

#include "server/net/connection/partial_input.h"

void newcomers_init(struct net_loop *l)
{
    TAILQ_INIT(&l->newcomers.all);
    TAILQ_INIT(&l->newcomers.shaking);
    l->newcomers.scan = l->limits.scan;
    if (l->newcomers.scan.message_max > NEWCOMER_MESSAGE_MAX)
        l->newcomers.scan.message_max = NEWCOMER_MESSAGE_MAX;
    const uint64_t seed[2] = {activator_random(l->activator), activator_random(l->activator)};
    crowds_init(&l->newcomers.crowds, seed);
}

void newcomers_fini(struct net_loop *l)
{
    crowds_fini(&l->newcomers.crowds);
}

static void link_in(struct newcomer_list *list, struct connection *c)
{
    TAILQ_INSERT_TAIL(&list->all, c, newcomers);
    list->count++;
    if (c->slot->has_key)
        crowds_add(&list->crowds, c->slot->key);
}

static void link_out(struct newcomer_list *list, struct connection *c)
{
    TAILQ_REMOVE(&list->all, c, newcomers);
    list->count--;
    if (c->slot->has_key)
        crowds_remove(&list->crowds, c->slot->key);
}

void newcomer_add(struct connection *c)
{
    struct newcomer_list *list = &c->loop->newcomers;
    const struct listener_rules *rules = c->slot->rules;

    c->scan = &c->loop->limits.scan;
    if (rules->contexts == NULL && rules->auth != LISTENER_AUTH_TOKEN)
        return;
    c->newcomer = true;
    c->scan = &list->scan;
    link_in(list, c);
}

void newcomer_again(struct connection *c)
{
    if (c->newcomer || c->state == CONN_CLOSED)
        return;
    c->newcomer = true;
    c->entered = activator_now(c->loop->activator);
    c->scan = &c->loop->newcomers.scan;
    link_in(&c->loop->newcomers, c);
}

void newcomer_remove(struct connection *c)
{
    if (!c->newcomer)
        return;
    c->newcomer = false;
    c->scan = &c->loop->limits.scan;
    link_out(&c->loop->newcomers, c);
}

void newcomer_shook(struct connection *c)
{
    if (!c->shakes)
        return;
    c->shakes = false;
    TAILQ_REMOVE(&c->loop->newcomers.shaking, c, shaking);
    c->loop->newcomers.shaking_count--;
}

ao_time newcomer_deadline(const struct connection *c)
{
    ao_time limit = c->loop->limits.auth_timeout;

    return c->newcomer && conn_open(c) && limit > 0 ? c->entered + limit : AO_NEVER;
}

struct connection *newcomer_largest(const struct net_loop *l)
{
    struct connection *largest = NULL, *c;

    TAILQ_FOREACH(c, &l->newcomers.all, newcomers)
    if (c->partial && (!largest || c->partial->capacity > largest->partial->capacity))
        largest = c;
    return largest;
}
