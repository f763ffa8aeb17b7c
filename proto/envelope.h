/* The MessagePack-RPC envelope, read by hand from a value that the scanner has passed.
 *
 *   request       [0, msgid, method, params]
 *   response      [1, msgid, error, result]
 *   notification  [2, method, params]
 *
 * Outer headers of any width and integers of any encoding are accepted; the message id is kept as
 * the bytes that came, so that it goes back byte for byte.  A method is str or bin.  Pure, any
 * thread; all spans point into the message. */
#ifndef ERGON_PROTO_ENVELOPE_H
#define ERGON_PROTO_ENVELOPE_H

#include "base/span.h"
#include "proto/scanner.h"

enum {
    METHOD_NAME_MAX = 256, /* bytes */
    MSGID_MAX = 9,         /* bytes */
    ERROR_ELEMENTS = 4096  /* of the error of a response, however nested */
};

enum envelope_type { ENVELOPE_REQUEST = 0, ENVELOPE_RESPONSE = 1, ENVELOPE_NOTIFICATION = 2 };

enum envelope_verdict {
    ENVELOPE_OK,
    /* Not a valid request, but its id is readable: answer BAD_REQUEST, go on. */
    ENVELOPE_ANSWERABLE,
    /* Nobody could match an answer: close with a log line. */
    ENVELOPE_UNANSWERABLE
};

struct envelope {
    enum envelope_type type;
    struct span msgid;  /* raw bytes of the id, 1 to MSGID_MAX; empty for a notification */
    struct span method; /* the name itself, without its header */
    /* Raw: one whole MessagePack value.  An array as a rule; any other value x stands for [x], nil
     * for []. */
    struct span params;
    struct span error;  /* raw; responses only */
    struct span result; /* raw; responses only */
};

/* Reads the first three parts of a request, or of a response without an error, in their most common
 * encoding, when they stand at the front of `bytes` and keep to the limits: then the scanner, which
 * is at its start, goes on behind them, and the last part is envelope_end()'s once it is whole.
 * False: nothing has happened. */
bool envelope_begin(struct span bytes, const struct scan_limits *limits, struct scanner *scanner,
                    struct envelope *out);

/* `message` is whole, and began so: its params, or its result, are what is left of it. */
static inline void envelope_end(struct envelope *e, struct span message)
{
    bool request = e->type == ENVELOPE_REQUEST;
    struct span before = request ? e->method : e->error;
    const uint8_t *last = before.at + before.len;

    *(request ? &e->params : &e->result) = span_of(last, (size_t)(message.at + message.len - last));
}

/* Does the response tell of an error?  One without has nil there. */
static inline bool envelope_is_error(const struct envelope *e)
{
    return e->error.len != 1 || e->error.at[0] != 0xc0;
}

/* Reads `message`, one whole value.  On a verdict other than ENVELOPE_OK, `*why` is a constant
 * text; with ENVELOPE_ANSWERABLE out->msgid is valid. */
enum envelope_verdict envelope_read(struct span message, struct envelope *out, const char **why);

#endif
