/* What a collector's answer says in protobuf: an ExportTraceServiceResponse, of a request that it
 * took, or a google.rpc.Status, of one that it refused.  Both may have a text for people.
 *
 * Pure; any thread. */
#ifndef ERGON_TRACING_OTLP_ANSWER_H
#define ERGON_TRACING_OTLP_ANSWER_H

#include "base/span.h"

struct otlp_answer {
    uint64_t rejected; /* spans, of a request that was taken otherwise */
    struct span text;  /* in the body, unchanged; empty: none */
};

/* Of a body with the status 200; fields that are not known are passed over.  False: it is no such
 * message, and *out is as of an empty one. */
bool otlp_answer_read(struct span body, struct otlp_answer *out);

/* The same of one that refuses: its text alone. */
bool otlp_refusal_read(struct span body, struct otlp_answer *out);

#endif
