#include "server/net/connection/holdings.h"

#include <assert.h>

#include "server/runtime/object/trace.h"

static uint64_t input_bytes(const struct connection *c)
{
    return c->partial ? partial_size(c->partial) : 0;
}

uint64_t conn_bytes(const struct connection *c)
{
    return c->charged + c->in_tasks;
}

/* --- Stopped, or not --- */

/* Bytes of `charged` that are input. */
static uint64_t charged_input(const struct connection *c)
{
    return c->partial ? c->partial->charged : 0;
}

/* All but input, which has limits of its own. */
static uint64_t at_work(const struct connection *c)
{
    return c->charged - charged_input(c) + c->in_tasks;
}

/* By its own limit.  With 0 wanted: it holds as much as it may. */
static bool own_limit_lacks(const struct connection *c, uint64_t wanted)
{
    uint64_t limit = c->loop->limits.connection_bytes, now = at_work(c);

    if (limit == 0 || now == 0)
        return false;
    return wanted == 0 ? now >= limit : account_exceeds(now, wanted, limit);
}

static uint64_t wanted(const struct connection *c)
{
    return c->cold ? c->cold->wanted : 0;
}

static void set_wanted(struct connection *c, uint64_t bytes)
{
    if (c->cold)
        c->cold->wanted = bytes;
}

void holdings_end_use(struct connection *c)
{
    if (c->cold && !c->waits && !c->put_back && !c->retries && c->cold->wanted == 0)
        cold_end(c, COLD_ROOM);
}

/* What conn_may_read() looks at.  Once it is read again, what it waited with is handed over anew,
 * and says itself what it wants. */
static void set_held(struct connection *c)
{
    bool was_held = c->held;

    c->held = !c->serves && (c->waits || c->heavy);
    if (c->held)
        return;
    set_wanted(c, 0);
    holdings_end_use(c);
    if (was_held && c->stopped && conn_may_read(c))
        conn_kick(c);
}

/* Without memory it does not wait now; with what it holds next it is weighed once more. */
static void wait(struct connection *c)
{
    struct conn_cold *cold = cold_begin(c, COLD_ROOM);

    if (!cold)
        return;
    assert(!c->waits && c->tally != NULL);
    TRACE(c->loop->activator, "conn", c->slot->id, "waits for room (%lu bytes held, %lu wanted)",
          (unsigned long)conn_bytes(c), (unsigned long)cold->wanted);
    c->waits = true;
    room_wait(c->tally, &cold->room, cold->wanted);
}

static void set_heavy(struct connection *c)
{
    bool heavy = own_limit_lacks(c, wanted(c));

    if (heavy && !c->heavy)
        accounts_note_stopped(c->loop->tallies->accounts);
    c->heavy = heavy;
}

bool holdings_lack(const struct connection *c)
{
    return at_work(c) > 0 && tally_lacks(c->tally, 0);
}

/* As nearly always: it is read, and holds less than it may. */
static bool is_light(const struct connection *c)
{
    return !c->held && !c->heavy && !c->waits && wanted(c) == 0 && !own_limit_lacks(c, 0) &&
           !holdings_lack(c);
}

static void weigh(struct connection *c)
{
    if (!conn_open(c) || is_light(c))
        return;
    set_heavy(c);
    if (!c->serves && !c->waits && wanted(c) == 0 && holdings_lack(c))
        wait(c);
    set_held(c);
}

void holdings_go_on(struct room_waiter *w)
{
    struct connection *c = ao_of(w, struct conn_cold, room)->owner;

    assert(c->cold->uses & COLD_ROOM);
    c->waits = false;
    set_held(c);
}

void holdings_stop_waiting(struct connection *c)
{
    if (!c->waits)
        return;
    c->waits = false;
    room_forget(c->tally, &c->cold->room);
    holdings_end_use(c);
}

void holdings_go_by_service(struct connection *c)
{
    holdings_stop_waiting(c);
    set_wanted(c, 0);
    weigh(c);
}

bool conn_has_room(const struct connection *c, uint64_t bytes)
{
    return !own_limit_lacks(c, bytes) && !tally_lacks(c->tally, bytes);
}

bool conn_may_begin(struct connection *c, uint64_t bytes)
{
    if (c->serves)
        return !own_limit_lacks(c, bytes) && !tally_lacks(c->tally, bytes);
    if (!own_limit_lacks(c, bytes) && !tally_lacks(c->tally, bytes)) {
        c->heavy = false;
        return true;
    }
    if (!cold_begin(c, COLD_ROOM))
        return true;
    c->put_back = true;
    set_wanted(c, bytes);
    set_heavy(c);
    if (!c->heavy && !c->waits)
        wait(c);
    set_held(c);
    return false;
}

void conn_wait_for_room(struct connection *c)
{
    bool has_others = c->in_flight > 1; /* beside the one that was refused */

    if (!conn_open(c) || c->serves || c->waits || !has_others || !tally_lacks(c->tally, 0))
        return;
    wait(c);
    set_held(c);
}

/* --- What it holds --- */

void holdings_settle(struct connection *c)
{
    if (!c->tally)
        return;
    assert(c->charged >= charged_input(c));
    uint64_t input = input_bytes(c), bytes = input + output_bytes(c) + c->outside;
    if (bytes != c->charged)
        tally_charge(c->tally, (int64_t)(bytes - c->charged));
    c->charged = bytes;
    if (input != charged_input(c)) {
        tally_input(c->tally, (int64_t)(input - charged_input(c)));
        c->partial->charged = input;
    }
    weigh(c);
}

void holdings_forget_input(struct connection *c)
{
    uint64_t input = charged_input(c);

    if (input == 0)
        return;
    tally_charge(c->tally, -(int64_t)input);
    tally_input(c->tally, -(int64_t)input);
    c->charged -= input;
    c->partial->charged = 0;
}

static void charge_all(struct tally *t, const struct connection *c, int64_t sign)
{
    tally_charge(t, sign * (int64_t)c->charged);
    tally_input(t, sign * (int64_t)charged_input(c));
}

void holdings_move(struct connection *c, struct tally *own)
{
    struct tally *old = c->tally;

    holdings_stop_waiting(c);
    if (old && c->charged > 0) {
        charge_all(old, c, -1);
        charge_all(own, c, 1);
    }
    c->tally = own;
    tally_close(old);
    weigh(c); /* it waits by its new account, or not at all */
}

void conn_hold(struct connection *c, int64_t bytes)
{
    assert(bytes >= 0 || c->outside >= (uint64_t)-bytes); /* what was held is given back */
    c->outside += (uint64_t)bytes;
    holdings_settle(c);
}

void conn_hold_task(struct connection *c, int64_t bytes)
{
    assert(bytes >= 0 || c->in_tasks >= (uint64_t)-bytes);
    c->in_tasks += (uint64_t)bytes;
    if (bytes > 0 || c->heavy)
        weigh(c);
}
