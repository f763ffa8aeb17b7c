/* What all files of a connection work with: its state and how that changes, its calls in flight,
 * and what its port may ask and set at any time.
 *
 * Happy path: HANDSHAKE -> OPEN -> (peer's FIN) DRAINING -> (last answer written) CLOSED -> freed.
 * The server's drain: OPEN -> DRAINING -> (last answer written) LINGERING -> (peer's FIN) CLOSED.
 * Closed by us (malformed input, conn_close): OPEN -> FLUSHING -> LINGERING -> CLOSED.
 * Reset, write error, idle for too long, abort: any state -> CLOSED.
 *
 * Lingering is there because closing a socket that still has unread input sends a reset, and a
 * reset can overtake the last answers on their way to the peer. */
#include "server/net/connection/conn_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/recorder.h"
#include "server/accounts/tally.h"
#include "server/net/auth/peer.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/holdings.h"
#include "server/net/connection/unauthenticated.h"
#include "server/net/connection/serving.h"
#include "server/runtime/activator.h"
#include "server/runtime/object/trace.h"

#define FLUSH_TIME  AO_S(5) /* a closed connection whose peer does not read */
#define LINGER_TIME AO_S(2) /* a closed connection whose peer goes on sending */

enum { ACCOUNT_NAME_MAX = 320 /* bytes; longer names of principals are one by their beginning */ };

/* --- State --- */

const char *const conn_state_names[] = {
#define X(name, text) [CONN_##name] = #name,
    CONN_STATES(X)
#undef X
};
_Static_assert(sizeof conn_state_names / sizeof *conn_state_names == CONN_STATE_COUNT,
               "net.h says how many");

const char *const listener_kind_names[] = {
    [LISTENER_TCP] = "tcp", [LISTENER_TLS] = "tls", [LISTENER_UNIX] = "unix"};

static enum listener_kind kind_of(const struct listener_rules *rules)
{
    if (rules->url && strncmp(rules->url, "unix:", 5) == 0)
        return LISTENER_UNIX;
    return rules->contexts ? LISTENER_TLS : LISTENER_TCP;
}

void conn_count(const struct connection *c, int n)
{
    struct loop_counters *counters = &c->loop->counters;
    assert(n > 0 || counter_read(&counters->states[c->state]) > 0);
    counter_add(&counters->states[c->state], (uint64_t)n);
    counter_add(&counters->kinds[kind_of(c->slot->rules)], (uint64_t)n);
}

/* assert() alone asks it. */
static bool legal(enum conn_state from, enum conn_state to)
{
#define TO(state) (1u << CONN_##state)
    static const unsigned moves[] = {
        [CONN_HANDSHAKE] = TO(OPEN) | TO(CLOSED),
        [CONN_OPEN] = TO(DRAINING) | TO(FLUSHING) | TO(CLOSED),
        [CONN_DRAINING] = TO(FLUSHING) | TO(LINGERING) | TO(CLOSED),
        [CONN_FLUSHING] = TO(LINGERING) | TO(CLOSED),
        [CONN_LINGERING] = TO(CLOSED),
        [CONN_CLOSED] = 0,
    };
#undef TO
    return (moves[from] & (1u << to)) != 0;
}

static void trace_move(const struct connection *c, enum conn_state next, const char *why)
{
    uint32_t calls = c->in_flight + c->polls;

    if (calls == 0)
        TRACE(c->loop->activator, "conn", conn_id(c), "%s -> %s (%s)", conn_state_names[c->state],
              conn_state_names[next], why);
    else
        TRACE(c->loop->activator, "conn", conn_id(c), "%s -> %s (%s, %u in flight)",
              conn_state_names[c->state], conn_state_names[next], why, calls);
}

static ao_time idle_limit(const struct connection *c)
{
    ao_time own = c->slot->rules->idle_timeout;

    if (own == 0)
        return c->loop->limits.idle_timeout;
    return own == AO_NEVER ? 0 : own;
}

ao_time conn_time_limit(const struct connection *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_OPEN:
        return c->serves ? 0 : idle_limit(c);
    case CONN_DRAINING:
        return idle_limit(c);
    case CONN_FLUSHING:
        return FLUSH_TIME;
    case CONN_LINGERING:
        return LINGER_TIME;
    case CONN_HANDSHAKE:
        return c->loop->limits.handshake_timeout;
    case CONN_CLOSED:
        return 0;
    }
    __builtin_unreachable();
}

/* `why`: it was closed now, for the reason that it was left in OPEN, if it ever was. */
static void enter_closed(struct connection *c, const char *why)
{
    struct net_loop *l = c->loop;

    c->stream.cls->close(&c->stream);
    c->stream.backlog = 0;
    c->ready = 0;
    chunk_drop_all(&c->out, &l->pool);
    holdings_settle(c);
    counter_add(&l->counters.connections, (uint64_t)-1);
    counter_add(&l->counters.closed, 1);
    recorder_note(activator_recorder(l->activator), RECORDER_CLOSED, conn_id(c));
    /* No list has it from which it could be evicted, or granted room. */
    assert(!c->waits && !c->shakes && !c->unauthenticated && !c->serves);
    CONN_LOG(debug, "disconnected", c, c->cold && c->cold->why ? c->cold->why : why);
}

