/* The trace that a task belongs to: what it inherited, and passes on to what it calls and to the
 * worker that runs it; and, of a call in a sampled trace, the span that it is.  A task of which
 * nobody asked for it has none.  The spans of attempts are the jobs' affair.
 *
 * Thread: the task's owner, but where a function says otherwise. */
#ifndef ERGON_TASKS_TASK_TRACE_H
#define ERGON_TASKS_TASK_TRACE_H

#include "proto/traceparent.h"
#include "server/tasks/task.h"

struct tracer; /* server/tracing/tracer.h */

/* The task's own; it lives as long, and stays as it is. */
struct task_trace {
    struct trace_link link; /* what it passes on */
    struct tracer *tracer;  /* that gets its span; NULL: it has none, and the rest is void */
    const struct method *method;
    uint64_t began; /* Unix ns */
    uint8_t parent[SPAN_ID_LEN];
    bool nested;
};

/* The task belongs to this trace from now on, unless the link has none; its text is copied.  Before
 * it has begun, once.  `tracer`: of a call, whose span begins; NULL where spans go nowhere, and of
 * an attempt.  False without memory. */
bool task_join_trace(struct task *t, const struct trace_link *link, struct tracer *tracer);

/* NULL: it belongs to none.  Any thread, while the task is there. */
const struct task_trace *task_trace(const struct task *t);

/* What a task that this one calls is to join: of a task without a trace one without a context. */
struct trace_link task_trace_link(const struct task *t);

/* The call is answered so: its span ends, if it has one.  Once, by the thread that answers; its
 * executor may still have the task. */
void task_trace_end(const struct task_trace *trace, const struct outcome *outcome);

#endif
