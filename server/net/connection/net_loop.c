/* The connections of one loop together: made when their slots come, written to and freed at a
 * round's end; and what else the acceptor says to all of them. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/recorder.h"
#include "server/net/auth/token.h"
#include "server/net/connection/conn_output.h"
#include "server/net/connection/conn_private.h"
#include "server/net/connection/holdings.h"
#include "server/net/connection/unauthenticated.h"
#include "server/net/connection/partial_budget.h"
#include "server/net/connection/admit.h"
#include "server/net/connection/evict.h"
#include "server/net/stream/tls.h"
#include "server/runtime/activator.h"

enum { LOOP_MESSAGES_A_STEP = 64 };

/* --- The end of a round --- */

static void flush_dirty(struct net_loop *l)
{
    for (struct connection *c; (c = STAILQ_POP(&l->dirty, queued)) != NULL;) {
        c->dirty = false;
        output_flush(c);
    }
}

static void free_dead(struct net_loop *l)
{
    for (struct connection *c; (c = STAILQ_POP(&l->dead, queued)) != NULL;)
        conn_free(c);
}

static void at_round_end(struct round_hook *hook)
{
    struct net_loop *l = ao_of(hook, struct net_loop, hook);

    l->handshakes = 0;
    l->abandoned = 0;
    flush_dirty(l);
    free_dead(l);
}

/* --- Messages of the acceptor --- */

static void refuse_slot(struct net_loop *l, struct conn_slot *slot)
{
    close(slot->message.fd);
    slot->message.fd = -1;
    conn_slot_return(slot, l->to_acceptor);
}

static void take_slot(struct net_loop *l, struct conn_slot *slot)
{
    struct connection *c = l->draining ? NULL : conn_new(l, slot);

    assert(slot->message.loop == l->index && slot->message.fd >= 0);
    if (c == NULL) {
        refuse_slot(l, slot);
        return;
    }
    struct tls_context **contexts = slot->rules->contexts;
    bool tls =
        contexts != NULL && tls_open(&c->stream, contexts[l->index], slot->message.fd, &l->watcher);
    if (!tls)
        stream_plain_open(&c->stream, slot->message.fd, &l->watcher);
    if (!tls && contexts != NULL)
        conn_out_of_memory(c);
    slot->message.fd = -1; /* the stream's now */
    conn_start(c);
    unauthenticated_make_room(l);
}

static void apply(struct net_loop *l, struct reload *r)
{
    token_table_unref(l->tokens);
    l->tokens = r->tokens;
    r->tokens = NULL;
    role_table_unref(l->roles);
    l->roles = r->roles;
    r->roles = NULL;
    for (uint32_t i = 0; i < r->count; i++) {
        assert(r->contexts[i].rules->contexts != NULL);
        struct tls_context **at = &r->contexts[i].rules->contexts[l->index];
        struct tls_context *old = *at;
        *at = r->contexts[i].context;
        r->contexts[i].context = old;
    }
    recorder_note(activator_recorder(l->activator), RECORDER_RELOAD, 1);
    l->lower = r->lower;
    if (l->port.reloaded)
        l->port.reloaded(&l->port);
    reload_return(r, l->to_acceptor);
    renewal_start(l);
}

static void drain_all(struct net_loop *l)
{
    struct connection *c;

    recorder_note(activator_recorder(l->activator), RECORDER_DRAIN, 1);
    l->draining = true;
    LIST_FOREACH(c, &l->all, link)
    conn_drain(c);
}

static void abort_all(struct net_loop *l)
{
    struct connection *c;

    recorder_note(activator_recorder(l->activator), RECORDER_DRAIN, 2);
    l->draining = true;
    LIST_FOREACH(c, &l->all, link)
    conn_abort(c, "server stops");
}

void loop_handle(struct net_loop *l, struct loop_message *message)
{
    switch ((enum loop_message_kind)message->kind) {
    case LOOP_CONNECT:
        take_slot(l, ao_of(message, struct conn_slot, message));
        break;
    case LOOP_DRAIN:
        drain_all(l);
        break;
    case LOOP_ABORT:
        abort_all(l);
        break;
    case LOOP_RELOAD:
        apply(l, ao_of(message, struct reload, message));
        break;
    case LOOP_WALK:
        walks_take(l, message);
        break;
    case LOOP_USER: /* the acceptor's alone */
        break;
    case LOOP_EVICT:
        connections_evict(l, ao_of(message, struct eviction, message));
        break;
    }
}

