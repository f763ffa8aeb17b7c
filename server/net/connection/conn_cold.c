#include "server/net/connection/conn_cold.h"

#include <assert.h>
#include <stdlib.h>

#include "server/net/connection/conn_private.h"

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
    free(c->cold);
    c->cold = NULL;
}
