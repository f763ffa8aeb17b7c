/* How long a connection may be in a state. */
#include "server/net/connection/conn_private.h"
#include "base/log.h"

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
    case CONN_HANDSHAKE:
        return c->loop->limits.handshake_timeout;
    case CONN_OPEN:
    case CONN_DRAINING:
        return idle_limit(c);
    case CONN_FLUSHING:
        return FLUSH_TIME;
    case CONN_LINGERING:
        return LINGER_TIME;
    case CONN_CLOSED:
        return 0;
    }
    __builtin_unreachable();
}

static const char *time_out_text(const struct connection *c)
{
    return c->state == CONN_HANDSHAKE  ? "handshake took too long"
           : c->state == CONN_FLUSHING ? "peer does not read"
           : conn_answerable(c)        ? "idle for too long"
                                       : "peer does not close";
}

static void end_of_time(struct connection *c)
{
    const char *why = time_out_text(c);

    log_info("connection closed", LOG_UINT("conn", conn_id(c)), LOG_STR("peer", conn_peer(c)),
             LOG_STR("reason", why));
    conn_abort(c, why);
}

static bool timed_out(struct connection *c)
{
    ao_time limit = conn_time_limit(c);

    if (limit == 0)
        return false;
    ao_time now = activator_now(c->loop->activator);
    if (conn_answerable(c) && c->in_flight + c->polls > 0)
        c->since = now;
    return now - c->since >= limit;
}

void conn_check_time(struct connection *c)
{
    if (timed_out(c))
        end_of_time(c);
}
