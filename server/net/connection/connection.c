/* The life of a connection: what each step does in each state (conn_state.c has the states), and
 * how long it may stay there. */
#include "server/net/connection/admit.h"
#include "server/net/connection/conn_private.h"

#include <assert.h>
#include <stdlib.h>

#include "base/recorder.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/conn_input.h"
#include "server/net/connection/conn_output.h"
#include "server/net/connection/closing.h"
#include "server/net/connection/evict.h"
#include "server/net/connection/unauthenticated.h"
#include "server/net/connection/partial_budget.h"
#include "server/net/connection/serving.h"
#include "server/net/connection/walk.h"
#include "server/runtime/activator.h"
#include "server/runtime/object/trace.h"

enum { ABANDONED_A_ROUND = 512 }; /* calls of connections that have vanished */
#define LOOK_AGAIN AO_MS(20)      /* for room to read: no event reports it */

/* A peer that has half-closed is asked so much more often whether it is still there: the system of
 * one that was killed answers for it, as if it read, for a minute. */
enum { ASKS_OF_HALF_CLOSED = 5 };

/* --- Time --- */

static const char *time_out_text(const struct connection *c)
{
    return c->looks && c->cold->silent  ? "its machine acknowledges nothing (workers.silence)"
           : c->state == CONN_HANDSHAKE ? "handshake took too long"
           : c->state == CONN_FLUSHING  ? "peer does not read"
           : !conn_answerable(c)        ? "peer does not close"
           : activator_now(c->loop->activator) >= unauthenticated_deadline(c)
               ? "not authenticated in time (limits.auth_timeout)"
               : "idle for too long";
}

/* When a peer that does not read what is pushed to it is closed; AO_NEVER: it reads. */
static ao_time unread_until(const struct connection *c)
{
    return c->unread && conn_open(c) && !c->serves ? c->cold->unread_since + c->loop->limits.unread
                                                   : AO_NEVER;
}

/* Waiting output is still written, for a while, and the reason follows it. */
static void close_unread(struct connection *c)
{
    static const char why[] = "what is pushed here is not read (limits.unread)";

    counter_add(&c->loop->counters.unread, 1);
    conn_say_closing(c, ERGON_E_BUSY, why);
    conn_close(c, why);
}

static void time_out(struct connection *c)
{
    if (activator_now(c->loop->activator) >= unread_until(c)) {
        close_unread(c);
        return;
    }
    const char *why = time_out_text(c);

    if (c->unauthenticated && c->since == c->cold->entered && c->ready == 0) /* nothing has come */
        conn_slot_offend(c->slot, OFFENCE_SILENT);
    CONN_LOG(info, "connection closed", c, why);
    conn_abort(c, why);
}

static bool may_stay(const struct connection *c)
{
    return !c->limited && !c->unauthenticated && !c->mortal && !c->unread && !c->looks;
}

/* When the connection has had its time, if nothing happens; AO_NEVER: it may stay. */
static ao_time time_is_over(const struct connection *c)
{
    ao_time at = c->limited ? c->since + conn_time_limit(c) : AO_NEVER;
    ao_time speaks = unauthenticated_deadline(c), unread = unread_until(c);

    at = speaks < at ? speaks : at;
    at = unread < at ? unread : at;
    at = c->looks && c->cold->look_at < at ? c->cold->look_at : at;
    return c->mortal && conn_answerable(c) && c->expires < at ? c->expires : at;
}

static bool timed_out(struct connection *c)
{
    if (may_stay(c))
        return false;
    ao_time now = activator_now(c->loop->activator);
    if (conn_answerable(c) && (c->in_flight + c->polls > 0 || c->waits || c->awaits_input))
        c->since = now;
    if (c->mortal && conn_answerable(c) && now >= c->expires)
        admit_again(c);
    if (c->looks && now >= c->cold->look_at && serving_look(c))
        return true;
    if (now < time_is_over(c))
        return false;
    /* The server may have been late, and what it waits for is there. */
    bool late = c->unauthenticated && c->ready & STREAM_READ && !c->cold->heard_out;
    if (late)
        c->cold->heard_out = true;
    return !late;
}

