#include "server/net/connection/oversight.h"

#include "server/net/connection/conn_private.h"
#include "server/net/holdings.h"
#include "server/net/stream/tls.h"

static uint64_t of_principal(const struct connection *c)
{
    return c->tally == NULL ? 0
                            : atomic_load_explicit(&c->tally->account->bytes, memory_order_relaxed);
}

void conn_figures(const struct connection *c, struct conn_figures *out)
{
    ao_time now = activator_now(c->loop->activator);

    *out = (struct conn_figures){
        .now = now,
        .state = conn_state_names[c->state],
        .listener = c->slot->rules->url,
        .tls = tls_version(&c->stream),
        .age = now - c->accepted,
        .idle = now - c->since,
        .in_flight = c->in_flight,
        .polls = c->polls,
        .messages = c->messages,
        .partial = c->partial == NULL ? 0 : partial_span(c->partial).len,
        .output = output_bytes(c),
        .bytes = conn_bytes(c),
        .principal_bytes = of_principal(c),
        .stopped = c->stopped,
    };
}

void conn_kill(struct connection *c, const char *why)
{
    if (c->state == CONN_CLOSED)
        return;
    c->killed = true;
    CONN_LOG(info, "connection closed", c, why);
    conn_abort(c, why);
}

bool conn_was_killed(const struct connection *c)
{
    return c->killed;
}
