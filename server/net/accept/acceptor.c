/* The acceptor: an active object on the first loop's activator.  Its listeners' events, slots that
 * come home, and commands of other threads make it active.
 *
 * The first loop may hang in a step of another object.  Then the thread that watches the loops
 * calls acceptor_stand_in(): it does the same work, with the same counts, and the connections go to
 * the other loops.  One atomic exchange decides which thread does it; the other tries again
 * later. */
#include "server/net/accept/acceptor_private.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/net/auth/peer.h"

static void punish(struct acceptor *a, const struct conn_slot *slot)
{
    ao_time cost = a->limits.penalty / OFFENCE_TOKEN * slot->offences;

    if (cost == 0 || !peer_key_is_remote(slot->key) || !slot->rules->penalties ||
        !penalties_add(&a->penalties, slot->key, cost, activator_clock(a->activator)))
        return;
    log_warn("address kept out", LOG_STR("peer", slot->peer),
             LOG_STR("reason", "wrong tokens, failed handshakes, or silence instead of a token"),
             LOG_STR("hint", "limits.penalty, and penalties of the listener"));
}

static void come_home(struct acceptor *a, struct conn_slot *slot)
{
    assert(!slot->home && slot->connection == NULL && (!slot->left || a->leaving > 0));
    punish(a, slot);
    if (slot->left)
        a->leaving--;
    else
        slot_uncount(a, slot);
    slot->home = true;
    if (!slot->asked)
        free(slot);
}

static void take_back(struct acceptor *a, struct loop_message *message)
{
    if (message->kind == LOOP_RELOAD)
        acceptor_note_taken(ao_of(message, struct reload, message));
    else if (message->kind == LOOP_EVICT)
        slot_request_answered(a, ao_of(message, struct eviction, message));
    else if (message->kind == LOOP_USER)
        pending_users_answered(a, message);
    else
        come_home(a, ao_of(message, struct conn_slot, message));
}

static void take_all_back(struct acceptor *a)
{
    for (int n = 0; n < RETURNS_A_STEP; n++) {
        struct loop_message *message = message_take(&a->returns);
        if (message == NULL)
            return;
        take_back(a, message);
    }
}

bool acceptor_take(struct acceptor *a)
{
    return !atomic_exchange_explicit(&a->at_work, true, memory_order_acquire);
}

void acceptor_let_go(struct acceptor *a)
{
    assert(atomic_load_explicit(&a->at_work, memory_order_relaxed)); /* its own, so no order */
    atomic_store_explicit(&a->at_work, false, memory_order_release);
}

/* The part of the work that is the same on both threads. */
static void do_chores(struct acceptor *a)
{
    acceptor_handle_commands(a);
    take_all_back(a);
    accept_named(a);
    if (a->paused && activator_clock(a->activator) >= a->pause_end)
        a->paused = false;
}

static bool accepts(const struct acceptor *a)
{
    return !a->paused && !a->draining && slot_requests_may_begin(a);
}

static void accept_reported(struct acceptor *a)
{
    for (uint32_t i = 0; i < a->listener_count && accepts(a); i++) {
        struct listener *l = a->listeners[i];
        if (!l->ready)
            continue;
        l->ready = false;
        accept_some(l);
    }
}

/* When it has something to do though nothing comes. */
static ao_time next_time(const struct acceptor *a)
{
    ao_time names = pending_users_next(a, slot_requests_may_begin(a)),
            pause = a->paused ? a->pause_end : AO_NEVER;

    return names < pause ? names : pause;
}

static enum ao_verdict acceptor_step(struct ao *self)
{
    struct acceptor *a = ao_of(self, struct acceptor, ao);

    if (!acceptor_take(a))
        return AO_AGAIN; /* the other thread is about to end its work: this one has come back */
    do_chores(a);
    accept_reported(a);
    listeners_watch(a, accepts(a));
    if (a->draining)
        listeners_close(a);
    acceptor_report_drained(a);
    bool more = message_waits(&a->returns);
    ao_time next = next_time(a);
    acceptor_let_go(a);
    if (more)
        return AO_AGAIN;
    if (next == AO_NEVER)
        return AO_DONE;
    ao_sleep_until(self, next);
    return AO_PARK;
}

/* --- In place of the first loop --- */

