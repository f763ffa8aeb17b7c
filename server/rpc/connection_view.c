#include "server/rpc/connection_view.h"

#include "server/net/auth/principal.h"
#include "server/net/connection.h"
#include "server/net/connection/oversight.h"
#include "server/net/connection_rights.h"
#include "server/tasks/task.h"
#include "server/workers/workers.h"

/* --- Which are meant --- */

/* "10.0.0.7:4711" is at "10.0.0.7"; "[::1]:4711" at "[::1]", and at "::1". */
static bool is_at(struct span peer, struct span address)
{
    if (span_equal(peer, address))
        return true;
    while (peer.len > 0 && peer.at[peer.len - 1] != ':')
        peer.len--;
    if (peer.len == 0)
        return false;
    peer.len--;
    if (span_equal(peer, address))
        return true;
    return peer.len > 2 && peer.at[0] == '[' &&
           span_equal(span_of(peer.at + 1, peer.len - 2), address);
}

static bool is_principal(const struct connection *c, struct span name)
{
    const struct principal *p = conn_principal(c);

    return p && span_is(name, principal_name(p));
}

bool connection_fits(const struct connection_filter *f, struct connection *c)
{
    struct conn_figures n;

    if ((f->id && conn_id(c) != f->id) || (f->nobody && conn_principal(c)) ||
        (f->principal.len > 0 && !is_principal(c, f->principal)) ||
        (f->address.len > 0 && !is_at(span_text(conn_peer(c)), f->address)))
        return false;
    if (f->listener.len == 0 && f->idle == 0)
        return true;
    conn_figures(c, &n);
    return (f->listener.len == 0 || span_is(f->listener, n.listener)) &&
           (f->idle == 0 || (n.idle >= f->idle && n.in_flight + n.polls == 0));
}

bool connection_filter_is_empty(const struct connection_filter *f)
{
    return f->id == 0 && f->principal.len == 0 && f->address.len == 0 && f->listener.len == 0 &&
           f->idle == 0 && !f->nobody;
}

/* --- What is shown --- */

static struct span method_of(const struct call *c)
{
    return c->task ? c->task->method->name : span_text(c->name);
}

/* The list has the newest first: the last ones have gone on longest. */
static uint32_t pack_calls(struct pack *p, const struct call *list, ao_time now)
{
    const struct call *oldest[CALLS_SHOWN];
    uint32_t count = 0;

    for (const struct call *c = list; c; c = c->next)
        oldest[count++ % CALLS_SHOWN] = c;
    uint32_t shown = count < CALLS_SHOWN ? count : CALLS_SHOWN;
    pack_str(p, "calls");
    pack_array(p, shown);
    for (uint32_t i = 1; i <= shown; i++) {
        const struct call *c = oldest[(count - i) % CALLS_SHOWN];
        pack_map(p, 3);
        pack_key_span(p, "method", method_of(c));
        pack_key_uint(p, "age_ms", (now - c->began) / AO_MS(1));
        pack_key_bool(p, "notification", c->msgid_len == 0);
    }
    return count;
}

static uint32_t workers_of(struct connection *c)
{
    const struct worker_link *link = conn_service(c);
    uint32_t count = 0;

    for (const struct worker *w = link ? link->first : NULL; w; w = w->next)
        count += w->counted;
    return count;
}

uint32_t connection_pack(struct pack *p, struct connection *c)
{
    const struct principal *who = conn_principal(c);
    struct conn_figures n;

    conn_figures(c, &n);
    pack_map(p, 19);
    pack_key_uint(p, "id", conn_id(c));
    pack_key_str(p, "peer", conn_peer(c));
    pack_key_str(p, "via", conn_via(c));
    pack_key_str(p, "principal", who ? principal_name(who) : NULL);
    pack_key_str(p, "listener", n.listener);
    pack_key_str(p, "tls", n.tls);
    pack_key_str(p, "state", n.state);
    pack_key_uint(p, "age_ms", n.age / AO_MS(1));
    pack_key_uint(p, "idle_ms", n.idle / AO_MS(1));
    pack_key_uint(p, "in_flight", n.in_flight);
    pack_key_uint(p, "polls", n.polls);
    pack_key_uint(p, "workers", workers_of(c));
    pack_key_uint(p, "messages", n.messages);
    pack_key_uint(p, "partial_bytes", n.partial);
    pack_key_uint(p, "output_bytes", n.output);
    pack_key_uint(p, "bytes", n.bytes);
    pack_key_uint(p, "principal_bytes", n.principal_bytes);
    pack_key_bool(p, "stopped", n.stopped);
    return pack_calls(p, *conn_user(c), n.now);
}
