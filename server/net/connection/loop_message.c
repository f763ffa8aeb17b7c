#include "server/net/connection/loop_message.h"

#include <stdlib.h>
#include <unistd.h>

#include "server/net/auth/principal.h"

void conn_slot_return(struct conn_slot *slot, struct lane *to_acceptor)
{
    if (to_acceptor == NULL)
        free(slot);
    else
        lane_push(to_acceptor, &slot->message.item);
}

void reload_free(struct reload *r)
{
    if (r == NULL)
        return;
    token_table_unref(r->tokens);
    for (uint32_t i = 0; i < r->count; i++)
        tls_context_unref(r->contexts[i].context);
    free(r);
}

static void drop(struct loop_message *m)
{
    if (m->kind == LOOP_RELOAD) {
        reload_free(ao_of(m, struct reload, message));
    } else if (m->kind == LOOP_CONNECT) {
        if (m->fd >= 0)
            close(m->fd);
        free(ao_of(m, struct conn_slot, message));
    }
}

void loop_messages_drop(struct lane *lane)
{
    for (bool all = false; !all;) {
        all = lane_flush(lane);
        for (struct lane_item *item; (item = lane_take(lane)) != NULL;)
            drop(ao_of(item, struct loop_message, item));
        lane_release(lane);
    }
}