/* What the stream is to tell while the connection rests.  One that is not read hears of its peer's
 * end from the poller alone; while output waits, the next write does that. */
static unsigned interest(const struct connection *c)
{
    bool reads =
        c->state == CONN_LINGERING || (conn_open(c) && !(c->stopped && (c->ready & STREAM_READ)));
    bool writes = c->state != CONN_LINGERING && c->stream.watched & STREAM_WRITE;

    if (!reads && !writes && conn_answerable(c))
        return STREAM_CLOSED;
    return (reads ? STREAM_READ : 0u) | (writes ? STREAM_WRITE : 0u);
}

/* The stream's callback, from within the poll: the work is done in the next step.  Level-triggered:
 * a stopped connection must not hear of the same bytes in every round. */
void conn_on_event(struct poller_watch *w, unsigned what)
{
    struct connection *c = ao_of(w, struct connection, stream.watch);
    unsigned watched = c->stream.watched;

    assert(c->state != CONN_CLOSED); /* its stream has left the poller */
    /* A connection that waits only for the peer's end gets an error as an event to write. */
    what &= watched == STREAM_CLOSED ? STREAM_CLOSED | STREAM_WRITE : watched;
    c->ready |= (uint8_t)what;
    if (c->stopped && what == STREAM_READ)
        conn_watch(c, interest(c));
    else
        conn_kick(c);
}

/* --- The peer's end --- */

static unsigned half_closed_period(const struct connection *c)
{
    ao_time period = c->loop->limits.keepalive / ASKS_OF_HALF_CLOSED;

    if (period == 0)
        return 0;
    return period < AO_S(1) ? 1 : (unsigned)(period / AO_S(1));
}

/* The peer reads no answers any more.  `fin`: the peer sends nothing more, or the stream ends
 * behind what it has sent. */
static bool peer_left(const struct connection *c, bool fin)
{
    return (fin && c->mode.fin_ends) || c->left ||
           c->stream.cls->left(&c->stream, fin ? half_closed_period(c) : 0);
}

static void report_gone(struct connection *c)
{
    c->gone_reported = !conn_answerable(c);
    c->loop->port.gone(c->loop->port.arg, c);
}

/* Its calls are dropped at once; but of many connections that vanish together no more are reported
 * a round than have so many calls, and the others wait. */
static void report_in_turn(struct connection *c)
{
    struct net_loop *l = c->loop;

    if (l->abandoned >= ABANDONED_A_ROUND)
        return;
    loop_arm(l);
    l->abandoned += c->in_flight + c->polls;
    report_gone(c);
}

/* While input was stopped, of a connection that does not serve: at the end of a serving one, its
 * port may free what the output refers to.  The input is read on all the same, for the sake of
 * notifications, which have no answer in any case; requests among it are dropped when input stops
 * again. */
static void left_in_open(struct connection *c)
{
    TRACE(c->loop->activator, "conn", conn_id(c), "its peer has left");
    c->left = true;
    report_gone(c);
}

/* The poller has reported more than bytes to read.  False: the connection has closed. */
static bool hear(struct connection *c)
{
    bool fin = (c->ready & STREAM_CLOSED) || (c->state == CONN_DRAINING && c->peer_eof);
    bool asked = c->stream.watched == STREAM_CLOSED;

    c->ready &= (uint8_t)~STREAM_CLOSED;
    if (asked && !c->left && peer_left(c, fin)) {
        if (conn_open(c) && !c->serves)
            left_in_open(c);
        else
            conn_enter(c, CONN_CLOSED, "peer has left");
    }
    if (c->state != CONN_CLOSED && c->ready & STREAM_WRITE)
        output_flush(c);
    return c->state != CONN_CLOSED;
}

/* --- The states --- */

