#include "server/net/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/conn_private.h"
#include "server/net/principal.h"
#include "server/net/tls.h"
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

void loop_bury(struct net_loop *l, struct connection *c)
{
    assert(!c->dirty); /* the link serves both lists */
    c->next_dirty = l->dead;
    l->dead = c;
    loop_arm(l);
}

/* --- Parcels --- */

void loop_return_ticket(struct net_loop *l, struct ticket *t)
{
    if (l->home == NULL || l->closing)
        free(t);
    else
        lane_push(l->home, &t->parcel.item);
}

static void refuse_ticket(struct net_loop *l, struct ticket *t)
{
    close(t->parcel.fd);
    t->parcel.fd = -1;
    loop_return_ticket(l, t);
}

static void take_ticket(struct net_loop *l, struct ticket *t)
{
    struct connection *c = l->draining ? NULL : conn_new(l, t);

    if (c == NULL) {
        refuse_ticket(l, t);
        return;
    }
    if (t->rules->contexts == NULL) {
        stream_plain_open(&c->stream, t->parcel.fd, l->base);
    } else if (!tls_open(&c->stream, l->tls, t->rules->contexts[l->index], t->parcel.fd, l->base)) {
        log_error("connection refused", LOG_STR("peer", t->peer),
                  LOG_STR("reason", "out of memory"));
        stream_plain_open(&c->stream, t->parcel.fd, l->base);
        conn_abort(c, "out of memory");
    }
    t->parcel.fd = -1; /* the stream's now */
    conn_start(c);
}

static enum ao_verdict intake_step(struct ao *self)
{
    struct net_loop *l = ao_of(self, struct net_loop, intake);

    for (int i = 0; i < PARCELS_A_STEP; i++) {
        struct lane_item *item = lane_take(l->inlet);
        if (item == NULL)
            break;
        struct parcel *p = ao_of(item, struct parcel, item);
        if (p->kind == PARCEL_TICKET)
            take_ticket(l, ao_of(p, struct ticket, parcel));
        else
            loop_obey(l, p);
    }
    lane_release(l->inlet);
    return lane_ready(l->inlet) ? AO_AGAIN : AO_DONE;
}

static void parcel_drop(struct parcel *p)
{
    if (p->kind == PARCEL_RELOAD) {
        reload_free(ao_of(p, struct reload, parcel));
    } else if (p->kind == PARCEL_TICKET) {
        struct ticket *t = ao_of(p, struct ticket, parcel);
        if (t->parcel.fd >= 0)
            close(t->parcel.fd);
        free(t);
    }
}

void parcels_drop(struct lane *lane)
{
    for (bool all = false; !all;) {
        all = lane_flush(lane);
        for (struct lane_item *item; (item = lane_take(lane)) != NULL;)
            parcel_drop(ao_of(item, struct parcel, item));
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
    token_table_drop(l->tokens);
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
