#include "server/jobs/core/job_trace.h"

#include <stdlib.h>

struct job_trace *job_trace_new(const struct trace_link *link)
{
    struct job_trace *trace = malloc(sizeof *trace + link->state.len);
    if (!trace)
        return NULL;
    if (link->state.len > 0)
        memcpy(trace->state, link->state.at, link->state.len);
    trace->link = (struct trace_link){link->context, span_of(trace->state, link->state.len)};
    trace->queued = 0;
    trace->told = false;
    traceparent_text(&link->context, trace->text);
    return trace;
}

size_t job_trace_bytes(const struct job_trace *trace)
{
    return sizeof *trace + trace->link.state.len;
}
