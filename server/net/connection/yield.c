#include "server/net/connection/yield.h"

#include "server/net/connection/give_way.h"
#include "server/net/connection/newcomers.h"

static const char is_full[] = "all places are taken, and who has few or none comes before who has "
                              "many (limits.connections)";

static bool is_at_work(const struct connection *c)
{
    return c->in_flight + c->polls > 0 || c->serves;
}

/* The one whose place is free by that; NULL: none.  One that is closed and stays for its calls
 * alone has no use for it. */
static struct conn_slot *give_one_up(struct net_loop *l, const struct yield *y)
{
    struct connection *c;

    if (y->slot == NULL) {
        c = newcomers_yield(l, y->spared, is_full);
        return c == NULL ? NULL : c->slot;
    }
    c = y->slot->connection;
    if (c == NULL)
        return NULL; /* it comes home, or has */
    if (c->state == CONN_CLOSED)
        return y->slot;
    if (y->who == YIELD_IDLE && is_at_work(c))
        return NULL;
    conn_give_way(c, is_full);
    return y->slot;
}

void connections_yield(struct net_loop *l, struct yield *y)
{
    y->slot = give_one_up(l, y);
    message_send(l->to_acceptor, &y->message);
}