/* Nothing to do until one of these events, a call's end, or the time limit. */
static enum ao_verdict rest_until(struct connection *c, unsigned what)
{
    if (!conn_watch(c, what))
        return AO_AGAIN;
    if (may_stay(c) && !c->awaits_input)
        return AO_DONE;
    ao_time until = time_is_over(c);
    if (c->awaits_input) {
        ao_time look = activator_now(c->loop->activator) + LOOK_AGAIN;
        until = look < until ? look : until;
    }
    if (until == AO_NEVER)
        return AO_DONE;
    ao_sleep_until(&c->ao, until);
    return AO_PARK;
}

static enum ao_verdict rest(struct connection *c)
{
    return rest_until(c, interest(c));
}

static void handshake_failed(struct connection *c, int result)
{
    char text[128] = "closed by the peer";

    if (result == STREAM_ERROR)
        c->stream.cls->explain(&c->stream, text, sizeof text);
    /* A client that only probes the port, or is killed meanwhile, does no harm. */
    if (result == STREAM_ERROR && tls_is_peers_error(&c->stream))
        conn_slot_offend(c->slot, OFFENCE_HANDSHAKE);
    CONN_LOG(info, "handshake failed", c, text);
    conn_enter(c, CONN_CLOSED, "handshake failed");
}

static enum ao_verdict handshake_done(struct connection *c)
{
    if (!admit_peer(c))
        conn_enter(c, CONN_CLOSED, "not admitted");
    else if (conn_open_tally(c))
        conn_enter(c, CONN_OPEN, c->stream.cls->name);
    return AO_AGAIN;
}

static enum ao_verdict in_handshake(struct connection *c)
{
    struct net_loop *l = c->loop;

    if (c->stream.cls->handshake == NULL)
        return handshake_done(c);
    if (c->ready == 0 && c->stream.watched != 0)
        return rest_until(c, c->stream.watched);
    loop_arm(l);
    if (l->handshakes++ >= HANDSHAKES_A_ROUND)
        return AO_AGAIN;
    int result = c->stream.cls->handshake(&c->stream);
    if (result == 0) {
        /* The first request may have come with the handshake's last bytes: it is inside of the
         * stream, and no event will report it. */
        c->ready |= STREAM_READ;
        return handshake_done(c);
    }
    if (result == STREAM_EOF || result == STREAM_ERROR) {
        handshake_failed(c, result);
        return AO_AGAIN;
    }
    c->ready = 0;
    unauthenticated_shakes(c);
    if (c->state == CONN_CLOSED)
        return AO_AGAIN;
    return rest_until(c, result == STREAM_WANT_WRITE ? STREAM_WRITE : STREAM_READ);
}

__attribute__((noinline)) static void reads_again(struct connection *c)
{
    TRACE(c->loop->activator, "conn", conn_id(c), "reads again");
    if (c->loop->port.has_room)
        c->loop->port.has_room(c->loop->port.arg, c);
}

static void note_stop(struct connection *c, bool stopped)
{
    bool stops = stopped && !c->stopped, starts = !stopped && c->stopped;

    if (stops)
        TRACE(c->loop->activator, "conn", conn_id(c), "stops reading (%u in flight, %lu to write)",
              c->in_flight, (unsigned long)c->out.bytes);
    c->stopped = stopped;
    if (starts)
        reads_again(c);
    if (stops && c->left)
        report_gone(c);
}

/* Before the round's end, while socket and answer are in the caches: what is large; and the answer
 * of a peer that waits for it, so that no more answers would join it. */
static bool writes_now(const struct connection *c)
{
    return c->out.bytes >= CONN_LARGE || (c->single && c->in_flight == 0 && c->out.bytes > 0);
}

/* Only what was read is still handed over. */
static bool drains(const struct connection *c)
{
    return c->drain && !c->serves;
}

/* The peer of one that serves sends nothing more, so no answer either.  What it is to do and has
 * not taken by now it is not to find: others do it. */
