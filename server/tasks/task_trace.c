#include "server/tasks/task_trace.h"

#include "server/tasks/attempt.h"

static struct task_trace *make(struct task *t, const struct trace_link *link)
{
    struct task_trace *trace = task_alloc(t, sizeof *trace + link->state.len);
    if (!trace)
        return NULL;
    uint8_t *state = (uint8_t *)(trace + 1);
    if (link->state.len > 0)
        memcpy(state, link->state.at, link->state.len);
    trace->link = (struct trace_link){link->context, span_of(state, link->state.len)};
    return trace;
}

bool task_join_trace(struct task *t, const struct trace_link *link)
{
    if (!trace_context_is(&link->context))
        return true;
    struct task_trace *trace = make(t, link);
    if (!trace)
        return false;
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
