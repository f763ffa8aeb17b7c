#include "client/cli/trace.h"

#include <stdlib.h>

#include "proto/traceparent.h"

json_t *trace_parent(const char *text)
{
    struct trace_context context;
    return traceparent_parse(span_text(text), &context) ? json_string(text) : NULL;
}

json_t *trace_state(const char *text)
{
    return tracestate_valid(span_text(text)) ? json_string(text) : NULL;
}

void trace_inherit(json_t *options)
{
    const char *parent = getenv("TRACEPARENT"), *state = getenv("TRACESTATE");
    if (json_object_get(options, "traceparent") != NULL || parent == NULL)
        return;
    json_t *context = trace_parent(parent);
    if (context == NULL)
        return;
    json_object_set_new(options, "traceparent", context);
    if (state != NULL && tracestate_valid(span_text(state)))
        json_object_set_new(options, "tracestate", json_string(state));
}