static void finish(struct connection *c)
{
    const struct conn_port *port = &c->loop->port;
    uint64_t before;

    serving_end(c);
    do {
        before = c->out.bytes;
        output_flush(c);
    } while (conn_open(c) && c->out.bytes > 0 && c->out.bytes < before);
    if (conn_open(c) && c->out.bytes > 0)
        conn_enter(c, CONN_CLOSED, "its peer has finished, and does not read");
    else if (conn_open(c) && port->finished)
        port->finished(port->arg, c);
}

/* Nothing more will be read, by the peer's will or ours. */
static void end_of_input(struct connection *c, bool peer_eof)
{
    bool owes = c->in_flight + c->polls > 0;

    c->peer_eof = peer_eof;
    if (!peer_eof)
        conn_say_closing(c, ERGON_E_DRAINING, "the server is shutting down");
    if (peer_eof && (owes || c->mode.fin_ends) && peer_left(c, true))
        conn_enter(c, CONN_CLOSED, "peer has left");
    else
        conn_enter(c, CONN_DRAINING, peer_eof ? "peer eof" : "server drains");
}

/* The peer has finished, or the server drains.  False: it is read on. */
__attribute__((noinline)) static bool leaves_open(struct connection *c, enum input_end end)
{
    if (end == INPUT_EOF && c->serves)
        finish(c);
    if (conn_open(c) && (end == INPUT_EOF || (drains(c) && end == INPUT_REST)))
        end_of_input(c, end == INPUT_EOF);
    if (c->serves)
        serving_drains(c);
    return !conn_open(c);
}

static enum ao_verdict in_open(struct connection *c)
{
    if (c->ready & (STREAM_WRITE | STREAM_CLOSED) && (!hear(c) || !conn_open(c)))
        return AO_AGAIN;
    c->awaits_input = false;
    enum input_end end = drains(c) ? input_run_partial(c) : input_run(c);
    if (end == INPUT_LEFT || !conn_open(c))
        return AO_AGAIN;
    note_stop(c, end == INPUT_STOPPED);
    if (writes_now(c))
        output_flush(c);
    if (!conn_open(c))
        return AO_AGAIN;
    if (end == INPUT_MORE ||
        c->in_parts) /* an alarm would outlast the kick of conn_begin_parts() */
        return AO_AGAIN;
    if ((end == INPUT_EOF || c->drain) && leaves_open(c, end))
        return AO_AGAIN;
    return rest(c);
}

static enum ao_verdict in_draining(struct connection *c)
{
    if (c->ready & (STREAM_WRITE | STREAM_CLOSED))
        hear(c);
    if (c->state != CONN_DRAINING)
        return AO_AGAIN;
    if (c->in_flight + c->polls > 0 || output_bytes(c) > 0)
        return rest(c);
    conn_enter(c, c->peer_eof ? CONN_CLOSED : CONN_LINGERING, "all answered");
    return AO_AGAIN;
}

static enum ao_verdict in_flushing(struct connection *c)
{
    if (c->ready & STREAM_WRITE)
        output_flush(c);
    if (c->state != CONN_FLUSHING)
        return AO_AGAIN;
    if (output_bytes(c) > 0)
        return rest(c);
    conn_enter(c, c->peer_eof ? CONN_CLOSED : CONN_LINGERING, "all written");
    return AO_AGAIN;
}

static enum ao_verdict in_lingering(struct connection *c)
{
    input_discard(c);
    return c->state == CONN_LINGERING ? rest(c) : AO_AGAIN;
}

/* At the end of this round. */
static void free_later(struct connection *c)
{
    struct net_loop *l = c->loop;

    assert(!c->dirty); /* the link serves both lists */
    c->dead = true;
    STAILQ_INSERT_TAIL(&l->dead, c, queued);
    loop_arm(l);
}

static enum ao_verdict in_closed(struct connection *c)
{
    if (c->gone_reported && c->in_flight + c->polls == 0 && !c->dead)
        free_later(c);
    return AO_DONE;
}

static enum ao_verdict step_by_state(struct connection *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HANDSHAKE:
        return in_handshake(c);
    case CONN_OPEN:
        return in_open(c);
    case CONN_DRAINING:
        return in_draining(c);
    case CONN_FLUSHING:
        return in_flushing(c);
    case CONN_LINGERING:
        return in_lingering(c);
    case CONN_CLOSED:
        return in_closed(c);
    }
    __builtin_unreachable();
}

