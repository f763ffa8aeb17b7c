#include "server/net/connection/closing.h"
#include "server/net/connection/conn_output.h"

#include <assert.h>

#include "proto/encoder.h"

/* In a form that peers of 2013 read, too. */
static uint8_t *put_text(uint8_t *p, const char *text)
{
    size_t len = strlen(text);

    p = enc_raw_head(p, (uint32_t)len);
    memcpy(p, text, len);
    return p + len;
}

uint8_t *closing_put(uint8_t *p, enum ergon_error code, const char *why)
{
    assert(strlen(why) < CLOSING_ROOM / 2);
    p = put_text(enc_uint(enc_array(p, 3), 2), "server.closing");
    return put_text(put_text(enc_array(p, 2), error_name(code)), why);
}

/* To a node: how many messages were read, so that it knows which were not. */
static void tell_node(struct connection *c, enum ergon_error code, const char *why)
{
    uint8_t *p = conn_reserve(c, CLOSING_ROOM);

    if (p == NULL)
        return;
    p = put_text(enc_uint(enc_array(p, 3), 2), "server.closing");
    p = put_text(put_text(enc_array(p, 3), error_name(code)), why);
    conn_commit(c, enc_uint(p, c->messages));
}

void conn_say_closing(struct connection *c, enum ergon_error code, const char *why)
{
    if (conn_vouched(c) != NULL) {
        tell_node(c, code, why);
        return;
    }
    uint8_t *p = c->mode.push ? conn_reserve(c, CLOSING_ROOM) : NULL;

    if (p != NULL)
        conn_commit(c, closing_put(p, code, why));
}

void conn_evict(struct connection *c, const char *why)
{
    counter_add(&c->loop->counters.gave_way, 1);
    CONN_LOG(warn, "connection closed", c, why);
    if (conn_open(c)) {
        conn_say_closing(c, ERGON_E_BUSY, why);
        output_flush_last(c);
    }
    conn_abort(c, why);
}
