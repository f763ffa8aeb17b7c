#include "server/net/connection/partial_budget.h"

#include "server/accounts/tally.h"
#include "server/net/connection/conn_private.h"
#include "server/net/connection/holdings.h"

enum { LONG_MESSAGE = 65536 /* bytes; what is shorter is copied soon enough */ };

#define PATIENCE   AO_S(1)   /* with other loops, before our own connections pay */
#define LOOK_AGAIN AO_MS(20) /* since room that comes by itself is not told */

static void forget(struct connection *c)
{
    c->partial = NULL;
    c->partial_whole = false;
    c->whole = 0;
    holdings_settle(c);
}

void input_drop(struct connection *c)
{
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
    *out = partial_release(&c->loop->partials, c->partial);
    block_trim(out, used);
    forget(c);
    return true;
}

/* What a connection holds, or would if its wish came true. */
struct holder {
    struct connection *c;
    bool newcomer;
    uint64_t of_principal, own; /* bytes */
};

/* `wants`: so many bytes more; NULL: nobody wants anything. */
static struct holder holder_of(struct connection *c, const struct connection *wants, size_t cost)
{
    struct holder h = {.c = c, .newcomer = c->newcomer};

    if (c->partial)
        h.own = partial_size(c->partial);
    if (c == wants)
        h.own += cost;
    if (c->tally && !c->newcomer)
        h.of_principal = c->tally->input + (wants && c->tally == wants->tally ? cost : 0);
    return h;
}

static bool holds_more(const struct holder *a, const struct holder *b)
{
    if (a->newcomer != b->newcomer)
        return a->newcomer;
    if (a->of_principal != b->of_principal)
        return a->of_principal > b->of_principal;
    return a->own > b->own;
}

/* There is one that holds, or one that wants. */
static struct connection *largest(struct net_loop *l, struct connection *wants, size_t cost)
{
    struct connection *first = wants ? wants : LIST_FIRST(&l->partials.all)->owner;
    struct holder most = holder_of(first, wants, cost);
    struct partial_input *p;

    LIST_FOREACH(p, &l->partials.all, link)
    {
        struct holder h = holder_of(p->owner, wants, cost);
        if (holds_more(&h, &most))
            most = h;
    }
    return most.c;
}

static void close_for_budget(struct connection *c)
{
    conn_close(c, "the budget for partial messages is used up, and this peer holds most");
    counter_add(&c->loop->counters.protocol_errors, 1);
    input_drop(c);
}

/* Nearly all that there is is taken. */
static bool is_tight(const struct net_loop *l)
{
    uint64_t all = l->limits.partial_total;

    return input_budget_bytes(l->partials.budget) > all - all / 8;
}

/* Others ask back, so each asks now and then, and not at each read. */
static void ask_others(struct net_loop *l)
{
    ao_time now = activator_now(l->activator);

    if (now < l->ask_again)
        return;
    l->ask_again = now + LOOK_AGAIN;
    input_budget_ask(l->partials.budget, &l->keeper, l->partials.total <= l->limits.partial_part);
}

bool partial_budget_take(struct connection *c, size_t bytes)
{
    struct net_loop *l = c->loop;
    size_t cost = partial_cost(c->partial, bytes);

    while (!partial_take(&l->partials, cost, l->limits.partial_total)) {
        ask_others(l); /* too late for this one, but not for the next */
        struct connection *goes = largest(l, c, cost);
        close_for_budget(goes);
        if (goes == c)
            return false;
    }
    if (c->partial)
        c->partial->waits_since = 0;
    return true;
}

/* A part may be less than one message may be: one alone stays, unless another loop that has less
 * than its part wants the memory. */
static bool has_more_than_its_part(const struct net_loop *l, bool pressed)
{
    const struct partial_input *first = LIST_FIRST(&l->partials.all);

    return l->partials.total > l->limits.partial_part && first &&
           (pressed || LIST_NEXT(first, link));
}

/* True: some gave way. */
static bool shrink(struct net_loop *l, bool pressed)
{
    bool any = false;

    for (; is_tight(l) && has_more_than_its_part(l, pressed); any = true)
        close_for_budget(largest(l, NULL, 0));
    return any;
}

void partial_budget_grown(struct connection *c)
{
    struct net_loop *l = c->loop;

    if (!is_tight(l))
        return;
    shrink(l, false);
    if (is_tight(l)) /* so it is others that have too much */
        ask_others(l);
}

bool partial_budget_waits(struct connection *c, size_t bytes)
{
    struct net_loop *l = c->loop;
    uint64_t cost = partial_cost(c->partial, bytes);
    ao_time now = activator_now(l->activator);
    ao_time *since = &c->partial->waits_since;

    if (cost == 0 || input_budget_bytes(l->partials.budget) + cost <= l->limits.partial_total ||
        l->partials.total + cost > l->limits.partial_part ||
        (*since != 0 && now - *since >= PATIENCE))
        return false;
    if (*since == 0)
        *since = now;
    ask_others(l);
    if (!l->awaits_input_room)
        l->look_again = now + LOOK_AGAIN;
    l->awaits_input_room = true;
    if (ao_state(&l->shrinks) == AO_STATE_INACTIVE)
        ao_sleep_until(&l->shrinks, l->look_again);
    return true;
}

static void let_them_read(struct net_loop *l)
{
    struct partial_input *p;

    l->awaits_input_room = false;
    LIST_FOREACH(p, &l->partials.all, link)
    if (p->owner->stopped)
        conn_kick(p->owner);
}

/* Another loop asks, or has given way, or those who wait are to look again. */
static enum ao_verdict shrink_step(struct ao *self)
{
    struct net_loop *l = ao_of(self, struct net_loop, shrinks);

    if (shrink(l, input_budget_was_pressed(l->partials.budget, &l->keeper)))
        input_budget_ask(l->partials.budget, &l->keeper, false);
    if (!l->awaits_input_room)
        return AO_DONE;
    /* Who reads in vain asks again: two loops that wait would keep each other awake. */
    if (is_tight(l) && activator_now(l->activator) < l->look_again) {
        ao_sleep_until(self, l->look_again);
        return AO_PARK;
    }
    let_them_read(l);
    return AO_DONE;
}

static const struct ao_class shrink_class = {.name = "input budget", .step = shrink_step};

bool partial_budget_open(struct net_loop *l)
{
    l->partials.budget = accounts_input(l->tallies->accounts);
    ao_init(&l->shrinks, &shrink_class, l->activator);
    l->keeper.handle = ao_handle_new(&l->shrinks);
    if (l->keeper.handle == NULL) {
        ao_fini(&l->shrinks);
        return false;
    }
    input_budget_add(l->partials.budget, &l->keeper);
    return true;
}

void partial_budget_close(struct net_loop *l)
{
    input_budget_remove(l->partials.budget, &l->keeper);
    ao_deactivate(&l->shrinks);
    ao_fini(&l->shrinks);
    ao_handle_unref(l->keeper.handle);
}
