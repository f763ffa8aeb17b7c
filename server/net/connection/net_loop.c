#include "server/net/connection/net_loop.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/connection/conn_private.h"
#include "server/net/auth/principal.h"
#include "server/net/stream/tls.h"
#include "base/log.h"

static enum ao_verdict intake_step(struct ao *self);

static const struct ao_class intake_class = {.name = "intake", .step = intake_step};

/* --- The end of a round --- */

static void flush_dirty(struct net_loop *l)
{
    while (l->dirty_first != NULL) {
        struct connection *c = l->dirty_first;
        l->dirty_first = c->next_dirty;
        if (l->dirty_first == NULL)
            l->dirty_last = NULL;
        c->dirty = false;
        output_flush(c);
    }
}

static void free_dead(struct net_loop *l)
{
    while (l->dead != NULL) {
        struct connection *c = l->dead;
        l->dead = c->next_dirty;
        conn_free(c);
    }
}

static void at_round_end(struct round_hook *hook)
{
    struct net_loop *l = ao_of(hook, struct net_loop, hook);

    l->handshakes = 0;
    flush_dirty(l);
    free_dead(l);
}

void loop_arm(struct net_loop *l)
{
    activator_at_round_end(l->activator, &l->hook);
}

void loop_free_later(struct net_loop *l, struct connection *c)
{
    assert(!c->dirty); /* the link serves both lists */
    c->next_dirty = l->dead;
    l->dead = c;
    loop_arm(l);
}

/* --- Parcels --- */

void loop_return_slot(struct net_loop *l, struct conn_slot *slot)
{
    if (l->home == NULL || l->closing)
        free(slot);
    else
        lane_push(l->home, &slot->message.item);
}

static void refuse_slot(struct net_loop *l, struct conn_slot *slot)
{
    close(slot->message.fd);
    slot->message.fd = -1;
    loop_return_slot(l, slot);
}

static void take_slot(struct net_loop *l, struct conn_slot *slot)
{
    struct connection *c = l->draining ? NULL : conn_new(l, slot);

    if (c == NULL) {
        refuse_slot(l, slot);
        return;
    }
    if (slot->rules->contexts == NULL) {
        stream_plain_open(&c->stream, slot->message.fd, l->base);
    } else if (!tls_open(&c->stream, l->tls, slot->rules->contexts[l->index], slot->message.fd,
                         l->base)) {
        log_error("connection refused", LOG_STR("peer", slot->peer),
                  LOG_STR("reason", "out of memory"));
        stream_plain_open(&c->stream, slot->message.fd, l->base);
        conn_abort(c, "out of memory");
    }
    slot->message.fd = -1; /* the stream's now */
    conn_start(c);
}

static enum ao_verdict intake_step(struct ao *self)
{
    struct net_loop *l = ao_of(self, struct net_loop, intake);

    for (int i = 0; i < LOOP_MESSAGES_A_STEP; i++) {
        struct lane_item *item = lane_take(l->inlet);
        if (item == NULL)
            break;
        struct loop_message *p = ao_of(item, struct loop_message, item);
        if (p->kind == LOOP_CONNECT)
            take_slot(l, ao_of(p, struct conn_slot, message));
        else
            loop_handle(l, p);
    }
    lane_release(l->inlet);
    return lane_ready(l->inlet) ? AO_AGAIN : AO_DONE;
}

static void loop_message_drop(struct loop_message *p)
{
    if (p->kind == LOOP_RELOAD) {
        reload_free(ao_of(p, struct reload, message));
    } else if (p->kind == LOOP_CONNECT) {
        struct conn_slot *slot = ao_of(p, struct conn_slot, message);
        if (slot->message.fd >= 0)
            close(slot->message.fd);
        free(slot);
    }
}

void loop_messages_drop(struct lane *lane)
{
    for (bool all = false; !all;) {
        all = lane_flush(lane);
        for (struct lane_item *item; (item = lane_take(lane)) != NULL;)
            loop_message_drop(ao_of(item, struct loop_message, item));
        lane_release(lane);
    }
}

/* --- Set-up and tear-down --- */

struct net_loop *net_loop_new(const struct net_loop_options *options)
{
    struct net_loop *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->scratch = malloc(HEADROOM + READ_WIDE);
    if (l->scratch == NULL) {
        free(l);
        return NULL;
    }
    l->activator = options->activator;
    l->base = options->poller == NULL ? NULL : poller_libevent_base(options->poller);
    l->port = options->port;
    l->limits = *options->limits;
    l->index = options->index;
    l->hook.run = at_round_end;
    ao_init(&l->intake, &intake_class, l->activator);
    return l;
}

void loop_drop_connections(struct net_loop *l)
{
    l->closing = true;
    l->dirty_first = l->dirty_last = l->dead = NULL;
    while (l->first != NULL)
        conn_drop(l->first);
}

void net_loop_free(struct net_loop *l)
{
    if (l == NULL)
        return;
    loop_drop_connections(l);
    activator_forget_hook(l->activator, &l->hook);
    ao_deactivate(&l->intake);
    ao_fini(&l->intake);
    tls_loop_free(l->tls);
    token_table_unref(l->tokens);
    chunk_pool_fini(&l->pool);
    free(l->scratch);
    free(l);
}

void net_loop_stats(const struct net_loop *l, struct net_loop_stats *out)
{
    const struct loop_counters *n = &l->counters;

    *out = (struct net_loop_stats){
        .connections = counter_read(&n->connections),
        .accepted = counter_read(&n->accepted),
        .closed = counter_read(&n->closed),
        .messages = counter_read(&n->messages),
        .bytes_in = counter_read(&n->bytes_in),
        .bytes_out = counter_read(&n->bytes_out),
        .protocol_errors = counter_read(&n->protocol_errors),
        .partial_bytes = counter_read(&n->partial_bytes),
    };
}

void *net_loop_arg(const struct net_loop *l)
{
    return l->port.arg;
}

const struct token_table *net_loop_tokens(const struct net_loop *l)
{
    return l->tokens;
}
