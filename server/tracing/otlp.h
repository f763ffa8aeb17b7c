/* Spans as OTLP has them: the protobuf encoding of opentelemetry.proto.trace.v1, as far as it is
 * used here.  Numbers of fields are those of its schema; what is zero or empty is left out.
 *
 * Pure; any thread. */
#ifndef ERGON_TRACING_OTLP_H
#define ERGON_TRACING_OTLP_H

#include "proto/traceparent.h"

enum otlp_kind { OTLP_INTERNAL = 1, OTLP_SERVER, OTLP_CLIENT, OTLP_PRODUCER, OTLP_CONSUMER };

struct otlp_attribute {
    const char *key;  /* of OpenTelemetry's semantic conventions, or of ergon.* */
    struct span text; /* `at` not NULL: its value; must be UTF-8 */
    int64_t number;   /* else this is */
};

struct otlp_span {
    struct trace_context context; /* its trace, its own id, its flags */
    uint8_t parent[SPAN_ID_LEN];  /* all zero: it is the first of its trace */
    bool parent_remote;           /* the parent is a span of another process */
    struct span state;            /* tracestate */
    const char *verb;             /* in front of the name, with a space; NULL: nothing */
    struct span name;             /* UTF-8 */
    enum otlp_kind kind;
    uint64_t start, end; /* Unix ns */
    const struct otlp_attribute *attributes;
    uint32_t attribute_count;
    bool failed;
    struct span error; /* of one that failed: for people, UTF-8 */
};

/* The span as a field of ScopeSpans, tag and length included: how many bytes that is; writes them.
 */
size_t otlp_span_size(const struct otlp_span *span);
void otlp_span_write(const struct otlp_span *span, uint8_t *out);

/* What a request says of all its spans. */
struct otlp_head {
    const struct otlp_attribute *resource; /* attributes of the process */
    uint32_t resource_count;
    const char *scope, *version; /* of the code that made the spans */
};

/* An ExportTraceServiceRequest of which the last `spans` bytes are those of otlp_span_write(), one
 * behind another: the bytes before them, how many, and written. */
size_t otlp_head_size(const struct otlp_head *head, size_t spans);
void otlp_head_write(const struct otlp_head *head, size_t spans, uint8_t *out);

#endif
