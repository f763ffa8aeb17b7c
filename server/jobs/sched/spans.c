#include "server/jobs/sched/spans.h"

#include <assert.h>

#include "server/jobs/core/ids.h"
#include "server/tracing/tracer.h"

/* Of the numbers from which ids are derived: the task's own; those of attempts count from 1. */
enum { OF_TASK = 0 };

static struct job_trace *trace_of(const struct job *job)
{
    return job->more ? job->more->trace : NULL;
}

/* NULL: no span is made of the job. */
static struct job_trace *told_trace_of(const struct scheduler *s, const struct job *job)
{
    struct job_trace *trace = trace_of(job);
    return trace && tracer_wants(s->tracer, &trace->link.context) ? trace : NULL;
}

bool spans_begin(struct scheduler *s, const struct job_spec *spec, uint64_t id,
                 struct job_spec *out)
{
    struct trace_context context;
    if (!s->tracer || trace_context_is(&spec->traceparent) || !tracer_begins(s->tracer, &context))
        return false;
    tracer_derive_id(&context, id, OF_TASK, context.span);
    *out = *spec;
    out->traceparent = context;
    return true;
}

const struct trace_link *spans_link(const struct scheduler *s, struct job *job)
{
    struct job_trace *trace = trace_of(job);
    if (!trace)
        return NULL;
    trace->passed = trace->link;
    if (told_trace_of(s, job))
        tracer_derive_id(&trace->link.context, job->id, (uint64_t)job->attempt + 1,
                         trace->passed.context.span);
    return &trace->passed;
}

bool spans_passed(const struct scheduler *s, const struct job *job, struct trace_link *out)
{
    const struct job_trace *trace = trace_of(job);
    if (!trace)
        return false;
    *out = trace->link;
    if (told_trace_of(s, job))
        tracer_derive_id(&trace->link.context, job->id, job->attempt, out->context.span);
    return true;
}

/* --- What all of them say --- */

enum { COMMON = 4, OWN_MAX = 5 };

struct told {
    struct otlp_span span;
    struct otlp_attribute attributes[COMMON + OWN_MAX];
    char id[ID_TEXT_SIZE];
};

static void add(struct told *t, const char *key, struct span text, int64_t number)
{
    assert(t->span.attribute_count < COMMON + OWN_MAX);
    t->attributes[t->span.attribute_count++] =
        (struct otlp_attribute){.key = key, .text = text, .number = number};
}

static void add_text(struct told *t, const char *key, const char *text)
{
    add(t, key, span_text(text), 0);
}

static void fail(struct told *t, const char *code, struct span text)
{
    t->span.failed = true;
    t->span.error = text;
    add_text(t, "error.type", code);
}

static void begin(struct told *t, const struct job *job, const struct job_trace *trace,
                  const char *verb)
{
    t->span = (struct otlp_span){.context = trace->link.context,
                                 .state = trace->link.state,
                                 .verb = verb,
                                 .name = job->queue->name,
                                 .kind = OTLP_INTERNAL,
                                 .attributes = t->attributes};
    tracer_derive_id(&trace->link.context, job->id, OF_TASK, t->span.parent);
    add_text(t, "messaging.system", "ergon");
    add(t, "messaging.destination.name", job->queue->name, 0);
    add_text(t, "messaging.message.id", id_text(job->id, t->id));
    if (job->is_message)
        add(t, "ergon.actor", message_actor(job), 0);
}

static void begin_attempt(struct told *t, const struct job *job, const struct job_trace *trace,
                          uint32_t attempt)
{
    const struct method *m = job->queue->method;
    begin(t, job, trace, "process");
    tracer_derive_id(&trace->link.context, job->id, attempt, t->span.context.span);
    t->span.kind = m && method_of_workers(m) ? OTLP_CLIENT : OTLP_CONSUMER;
    add_text(t, "messaging.operation.name", "process");
    add_text(t, "messaging.operation.type", "process");
    add(t, "ergon.task.attempt", (struct span){0}, attempt);
}

/* --- The spans --- */

void spans_began(struct scheduler *s, struct job *job)
{
    struct job_trace *trace = told_trace_of(s, job);
    struct told t;
    if (!trace || trace->queued == 0)
        return;
    begin(&t, job, trace, "wait");
    tracer_span_id(t.span.context.span);
    t.span.start = trace->queued < job->started ? trace->queued : job->started;
    t.span.end = job->started;
    add(&t, "ergon.task.attempt", (struct span){0}, job->attempt);
    tracer_add(s->tracer, &t.span);
    trace->queued = 0;
}

void spans_returned(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    struct job_trace *trace = told_trace_of(s, job);
    struct told t;
    if (!trace)
        return;
    begin_attempt(&t, job, trace, r->attempt);
    t.span.end = table_wall(s->table);
    t.span.start = r->attempt == job->attempt ? job->started : table_wall_of(s->table, r->began);
    if (t.span.start > t.span.end)
        t.span.start = t.span.end;
    if (r->loss != LOSS_NONE)
        fail(&t, error_name(ERGON_E_WORKER_LOST), r->why);
    else if (r->outcome->error != ERGON_OK)
        fail(&t, r->outcome->code ? r->outcome->code : error_name(r->outcome->error),
             r->outcome->text);
    tracer_add(s->tracer, &t.span);
}

void spans_interrupted(struct scheduler *s, struct job *job, const char *text)
{
    struct job_trace *trace = told_trace_of(s, job);
    struct told t;
    if (!trace || job->attempt == 0)
        return;
    begin_attempt(&t, job, trace, job->attempt);
    t.span.end = table_wall(s->table);
    t.span.start = job->started > 0 && job->started < t.span.end ? job->started : t.span.end;
    fail(&t, "INTERRUPTED", span_text(text));
    tracer_add(s->tracer, &t.span);
}

/* It is its own caller where the server began its trace. */
static void set_parent(struct otlp_span *span, const struct job_trace *trace)
{
    memcpy(span->context.span, span->parent, SPAN_ID_LEN);
    span->parent_remote = memcmp(trace->link.context.span, span->parent, SPAN_ID_LEN) != 0;
    if (span->parent_remote)
        memcpy(span->parent, trace->link.context.span, SPAN_ID_LEN);
    else
        memset(span->parent, 0, SPAN_ID_LEN);
}

static void fail_task(struct told *t, const struct job *job)
{
    const struct job_result *end = job->end;
    bool has_code = end && end->code;
    fail(t, has_code ? end->code : job_state_names[job->state],
         span_text(has_code && end->text ? end->text : ""));
}

void spans_ended(struct scheduler *s, struct job *job)
{
    struct job_trace *trace = told_trace_of(s, job);
    struct told t;
    if (!trace || trace->ended)
        return;
    trace->ended = true;
    begin(&t, job, trace, "task");
    set_parent(&t.span, trace);
    t.span.start = job->created;
    t.span.end = job->ended > job->created ? job->ended : job->created;
    add_text(&t, "ergon.task.state", job_state_names[job->state]);
    add(&t, "ergon.task.attempts", (struct span){0}, job->attempt);
    if (job->tenant->name.len > 0)
        add(&t, "ergon.task.tenant", job->tenant->name, 0);
    if (job->state != JOB_DONE && job->state != JOB_CANCELLED)
        fail_task(&t, job);
    tracer_add(s->tracer, &t.span);
}
