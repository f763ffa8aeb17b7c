#include "server/net/connection/give_way.h"

#include "proto/encoder.h"

enum { CLOSING_ROOM = 256 /* bytes of the notification */, ERROR_ROOM = CLOSING_ROOM - 32 };

/* Without an opt-in a peer gets nothing but answers: PROTOCOL.md, server.hello. */
static void tell(struct connection *c, const char *why)
{
    static const char method[] = "server.closing";
    const struct error_answer busy = {.code = ERGON_E_BUSY, .text = span_text(why)};

    if (!conn_open(c) || !c->mode.push)
        return;
    uint8_t *p = conn_reserve(c, CLOSING_ROOM);
    if (p == NULL)
        return;
    p = enc_uint(enc_array(p, 3), ENVELOPE_NOTIFICATION);
    p = enc_array(enc_str(p, span_text(method)), 1);
    conn_commit(c, enc_error(p, ERROR_ROOM, (enum error_shape)c->mode.error_shape, &busy));
    output_flush(c);
}

void conn_give_way(struct connection *c, const char *why)
{
    counter_add(&c->loop->counters.gave_way, 1);
    CONN_LOG(warn, "connection closed", c, why);
    tell(c, why);
    conn_abort(c, why);
}
