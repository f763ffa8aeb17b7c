#include "server/net/connection/holdings.h"

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

static bool at_work(const struct connection *c)
{
    return c->charged - c->charged_input + c->in_tasks > 0;
}

/* By its own limit.  Without `bytes`: it holds as much as it may. */
static bool own_limit_lacks(const struct connection *c, uint64_t bytes)
{
    uint64_t limit = c->loop->limits.connection_bytes;

    if (limit == 0 || !at_work(c))
        return false;
    return bytes == 0 ? conn_bytes(c) >= limit : conn_bytes(c) + bytes > limit;
}

/* What conn_may_read() looks at. */
static void set_output_max(struct connection *c)
{
    bool was_stopped = c->output_max == 0;

    c->output_max = c->waits || c->heavy ? 0 : c->loop->limits.output_max;
    if (was_stopped && c->stopped && conn_may_read(c))
        conn_kick(c);
}

static void wait(struct connection *c, uint64_t bytes)
{
    TRACE(c->loop->activator, "conn", c->slot->id, "waits for room (%lu bytes held, %lu wanted)",
          (unsigned long)conn_bytes(c), (unsigned long)bytes);
    c->waits = true;
    room_wait(c->tally, &c->room, bytes);
}

static void weigh(struct connection *c)
{
    if (!conn_open(c))
        return;
    c->heavy = own_limit_lacks(c, c->wanted);
    if (!c->waits && at_work(c) && tally_lacks(c->tally, 0))
        wait(c, 0);
    set_output_max(c);
}

void holdings_go_on(struct room_waiter *w)
{
    struct connection *c = ao_of(w, struct connection, room);

    c->waits = false;
    set_output_max(c);
}

void holdings_stop_waiting(struct connection *c)
{
    if (!c->waits)
        return;
    c->waits = false;
    room_forget(c->tally, &c->room);
}

bool conn_may_begin(struct connection *c, uint64_t bytes)
{
    c->heavy = own_limit_lacks(c, bytes);
    c->wanted = c->heavy ? bytes : 0;
    if (!c->heavy && !tally_lacks(c->tally, bytes))
        return true;
    if (!c->heavy && !c->waits)
        wait(c, bytes);
    c->put_back = true;
    set_output_max(c);
    return false;
}

void conn_wait_for_room(struct connection *c)
{
    if (!conn_open(c) || c->waits || !tally_lacks(c->tally, 0))
        return;
    wait(c, 0);
    set_output_max(c);
}

/* --- What it holds --- */

void holdings_settle(struct connection *c)
{
    if (!c->tally)
        return;
    uint64_t input = input_bytes(c), bytes = input + output_bytes(c) + c->outside;
    if (bytes != c->charged)
        tally_charge(c->tally, (int64_t)(bytes - c->charged));
    if (input != c->charged_input)
        tally_input(c->tally, (int64_t)(input - c->charged_input));
    c->charged = bytes;
    c->charged_input = input;
    weigh(c);
}

static void charge_all(struct tally *t, const struct connection *c, int64_t sign)
{
    tally_charge(t, sign * (int64_t)c->charged);
    tally_input(t, sign * (int64_t)c->charged_input);
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
}

void conn_hold(struct connection *c, int64_t bytes)
{
    c->outside += (uint64_t)bytes;
    holdings_settle(c);
}

void conn_hold_task(struct connection *c, int64_t bytes)
{
    c->in_tasks += (uint64_t)bytes;
    weigh(c);
}
