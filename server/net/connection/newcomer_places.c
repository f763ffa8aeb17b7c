/* Which newcomer gives way when there are too many, of all or of those whose handshakes take
 * memory. */
#include "server/net/connection/newcomers.h"
#include "server/net/stream/tls.h"

#define TIME_TO_SPEAK AO_S(1)

enum { CROWD_PART = 16 /* an address with a lesser part of all newcomers is no crowd */ };

/* The server has done all that it can: what comes next is the peer's.  In a crowd, or behind a long
 * step, it may be the server that is late: nobody pays for that. */
static bool is_waited_for(const struct connection *c)
{
    enum ao_state state = ao_state(&c->ao);

    return c->ready == 0 && (state == AO_STATE_SLEEPING || state == AO_STATE_INACTIVE);
}

/* It had time to speak, and said nothing. */
static bool is_silent(const struct net_loop *l, const struct connection *c)
{
    return is_waited_for(c) && activator_clock(l->activator) - c->entered >= TIME_TO_SPEAK;
}

static bool is_of(const struct connection *c, const struct crowd *crowd)
{
    return crowd == NULL || (c->slot->has_key && c->slot->key == crowd->key);
}

/* Of all, where there is no crowd.  A crowd is so large a part of the list that it is met soon, and
 * never more than the list is walked through. */
static struct connection *first_of(struct newcomer_list *list, const struct crowd *crowd)
{
    struct connection *c = TAILQ_FIRST(&list->all);

    while (!is_of(c, crowd))
        c = TAILQ_NEXT(c, newcomers);
    return c;
}

static struct connection *last_of(struct newcomer_list *list, const struct crowd *crowd)
{
    struct connection *c = TAILQ_LAST(&list->all, newcomer_queue);

    while (!is_of(c, crowd))
        c = TAILQ_PREV(c, newcomer_queue, newcomers);
    return c;
}

void newcomers_make_room(struct net_loop *l)
{
    struct newcomer_list *list = &l->newcomers;

    if (l->limits.newcomers == 0 || list->count <= l->limits.newcomers)
        return;
    const struct crowd *crowd = crowds_largest(&list->crowds);
    if (crowd != NULL && crowd->count <= list->count / CROWD_PART)
        crowd = NULL;
    struct connection *c = first_of(list, crowd);
    if (is_silent(l, c))
        conn_slot_offend(c->slot, OFFENCE_SILENT);
    else
        c = last_of(list, crowd);
    CONN_LOG(warn, "connection closed", c,
             "too many have not said who they are (limits.newcomers)");
    conn_abort(c, "too many newcomers");
}

void newcomer_shakes(struct connection *c)
{
    struct net_loop *l = c->loop;
    struct newcomer_list *list = &l->newcomers;

    if (c->shakes || !tls_shakes(&c->stream))
        return;
    c->shakes = true;
    TAILQ_INSERT_TAIL(&list->shaking, c, shaking);
    list->shaking_count++;
    if (l->limits.handshakes == 0 || list->shaking_count <= l->limits.handshakes)
        return;
    struct connection *first = TAILQ_FIRST(&list->shaking);
    bool silent = first != c && is_silent(l, first);
    if (silent)
        conn_slot_offend(first->slot, OFFENCE_SILENT);
    struct connection *goes = silent ? first : c;
    CONN_LOG(warn, "connection closed", goes,
             "too many TLS handshakes have begun (limits.handshakes)");
    conn_abort(goes, "too many handshakes");
}
