#include "server/tasks/task_trace.h"

#include "server/tasks/attempt.h"
#include "server/tracing/tracer.h"

static struct task_trace *make(struct task *t, const struct trace_link *link)
{
    struct task_trace *trace = task_alloc(t, sizeof *trace + link->state.len);
    if (!trace)
        return NULL;
    uint8_t *state = (uint8_t *)(trace + 1);
    if (link->state.len > 0)
        memcpy(state, link->state.at, link->state.len);
    *trace = (struct task_trace){.link = {link->context, span_of(state, link->state.len)}};
    return trace;
}

/* What the call passes on is its own span. */
static void begin_span(struct task_trace *trace, const struct task *t, struct tracer *tracer)
{
    trace->tracer = tracer;
    trace->method = t->method;
    trace->nested = t->depth > 0;
    memcpy(trace->parent, trace->link.context.span, SPAN_ID_LEN);
    tracer_span_id(trace->link.context.span);
    trace->began = tracer_now();
}

bool task_join_trace(struct task *t, const struct trace_link *link, struct tracer *tracer)
{
    if (!trace_context_is(&link->context))
        return true;
    struct task_trace *trace = make(t, link);
    if (!trace)
        return false;
    if (tracer_wants(tracer, &link->context))
        begin_span(trace, t, tracer);
    if (task_is(t, TASK_ATTEMPT))
        t->attempt->trace = trace;
    else
        t->trace = trace;
    task_set(t, TASK_TRACED);
    return true;
}

const struct task_trace *task_trace(const struct task *t)
{
    if (!task_is(t, TASK_TRACED))
        return NULL;
    return task_is(t, TASK_ATTEMPT) ? t->attempt->trace : t->trace;
}

struct trace_link task_trace_link(const struct task *t)
{
    const struct task_trace *trace = task_trace(t);
    return trace ? trace->link : (struct trace_link){0};
}

void task_trace_end(const struct task_trace *trace, const struct outcome *outcome)
{
    if (!trace || !trace->tracer)
        return;
    bool failed = outcome->error != ERGON_OK;
    const char *code = failed && outcome->code ? outcome->code : error_name(outcome->error);
    const struct otlp_attribute attributes[] = {
        {.key = "rpc.system", .text = span_text("msgpack-rpc")},
        {.key = "rpc.method", .text = trace->method->name},
        {.key = "error.type", .text = span_text(code)}}; /* the last, of one that failed alone */
    struct otlp_span span = {.context = trace->link.context,
                             .parent_remote = !trace->nested,
                             .state = trace->link.state,
                             .name = trace->method->name,
                             .kind = trace->nested ? OTLP_INTERNAL : OTLP_SERVER,
                             .start = trace->began,
                             .end = tracer_now(),
                             .attributes = attributes,
                             .attribute_count = failed ? 3 : 2,
                             .failed = failed,
                             .error = failed ? outcome->text : (struct span){0}};
    memcpy(span.parent, trace->parent, SPAN_ID_LEN);
    tracer_add(trace->tracer, &span);
}