/* In any state: a notification has no answer to wait for, and its connection may have closed.  But
 * first the port is informed of that, which may end the notification. */
static enum ao_verdict step_in_parts(struct connection *c)
{
    if (c->ready & (STREAM_WRITE | STREAM_CLOSED))
        hear(c);
    if (c->in_parts && (c->gone_reported || !c->gone_due))
        input_run_part(c);
    return AO_AGAIN;
}

/* Here, since a port may close the connection while it reads a message. */
static void drop_input(struct connection *c)
{
    output_keep(c);
    if (c->partial != NULL)
        input_drop(c);
}

static enum ao_verdict conn_step(struct ao *self)
{
    struct connection *c = ao_of(self, struct connection, ao);

    if (renewal_due(c))
        renewal_of(c);
    if (timed_out(c))
        time_out(c);
    enum ao_verdict verdict = c->in_parts ? step_in_parts(c) : step_by_state(c);
    if (c->state != CONN_OPEN)
        drop_input(c);
    if (c->gone_due && !c->gone_reported) {
        report_in_turn(c);
        verdict = AO_AGAIN;
    }
    return verdict;
}

/* --- For the loop --- */

static const struct ao_class conn_class = {.name = "connection", .step = conn_step};

struct connection *conn_new(struct net_loop *l, struct conn_slot *slot)
{
    struct connection *c = calloc(1, sizeof *c);

    assert(slot->connection == NULL);
    if (c == NULL)
        return NULL;
    ao_init(&c->ao, &conn_class, l->activator);
    c->loop = l;
    c->generation = l->generation;
    c->slot = slot;
    c->mode.raw = slot->rules->raw;
    c->accepted = c->since = activator_now(l->activator);
    c->limited = conn_time_limit(c) > 0;
    if (!unauthenticated_add(c)) {
        ao_fini(&c->ao);
        free(c);
        return NULL;
    }
    slot->connection = c;
    LIST_INSERT_HEAD(&l->all, c, link);
    conn_count(c, 1);
    counter_add(&l->counters.connections, 1);
    counter_add(&l->counters.accepted, 1);
    recorder_note(activator_recorder(l->activator), RECORDER_OPENED, conn_id(c));
    log_debug("connected", LOG_UINT("conn", conn_id(c)), LOG_PEER("peer", conn_peer(c)),
              LOG_STR("listener", slot->rules->url));
    return c;
}

void conn_start(struct connection *c)
{
    ao_activate(&c->ao);
}

void conn_free(struct connection *c)
{
    struct net_loop *l = c->loop;

    TRACE(l->activator, "conn", conn_id(c), "freed");
    assert(c->state == CONN_CLOSED && c->gone_reported);
    assert(l->closing || (!c->dirty && c->in_flight + c->polls == 0));
    conn_count(c, -1);
    walks_leave(l, c);
    LIST_REMOVE(c, link);
    if (ao_state(&c->ao) != AO_STATE_INACTIVE)
        ao_deactivate(&c->ao);
    c->outside = 0; /* of calls that end with the loop */
    input_drop(c);
    assert(c->charged == 0); /* of the tally that is closed next */
    cold_free(c);
    shared_principals_release(&l->principals, c->principal);
    tally_close(c->tally);
    c->slot->connection = NULL;
    conn_slot_return(c->slot, l->to_acceptor);
    ao_fini(&c->ao);
    free(c);
}

void conn_drain(struct connection *c)
{
    c->drain = true;
    if (c->state == CONN_HANDSHAKE)
        conn_enter(c, CONN_CLOSED, "server drains");
    else if (conn_open(c))
        conn_kick(c);
}

void conn_drop(struct connection *c)
{
    conn_abort(c, "server ends");
    if (!c->gone_reported || c->in_flight + c->polls > 0)
        report_gone(c);
    conn_free(c);
}
