#include "server/net/connection/conn_cold.h"

#include <assert.h>
#include <stdlib.h>

#include "server/net/connection/conn_private.h"
#include "server/net/serving.h"

struct conn_cold *cold_begin(struct connection *c, enum cold_use use)
{
    if (c->cold == NULL) {
        c->cold = calloc(1, sizeof *c->cold);
        if (c->cold == NULL)
            return NULL;
        c->cold->owner = c;
    }
    c->cold->uses |= (uint8_t)use;
    return c->cold;
}

void cold_end(struct connection *c, enum cold_use use)
{
    if (c->cold == NULL)
        return;
    c->cold->uses &= (uint8_t)~use;
    if (c->cold->uses == 0)
        cold_free(c);
}

void cold_free(struct connection *c)
{
    assert(!c->unauthenticated && !c->shakes && !c->waits);
    if (c->cold != NULL && c->cold->vouched != NULL)
        c->cold->vouched->release(c->cold->vouched);
    free(c->cold);
    c->cold = NULL;
}

void *conn_session(const struct connection *c)
{
    return c->cold ? c->cold->session : NULL;
}

bool conn_set_session(struct connection *c, void *session)
{
    if (session ? !cold_begin(c, COLD_SESSION) : !c->cold)
        return !session;
    c->cold->session = session;
    if (!session)
        cold_end(c, COLD_SESSION);
    return true;
}

bool conn_vouch(struct connection *c, struct conn_vouched *v)
{
    struct conn_cold *cold = cold_begin(c, COLD_VOUCHED);

    if (!cold)
        return false;
    if (cold->vouched)
        cold->vouched->release(cold->vouched);
    cold->vouched = v;
    return true;
}

struct conn_vouched *conn_vouched(const struct connection *c)
{
    return c->cold ? c->cold->vouched : NULL;
}

const char *conn_via(const struct connection *c)
{
    const struct conn_vouched *v = conn_vouched(c);

    return v ? v->via : NULL;
}
