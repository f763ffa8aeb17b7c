/* The beginning of a common message as a function for one hot place, which wants it inline: see
 * scanner_inline.h.  All others call envelope_begin(), which is the same.
 *
 * Pure, as envelope.h says. */
#ifndef ERGON_PROTO_ENVELOPE_INLINE_H
#define ERGON_PROTO_ENVELOPE_INLINE_H

#include "proto/envelope.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "proto/wire.h"

enum { REQUEST_PARTS = 4, RESPONSE_PARTS = 4 };

/* Bytes of the number at the cursor when it is an integer of 0 or more, in any encoding; else 0. */
static inline size_t envelope_natural_length(const struct reader *r)
{
    if (reader_at_end(r))
        return 0;
    uint8_t first = *r->at;
    if (first < WIRE_FIXMAP)
        return 1;
    if (first < WIRE_UINT8 || first > WIRE_INT64)
        return 0;
    size_t len = wire_hints[first];
    bool negative = first >= WIRE_INT8 && (r->at[1] & 0x80) != 0;
    return negative ? 0 : len;
}

/* Field by field: clearing all of it would cost as much as the reading. */
static inline void envelope_empty(struct envelope *out)
{
    out->type = ENVELOPE_REQUEST;
    out->msgid.len = 0;
    out->method.len = 0;
    out->params.len = 0;
    out->error.len = 0;
    out->result.len = 0;
}

/* [0, msgid, method: fixarray, fixint, any natural number, fixstr.  [1, msgid, nil: the same, of
 * what has not failed. */
static inline __attribute__((always_inline)) bool
envelope_begin_inline(struct span bytes, const struct scan_limits *limits, struct scanner *scanner,
                      struct envelope *out)
{
    enum { BEFORE_MSGID = 2, LONGEST = BEFORE_MSGID + MSGID_MAX + 1 };

    if (bytes.len < LONGEST || bytes.at[0] != (WIRE_FIXARRAY | REQUEST_PARTS) ||
        bytes.at[1] > ENVELOPE_RESPONSE || limits->depth_max == 0)
        return false;
    struct reader r = reader_of(bytes);
    r.at += BEFORE_MSGID;
    size_t id = envelope_natural_length(&r);
    uint8_t third = r.at[id];
    bool request = bytes.at[1] == ENVELOPE_REQUEST;
    size_t name = request ? third & ~(unsigned)WIRE_FIXSTR : 0;
    size_t head = BEFORE_MSGID + id + 1 + name;
    if (id == 0 || (request ? third < WIRE_FIXSTR || third >= WIRE_NIL : third != WIRE_NIL) ||
        bytes.len < head || limits->message_max <= head)
        return false;
    envelope_empty(out);
    out->msgid = span_of(r.at, id);
    if (request) {
        out->method = span_of(r.at + id + 1, name);
    } else {
        out->type = ENVELOPE_RESPONSE;
        out->error = span_of(r.at + id, 1);
    }
    scanner_init_last(scanner, (uint32_t)head);
    return true;
}

#endif