/* Kept until it has closed.  Without memory the log has why it closed at last, and that is all. */
static void note_why(struct connection *c, enum conn_state next, const char *why)
{
    struct conn_cold *cold = next == CONN_CLOSED ? c->cold : cold_begin(c, COLD_WHY);

    if (cold != NULL)
        cold->why = why;
}

void conn_enter(struct connection *c, enum conn_state next, const char *why)
{
    assert(legal(c->state, next));
    assert(next != CONN_OPEN || c->tally != NULL); /* each input is counted there */
    trace_move(c, next, why);
    if (c->serves)
        serving_end(c);
    if (c->state == CONN_OPEN)
        note_why(c, next, why);
    c->gone_due = next > CONN_DRAINING;
    unauthenticated_shook(c);
    if (c->state == CONN_HANDSHAKE)
        c->gone_reported = next != CONN_OPEN; /* the port never saw it */
    counter_add(&c->loop->counters.states[c->state], (uint64_t)-1);
    counter_add(&c->loop->counters.states[next], 1);
    c->state = (uint8_t)next;
    c->stopped = false;
    holdings_stop_waiting(c);
    c->since = activator_now(c->loop->activator);
    c->limited = conn_time_limit(c) > 0;
    if (next == CONN_OPEN && c->unauthenticated)
        c->cold->entered = c->since;
    if (next == CONN_CLOSED || c->principal || !conn_asks_who(c))
        unauthenticated_remove(c);
    if (next == CONN_LINGERING)
        c->stream.cls->shut(&c->stream);
    else if (next == CONN_CLOSED)
        enter_closed(c, why);
    conn_kick(c);
}

void conn_abort(struct connection *c, const char *why)
{
    if (c->state != CONN_CLOSED)
        conn_enter(c, CONN_CLOSED, why);
}

void conn_out_of_memory(struct connection *c)
{
    CONN_LOG(error, "connection closed", c, "out of memory");
    conn_abort(c, "out of memory");
}

bool conn_watch(struct connection *c, unsigned what)
{
    if (c->stream.cls->watch(&c->stream, what))
        return true;
    conn_enter(c, CONN_CLOSED, "out of memory");
    return false;
}

/* --- Calls in flight --- */

void conn_call_began(struct connection *c, bool counted)
{
    assert(c->state != CONN_HANDSHAKE && !c->dead);
    if (counted)
        c->in_flight++;
    else
        c->polls++;
}

void conn_call_ended(struct connection *c, bool counted)
{
    uint32_t *count = counted ? &c->in_flight : &c->polls;

    assert(*count > 0);
    --*count;
    c->since = activator_now(c->loop->activator);
    if (c->in_flight < c->loop->limits.in_flight)
        c->reserve = 0;
    if (c->state != CONN_OPEN || ((c->stopped || c->serves) && conn_goes_on(c)))
        conn_kick(c);
}

bool conn_ends(const struct connection *c)
{
    return c->loop->closing;
}

uint32_t conn_polls(const struct connection *c)
{
    return c->polls;
}

/* --- Its identity --- */

struct conn_mode *conn_mode(struct connection *c)
{
    return &c->mode;
}

uint64_t conn_id(const struct connection *c)
{
    return c->slot->id;
}

void **conn_user(struct connection *c)
{
    return &c->user;
}

const char *conn_peer(const struct connection *c)
{
    const struct conn_vouched *v = conn_vouched(c);

    return v ? v->peer : c->slot->peer;
}

struct tally *conn_tally(const struct connection *c)
{
    return c->tally;
}

/* The account that it is charged to: its principal's, or, while it is unauthenticated, its
 * address's. */
static void account_name(const struct connection *c, char *buf, size_t size)
{
    char network[PEER_TEXT_MAX];

    if (c->principal) {
        snprintf(buf, size, "%s", principal_name(c->principal));
    } else if (peer_key_is_address(c->slot->key)) {
        peer_network(c->slot->peer, network, sizeof network);
        principal_full_name(PRINCIPAL_ADDRESS, network, buf, size);
    } else {
        snprintf(buf, size, "%s", c->slot->peer);
    }
}

bool conn_open_tally(struct connection *c)
{
    char name[ACCOUNT_NAME_MAX];

    account_name(c, name, sizeof name);
    struct tally *own = tally_open(c->loop->tallies, name);
    if (!own) {
        conn_out_of_memory(c);
        return false;
    }
    holdings_move(c, own);
    return true;
}
