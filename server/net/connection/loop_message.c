#include "server/net/connection/loop_message.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/auth/principal.h"
#include "server/net/connection/walk.h"
#include "server/net/auth/token.h"

int message_list_init(struct message_list *list, struct ao *receiver)
{
    mpsc_init(&list->items);
    list->handle = ao_handle_new(receiver);
    return list->handle == NULL ? -1 : 0;
}

void message_send(struct message_list *list, struct loop_message *message)
{
    assert(list->handle != NULL);
    if (mpsc_push(&list->items, &message->item))
        ao_post(list->handle, AO_POST_MESSAGE);
}

struct loop_message *message_take(struct message_list *list)
{
    struct mpsc_item *item = list->taken;

    if (item == NULL)
        item = mpsc_take(&list->items);
    if (item == NULL)
        return NULL;
    list->taken = item->next;
    return ao_of(item, struct loop_message, item);
}

bool message_waits(struct message_list *list)
{
    return list->taken != NULL || !mpsc_empty(&list->items);
}

void conn_slot_offend(struct conn_slot *slot, enum offence offence)
{
    unsigned all = slot->offences + (unsigned)offence;

    slot->offences = all < UINT8_MAX ? (uint8_t)all : UINT8_MAX;
}

void conn_slot_return(struct conn_slot *slot, struct message_list *home)
{
    assert(slot->connection == NULL &&
           slot->message.fd < 0); /* its socket is closed, or the stream's */
    if (home == NULL)
        free(slot);
    else
        message_send(home, &slot->message);
}

static void reload_empty(struct reload *r)
{
    token_table_unref(r->tokens);
    role_table_unref(r->roles);
    for (uint32_t i = 0; i < r->count; i++)
        tls_context_unref(r->contexts[i].context);
    r->tokens = NULL;
    r->roles = NULL;
    r->count = 0;
}

void reload_free(struct reload *r)
{
    if (r == NULL)
        return;
    reload_empty(r);
    free(r);
}

void reload_return(struct reload *r, struct message_list *home)
{
    reload_empty(r);
    if (home == NULL)
        free(r);
    else
        message_send(home, &r->message);
}

static void drop(struct loop_message *m)
{
    if (m->kind == LOOP_RELOAD) {
        reload_free(ao_of(m, struct reload, message));
    } else if (m->kind == LOOP_CONNECT) {
        if (m->fd >= 0)
            close(m->fd);
        free(ao_of(m, struct conn_slot, message));
    } else if (m->kind == LOOP_WALK) {
        struct conn_walk *w = ao_of(m, struct conn_walk, message);
        w->drop(w);
    }
}

void message_list_fini(struct message_list *list)
{
    if (list->handle == NULL)
        return;
    for (struct loop_message *m; (m = message_take(list)) != NULL;)
        drop(m);
    ao_handle_unref(list->handle);
    list->handle = NULL;
}
