/* A connection that serves: what is different from others while it does, and whether its peer's
 * machine is still there.
 *
 * While nothing is unacknowledged the system asks the peer's (keepalive), and a peer that does not
 * answer is reset.  While some bytes are, the system repeats those instead, for a quarter of an
 * hour: so the connection itself checks for this case.  A peer that reads nothing, so that its
 * window is full, is slow and not lost: its system answers the questions whether there is room
 * (window probes).  That is why there is no TCP_USER_TIMEOUT, which makes no difference between the
 * two. */
#include "server/net/connection/serving.h"

#include <assert.h>
#include <errno.h>

#include "server/net/connection/holdings.h"
#include "server/runtime/object/trace.h"

enum {
    /* bytes, beyond the limit of output, of refusals of what the peer asks and does not read */
    REFUSALS_MAX = 65536,
    /* Of the time that a peer may be silent: looks in it, and how it is asked.  A third without a
     * word, then as many asks as fit into the rest. */
    LOOKS = 5,
    QUIET = 3,
    ASKS = 3
};

/* --- Whether it serves --- */

static unsigned seconds(ao_time t)
{
    return t < AO_S(1) ? 1 : (unsigned)(t / AO_S(1));
}

static void ask_often(struct connection *c)
{
    ao_time silence = c->loop->limits.silence;
    const struct stream_asks asks = {
        .quiet = seconds(silence / QUIET), .interval = seconds(silence / LOOKS), .count = ASKS};

    if (silence > 0 && c->stream.cls->ask_often)
        c->stream.cls->ask_often(&c->stream, &asks);
}

static void begin(struct connection *c)
{
    assert(c->cold->uses & COLD_SERVICE);
    TRACE(c->loop->activator, "conn", conn_id(c), "serves");
    c->serves = true;
    c->reserve = 0;
    c->unread = false;
    c->limited = conn_time_limit(c) > 0;
    ask_often(c);
    holdings_go_by_service(c);
    conn_kick(c); /* it may be stopped */
}

/* Where no part of the server uses its counts any more. */
static void end_use(struct connection *c)
{
    if (c->cold && !c->serves && !c->cold->service) {
        c->cold->handed = 0;
        cold_end(c, COLD_SERVICE);
    }
}

bool conn_serve(struct connection *c, bool on)
{
    bool may = conn_open(c) && !c->drain && !c->loop->draining;

    if (on && !c->serves && may && cold_begin(c, COLD_SERVICE))
        begin(c);
    if (on || !c->serves)
        return on == c->serves;
    serving_end(c);
    c->since = activator_now(c->loop->activator);
    c->limited = conn_time_limit(c) > 0;
    holdings_go_by_service(c);
    conn_kick(c); /* its time limit counts, and a drain closes it */
    end_use(c);
    return true;
}

bool conn_serves(const struct connection *c)
{
    return c->serves;
}

void *conn_service(const struct connection *c)
{
    return c->cold ? c->cold->service : NULL;
}

bool conn_set_service(struct connection *c, void *service)
{
    if (service ? !cold_begin(c, COLD_SERVICE) : !c->cold)
        return !service;
    c->cold->service = service;
    end_use(c);
    return true;
}

const char *conn_why(const struct connection *c)
{
    if (c->stream.error == ECONNRESET || c->stream.error == EPIPE)
        return "the connection was reset";
    if (c->stream.error == ETIMEDOUT)
        return "its machine does not answer";
    return c->cold && c->cold->why ? c->cold->why : "it has closed its side of the connection";
}

/* --- Its output --- */

uint64_t conn_committed(const struct connection *c)
{
    return conn_handed(c) + c->out.bytes;
}

uint64_t conn_handed(const struct connection *c)
{
    return c->cold ? c->cold->handed : 0;
}

bool conn_output_full(const struct connection *c)
{
    return output_bytes(c) >= c->loop->limits.output_max;
}

void conn_await_room(struct connection *c)
{
    if (conn_open(c) && !c->serves)
        c->stopped = true;
}

/* `left`: ns until it counts as lost, if it stays silent. */
static ao_time next_look(const struct connection *c, ao_time left)
{
    ao_time interval = c->loop->limits.silence / LOOKS;

    return activator_now(c->loop->activator) + (left > 0 && left < interval ? left : interval);
}

void serving_wrote(struct connection *c)
{
    const struct conn_port *port = &c->loop->port;

    assert(c->serves && c->cold->uses & COLD_SERVICE);
    if (!c->looks && c->loop->limits.silence > 0 && c->stream.cls->unheard) {
        c->looks = true;
        c->cold->look_at = next_look(c, 0);
        conn_kick(c); /* its step sets the alarm */
    }
    if (port->flushed)
        port->flushed(port->arg, c);
}

/* --- What its peer asks --- */

static bool has_room(const struct connection *c)
{
    return c->in_flight < c->loop->limits.in_flight && !c->heavy && !conn_output_full(c) &&
           !holdings_lack(c);
}

enum ergon_error serving_refuses(const struct connection *c, const struct envelope *e)
{
    const struct conn_port *port = &c->loop->port;

    if (!c->drain && has_room(c))
        return ERGON_OK;
    if (port->harmless && port->harmless(port->arg, e))
        return ERGON_OK;
    return c->drain ? ERGON_E_DRAINING : ERGON_E_BUSY;
}

bool serving_overflows(const struct connection *c)
{
    return output_bytes(c) >= c->loop->limits.output_max + REFUSALS_MAX;
}

/* --- The server's drain --- */

void serving_drains(struct connection *c)
{
    struct net_loop *l = c->loop;

    assert(c->serves && c->cold->uses & COLD_SERVICE);
    if (c->cold->stays || c->in_flight + c->polls > 0)
        return;
    c->cold->stays = true;
    atomic_fetch_add_explicit(&l->staying, 1, memory_order_relaxed);
    if (l->to_acceptor)
        ao_post(l->to_acceptor->handle, AO_POST_MESSAGE);
}

/* --- Whether its peer is there --- */

bool serving_look(struct connection *c)
{
    struct stream_silence s = {0};
    ao_time silence = c->loop->limits.silence;
    struct conn_cold *cold = c->cold;
    bool was_unheard = cold->unheard;

    bool tells = c->stream.cls->unheard(&c->stream, &s);
    cold->unheard = tells && s.asked;
    c->looks = tells && (s.asked || s.waits || output_bytes(c) > 0);
    cold->look_at = next_look(c, cold->unheard && s.since < silence ? silence - s.since : 0);
    cold->silent = was_unheard && cold->unheard && s.since >= silence;
    return cold->silent;
}
