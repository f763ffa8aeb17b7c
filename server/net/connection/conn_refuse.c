#include "server/net/connection/conn_refuse.h"

#include <stdio.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/net/connection/conn_private.h"

enum { ERROR_ROOM = 256 }; /* bytes of a whole error response */

static void answer_error(struct connection *c, struct span msgid, enum ergon_error code,
                         const char *text)
{
    uint8_t *p = conn_reserve(c, ERROR_ROOM);

    if (p == NULL)
        return;
    struct error_answer error = {.code = code, .text = span_text(text)};
    conn_commit(
        c, enc_error_response(p, ERROR_ROOM, msgid, (enum error_shape)c->mode.error_shape, &error));
}

void refuse_message(struct connection *c, struct span msgid, const char *why)
{
    counter_add(&c->loop->counters.protocol_errors, 1);
    answer_error(c, msgid, ERGON_E_BAD_REQUEST, why);
}

void refuse_connection(struct connection *c, const char *why)
{
    counter_add(&c->loop->counters.protocol_errors, 1);
    conn_close(c, why);
}

/* The id of a request of which only the front is there. */
static bool request_head(struct span bytes, struct span *msgid)
{
    struct reader r = reader_of(bytes);
    uint32_t count;
    uint64_t type;
    uint64_t id;

    if (!read_array(&r, &count) || count != 4 || !read_uint(&r, &type) || type != 0)
        return false;
    const uint8_t *at = r.at;
    if (!read_uint(&r, &id))
        return false;
    *msgid = span_of(at, (size_t)(r.at - at));
    return true;
}

void refuse_input(struct connection *c, enum scan_verdict verdict, struct span bytes)
{
    const struct scan_limits *limits = &c->loop->limits.scan;
    char text[96];
    struct span msgid;

    if (verdict != SCAN_MALFORMED && request_head(bytes, &msgid)) {
        if (verdict == SCAN_TOO_DEEP)
            snprintf(text, sizeof text, "the message nests deeper than %u levels; send it flatter",
                     limits->depth_max);
        else
            snprintf(text, sizeof text, "the message is longer than %u bytes; send it in parts",
                     limits->message_max);
        answer_error(c, msgid, ERGON_E_TOO_LARGE, text);
    }
    refuse_connection(c, scan_verdict_text(verdict));
}
