#include "server/net/connection/evict.h"

#include "server/net/connection/closing.h"
#include "server/net/connection/unauthenticated.h"

static const char is_full[] = "all places are taken, and who has few or none comes before who has "
                              "many (limits.connections)";

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
        c = unauthenticated_evict(l, y->spared, is_full);
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
