#include "server/net/connection/partial_budget.h"

#include "server/accounts/tally.h"
#include "server/net/connection/conn_private.h"
#include "server/net/connection/holdings.h"

enum { LONG_MESSAGE = 65536 /* bytes; what is shorter is copied soon enough */ };

/* With other loops, before our own connections are closed.  A loop gives way in its next round, but
 * its thread may be without a processor for long on a busy machine; the waiting connection is only
 * late. */
#define PATIENCE AO_S(5)
#define LOOK_AGAIN                                                                                 \
    AO_MS(5) /* after a search in vain, since each goes through all that hold input */

enum { CLOSED_AT_ONCE = 4 /* messages, for one that needs room; then others have a turn */ };

static void forget(struct connection *c)
{
    c->partial = NULL;
    c->partial_whole = c->retries = false;
    holdings_end_use(c);
    holdings_settle(c);
}

void input_drop(struct connection *c)
{
    holdings_forget_input(c);
    partial_free(&c->loop->partials, c->partial);
    forget(c);
}

/* It ends the input that is kept, and takes most of its memory. */
static bool stands_alone(const struct partial_input *p, struct span params)
{
    return params.len >= LONG_MESSAGE && params.len >= p->capacity / 2 &&
           params.at + params.len == p->bytes + p->end;
}

bool conn_take_message(struct connection *c, struct span params, struct block *out)
{
    if (c->partial == NULL || !stands_alone(c->partial, params))
        return false;
    size_t used = (size_t)(params.at + params.len - (const uint8_t *)c->partial);
    holdings_forget_input(c);
    *out = partial_release(&c->loop->partials, c->partial);
    block_trim(out, used);
    forget(c);
    return true;
}

/* What a connection holds, or would if its wish came true. */
struct holder {
    struct connection *c;
    bool unauthenticated;
    uint64_t of_principal, own; /* bytes */
};

/* `wants`: so many bytes more; NULL: no connection wants any. */
static struct holder holder_of(struct connection *c, const struct connection *wants, size_t cost)
{
    struct holder h = {.c = c, .unauthenticated = c->unauthenticated};

    if (c->partial)
        h.own = partial_size(c->partial);
    if (c == wants)
        h.own += cost;
    if (c->tally && !c->unauthenticated)
        h.of_principal =
            tally_input_in_all(c->tally) + (wants && c->tally == wants->tally ? cost : 0);
    return h;
}

static bool holds_more(const struct holder *a, const struct holder *b)
{
    if (a->unauthenticated != b->unauthenticated)
        return a->unauthenticated;
    if (a->of_principal != b->of_principal)
        return a->of_principal > b->of_principal;
    return a->own > b->own;
}

/* Of those that hold something of what is shared, and the one that wants something, if anything
 * does. NULL: there is none of either. */
static struct connection *largest(struct net_loop *l, struct connection *wants, size_t cost)
{
    struct holder most = {0};
    struct partial_input *p;

    if (wants)
        most = holder_of(wants, wants, cost);
    LIST_FOREACH(p, &l->partials.all, link)
    {
        struct holder h = holder_of(p->owner, wants, cost);
        if (!p->is_own && (!most.c || holds_more(&h, &most)))
            most = h;
    }
    return most.c;
}

/* Wherever it has them from.  NULL: none has any. */
static struct connection *largest_unauthenticated(struct net_loop *l)
{
    const struct partial_input *p;
    struct connection *most = NULL;

    LIST_FOREACH(p, &l->partials.all, link)
    if (p->owner->unauthenticated && (!most || partial_size(p) > partial_size(most->partial)))
        most = p->owner;
    return most;
}

static void close_for_budget(struct connection *c)
{
    conn_close(c, "the budget for partial messages is used up, and this peer holds most");
    counter_add(&c->loop->counters.protocol_errors, 1);
    input_drop(c);
}

/* --- Before a read whose rest may have to be kept --- */