static bool all_are_away(const struct acceptor *a)
{
    for (uint32_t i = 0; i < a->loop_count; i++)
        if (!atomic_load_explicit(&a->links[i].loop->away, memory_order_relaxed))
            return false;
    return true;
}

uint32_t acceptor_poll_fds(struct acceptor *a, struct pollfd *fds)
{
    uint32_t count = 0;

    if (all_are_away(a) || !acceptor_take(a))
        return 0;
    for (uint32_t i = 0; i < a->listener_count && accepts(a); i++)
        if (a->listeners[i]->socket.fd >= 0)
            fds[count++] = (struct pollfd){.fd = a->listeners[i]->socket.fd, .events = POLLIN};
    acceptor_let_go(a);
    return count;
}

void acceptor_stand_in(struct acceptor *a)
{
    if (!acceptor_take(a))
        return;
    do_chores(a);
    for (uint32_t i = 0; i < a->listener_count && accepts(a) && !all_are_away(a); i++)
        accept_some(a->listeners[i]);
    acceptor_report_drained(a);
    acceptor_let_go(a);
}

static const struct ao_class acceptor_class = {.name = "acceptor", .step = acceptor_step};

/* --- Set-up and tear-down --- */

/* Of a listener, within the poll. */
static void on_event(struct poller_watch *w, unsigned what)
{
    struct listener *l = ao_of(w, struct listener, watch);

    (void)what;
    l->ready = true;
    ao_wake(&l->acceptor->ao); /* it may sleep until a wait for a name expires */
    ao_activate(&l->acceptor->ao);
}

static bool link_loop(struct acceptor *a, struct loop_link *link, struct net_loop *loop)
{
    if (message_list_init(&loop->from_acceptor, &loop->intake) != 0)
        return false;
    link->loop = loop;
    link->drain.kind = LOOP_DRAIN;
    link->abort.kind = LOOP_ABORT;
    loop->to_acceptor = &a->returns;
    return true;
}

static void unlink_loop(struct loop_link *link)
{
    link->loop->to_acceptor = NULL;
    message_list_fini(&link->loop->from_acceptor);
}

struct acceptor *acceptor_new(struct net_loop **loops, uint32_t count,
                              const struct net_limits *limits)
{
    struct acceptor *a = calloc(1, sizeof *a);

    if (a == NULL)
        return NULL;
    a->activator = loops[0]->activator;
    a->watcher = (struct poller_watcher){.poller = loops[0]->watcher.poller, .on_event = on_event};
    a->limits = *limits;
    for (int i = 0; i < 2; i++)
        a->penalties.seed[i] = activator_random(a->activator);
    origins_init(&a->origins, a->penalties.seed);
    pending_users_init(&a->pending_users, a->penalties.seed);
    penalties_init(&a->penalties, limits->penalty * 5 / 2); /* with the third wrong token */
    mpsc_init(&a->commands);
    ao_init(&a->ao, &acceptor_class, a->activator);
    a->links = calloc(count, sizeof *a->links);
    if (message_list_init(&a->returns, &a->ao) != 0 || a->links == NULL)
        goto fail;
    for (; a->loop_count < count; a->loop_count++)
        if (!link_loop(a, &a->links[a->loop_count], loops[a->loop_count]))
            goto fail;
    return a;
fail:
    acceptor_free(a);
    errno = ENOMEM;
    return NULL;
}

void acceptor_free(struct acceptor *a)
{
    if (a == NULL)
        return;
    acceptor_handle_commands(a); /* frees what was asked and not done */
    users_hush(a->users);
    pending_users_drop(a);
    slot_requests_drop(a);
    for (uint32_t i = 0; i < a->loop_count; i++)
        unlink_loop(&a->links[i]);
    /* Connections point to the rules of their listener to their end. */
    for (uint32_t i = 0; i < a->loop_count; i++)
        loop_drop_connections(a->links[i].loop);
    listeners_free(a);
    origins_fini(&a->origins);
    penalties_fini(&a->penalties);
    free(a->links);
    message_list_fini(&a->returns);
    acceptor_forget_reloads(a);
    users_close(a->users); /* its answers may be in there */
    ao_deactivate(&a->ao);
    ao_fini(&a->ao);
    free(a);
}
