/* The trace that a task belongs to: what it inherited, and passes on to what it calls and to the
 * worker that runs it.  A task of which nobody asked for it has none.
 *
 * Thread: the task's owner. */
#ifndef ERGON_TASKS_TASK_TRACE_H
#define ERGON_TASKS_TASK_TRACE_H

#include "proto/traceparent.h"
#include "server/tasks/task.h"

/* The task's own; it lives as long. */
struct task_trace {
    struct trace_link link; /* what it passes on */
};

/* The task belongs to this trace from now on, unless the link has none; its text is copied.  Before
 * it has begun, once.  False without memory. */
bool task_join_trace(struct task *t, const struct trace_link *link);

/* NULL: it belongs to none. */
const struct task_trace *task_trace(const struct task *t);

/* What a task that this one calls is to join: of a task without a trace one without a context. */
struct trace_link task_trace_link(const struct task *t);

#endif