static bool has_room(struct net_loop *l, size_t *size)
{
    if (partial_has_room(&l->partials, HEADROOM + *size))
        return true;
    if (*size <= READ_SHORT || !partial_has_room(&l->partials, HEADROOM + READ_SHORT))
        return false;
    *size = READ_SHORT;
    return true;
}

/* In vain, and so it would be again. */
static bool looked_lately(const struct net_loop *l)
{
    ao_time at = l->partials.looked_at;

    return at != 0 && activator_now(l->activator) - at < LOOK_AGAIN;
}

bool partial_budget_admits(struct connection *c, size_t *size)
{
    struct net_loop *l = c->loop;
    struct connection *goes;
    bool asked = false;

    while (conn_open(c) && !has_room(l, size)) {
        if (looked_lately(l)) {
            c->awaits_input = true;
            return false;
        }
        goes = largest_unauthenticated(l);
        if (!goes && !asked)
            asked = input_budget_ask(l->partials.budget, &l->keeper,
                                     partial_cost(HEADROOM + READ_SHORT));
        if (!goes && !asked)
            goes = largest(l, NULL, 0);
        if (!goes) {
            l->partials.looked_at = activator_now(l->activator);
            c->awaits_input = true;
            return false;
        }
        close_for_budget(goes);
    }
    return conn_open(c);
}

/* --- Before a long one is read on --- */

/* Others have more, and are asked, and are given a moment. */
static bool others_are_evicted(struct connection *c, size_t need)
{
    struct net_loop *l = c->loop;
    ao_time now = activator_now(l->activator);
    ao_time *since = &c->partial->waits_since;

    if (c->unauthenticated || (*since != 0 && now - *since >= PATIENCE) ||
        !input_budget_ask(l->partials.budget, &l->keeper, need))
        return false;
    if (*since == 0)
        *since = now;
    c->awaits_input = true;
    return true;
}

bool partial_budget_take(struct connection *c, size_t bytes)
{
    struct net_loop *l = c->loop;
    size_t need = partial_need(c->partial, bytes);

    for (unsigned closed = 0; !partial_take(&l->partials, c->partial, bytes); closed++) {
        if (others_are_evicted(c, need))
            return false;
        if (closed == CLOSED_AT_ONCE) {
            c->awaits_input = true;
            return false;
        }
        struct connection *goes = largest(l, c, need);
        close_for_budget(goes);
        if (goes == c)
            return false;
    }
    c->partial->waits_since = 0;
    return true;
}

/* --- For other loops --- */

/* One need closes one message. */
static enum ao_verdict evict_step(struct ao *self)
{
    struct net_loop *l = ao_of(self, struct net_loop, gives_way);
    struct input_budget *b = l->partials.budget;
    struct connection *goes;

    if (input_budget_is_asked(b, &l->keeper, l->limits.partial.shared) &&
        (goes = largest(l, NULL, 0)) != NULL)
        close_for_budget(goes);
    input_budget_answer(b, &l->keeper);
    return AO_DONE;
}

static const struct ao_class evict_class = {.name = "input budget", .step = evict_step};

bool partial_budget_open(struct net_loop *l)
{
    l->partials.budget = accounts_input(l->tallies->accounts);
    l->partials.keeper = &l->keeper;
    l->partials.limits = &l->limits.partial;
    ao_init(&l->gives_way, &evict_class, l->activator);
    l->keeper.handle = ao_handle_new(&l->gives_way);
    if (l->keeper.handle == NULL) {
        ao_fini(&l->gives_way);
        return false;
    }
    input_budget_add(l->partials.budget, &l->keeper);
    return true;
}

void partial_budget_close(struct net_loop *l)
{
    input_budget_remove(l->partials.budget, &l->keeper);
    ao_deactivate(&l->gives_way);
    ao_fini(&l->gives_way);
    ao_handle_unref(l->keeper.handle);
}