static enum ao_verdict intake_step(struct ao *self)
{
    struct net_loop *l = ao_of(self, struct net_loop, intake);
    bool more = true;

    for (int i = 0; i < LOOP_MESSAGES_A_STEP && more; i++) {
        struct loop_message *message = message_take(&l->from_acceptor);
        more = message != NULL;
        if (more)
            loop_handle(l, message);
    }
    return walks_run(l) || more ? AO_AGAIN : AO_DONE;
}

static const struct ao_class intake_class = {.name = "intake", .step = intake_step};

/* --- Set-up and tear-down --- */

struct net_loop *net_loop_new(const struct net_loop_options *options)
{
    struct net_loop *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->scratch = malloc(HEADROOM + READ_MANY);
    if (l->scratch == NULL) {
        free(l);
        return NULL;
    }
    l->activator = options->activator;
    l->watcher = (struct poller_watcher){.poller = options->poller, .on_event = conn_on_event};
    l->port = options->port;
    l->tallies = options->tallies;
    l->limits = *options->limits;
    l->index = options->index;
    l->hook.run = at_round_end;
    STAILQ_INIT(&l->dirty);
    STAILQ_INIT(&l->dead);
    unauthenticated_init(l);
    shared_principals_init(&l->principals, l->unauthenticated.places.origins.seed);
    walks_init(&l->walks);
    if (!room_open(l->tallies, holdings_go_on) || !partial_budget_open(l)) {
        shared_principals_fini(&l->principals);
        unauthenticated_fini(l);
        free(l->scratch);
        free(l);
        return NULL;
    }
    ao_init(&l->intake, &intake_class, l->activator);
    return l;
}

void loop_drop_connections(struct net_loop *l)
{
    l->closing = true;
    l->to_acceptor = NULL;
    walks_drop(l);
    STAILQ_INIT(&l->dirty);
    STAILQ_INIT(&l->dead);
    while (!LIST_EMPTY(&l->all))
        conn_drop(LIST_FIRST(&l->all));
}

void net_loop_free(struct net_loop *l)
{
    if (l == NULL)
        return;
    loop_drop_connections(l);
    assert(counter_read(&l->counters.connections) == 0);
    activator_forget_hook(l->activator, &l->hook);
    ao_deactivate(&l->intake);
    ao_fini(&l->intake);
    partial_budget_close(l);
    partial_list_fini(&l->partials);
    shared_principals_fini(&l->principals);
    unauthenticated_fini(l);
    tls_loop_free(l->tls);
    token_table_unref(l->tokens);
    role_table_unref(l->roles);
    chunk_pool_fini(&l->pool);
    free(l->scratch);
    free(l);
}

void net_loop_set_away(struct net_loop *l, bool away)
{
    atomic_store_explicit(&l->away, away, memory_order_relaxed);
}

void net_loop_add_stats(const struct net_loop *l, struct net_loop_stats *sum)
{
    const struct loop_counters *n = &l->counters;

    sum->connections += counter_read(&n->connections);
    sum->accepted += counter_read(&n->accepted);
    sum->closed += counter_read(&n->closed);
    sum->messages += counter_read(&n->messages);
    sum->bytes_in += counter_read(&n->bytes_in);
    sum->bytes_out += counter_read(&n->bytes_out);
    sum->protocol_errors += counter_read(&n->protocol_errors);
    sum->unread += counter_read(&n->unread);
    sum->newcomers += counter_read(&n->newcomers);
    sum->gave_way += counter_read(&n->gave_way);
    for (unsigned i = 0; i < CONN_STATE_COUNT; i++)
        sum->by_state[i] += counter_read(&n->states[i]);
    for (unsigned i = 0; i < LISTENER_KIND_COUNT; i++)
        sum->by_kind[i] += counter_read(&n->kinds[i]);
}
