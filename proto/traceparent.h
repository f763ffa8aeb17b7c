/* The context of a trace, as W3C Trace Context writes it: which trace a call belongs to, and which
 * span of it is the parent.  Any thread: pure.
 *
 * A `traceparent` is "00-" and 32 hexadecimal digits of the trace, "-" and 16 of the parent's span,
 * "-" and two of flags.  A later version than 00 may say more behind another "-", which is left
 * out: what is passed on is of version 00.  A `tracestate` is text of others, passed on as it is.
 */
#ifndef ERGON_PROTO_TRACEPARENT_H
#define ERGON_PROTO_TRACEPARENT_H

#include "base/span.h"

enum {
    TRACEPARENT_LEN = 55,
    TRACEPARENT_SIZE = TRACEPARENT_LEN + 1,
    TRACEPARENT_LONGEST = 512, /* bytes, of a later version */
    TRACESTATE_MAX = 512,      /* bytes */
    TRACE_ID_LEN = 16,
    SPAN_ID_LEN = 8
};

enum trace_flag { TRACE_SAMPLED = 1 };

struct trace_context {
    uint8_t trace[TRACE_ID_LEN]; /* all zero: there is no context */
    uint8_t span[SPAN_ID_LEN];
    uint8_t flags; /* enum trace_flag; others are passed on */
};

/* How work is linked to a trace. */
struct trace_link {
    struct trace_context context; /* or none */
    struct span state;            /* its tracestate; empty: none */
};

bool trace_context_is(const struct trace_context *context); /* is there one? */

static inline bool trace_context_sampled(const struct trace_context *context)
{
    return context->flags & TRACE_SAMPLED;
}

/* False: the text is none, and `out` is as it was.  None is also what has version ff, digits that
 * are no lower-case hexadecimal ones, or a trace or span that is all zeroes. */
bool traceparent_parse(struct span text, struct trace_context *out);

/* Writes it, with the terminator; returns `buf`. */
const char *traceparent_text(const struct trace_context *context,
                             char buf[static TRACEPARENT_SIZE]);

/* May it be passed on?  One to TRACESTATE_MAX bytes that are printable ASCII.  What its list says
 * is nobody's affair here. */
bool tracestate_valid(struct span text);

#endif
