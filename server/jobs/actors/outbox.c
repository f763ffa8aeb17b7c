#include "server/jobs/actors/outbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/accessors.h"
#include "server/jobs/jobs.h"
#include "server/jobs/sched/spans.h"

enum { SEND_WORK = 20 /* of each; see jobs_worked() */ };

/* Everything of it that its options do not say. */
static struct job_spec spec_of(const struct actor *a, const struct turn_message *m)
{
    return (struct job_spec){JOB_SPEC_DEFAULTS, .method = m->method, .params = m->params,
                             .tenant = a->tenant->name, .actor = m->to};
}

static void set_durable(const struct jobs *jobs, struct job_spec *spec, bool is_durable)
{
    if (spec->said & 1u << JOB_OPTION_durable) {
        if (is_durable && spec->durable == DURABLE_ASYNC)
            spec->durable = DURABLE_FSYNC;
        return;
    }
    spec->durable = spec->actor.len > 0 || !jobs_store(jobs) ? DURABLE_NONE
                                                             : jobs_options(jobs)->default_durable;
}

static bool read_options(const struct actor *a, const struct turn_message *m, struct job_spec *spec,
                         struct refusal *why)
{
    const struct jobs *jobs = a->type->actors->jobs;
    const struct jobs_options *o = jobs_options(jobs);
    why->error = ERGON_E_BAD_CHANGES;
    if (m->options.len > 0 && !o->read_turn_options)
        return refusal_set(why, ERGON_E_BAD_CHANGES, "what a turn sends has no options here");
    if (m->options.len > 0 && !o->read_turn_options(m->options, spec, why->text, sizeof why->text))
        return false;
    if (!span_equal(spec->tenant, a->tenant->name))
        return refusal_set(why, ERGON_E_DENIED, "a turn sends for the tenant of its actor alone");
    set_durable(jobs, spec, actor_is_durable(a));
    return true;
}

/* The turn is the caller, unless the options name another. */
static void set_trace(const struct actor *a, const struct job *job, struct job_spec *spec)
{
    struct trace_link link;
    if (trace_context_is(&spec->traceparent) ||
        !spans_passed(jobs_scheduler(a->type->actors->jobs), job, &link))
        return;
    spec->traceparent = link.context;
    spec->tracestate = link.state;
}

static bool submit(struct actor *a, const struct job *job, const struct turn_message *m,
                   struct submitted *out, struct refusal *why)
{
    struct job_spec spec = spec_of(a, m);
    if (!read_options(a, m, &spec, why))
        return false;
    set_trace(a, job, &spec);
    why->error = job_submit(a->type->actors->jobs, &spec, NULL, out, why->text, sizeof why->text);
    return why->error == ERGON_OK;
}

/* Which of them it was, before what is wrong with it. */
static void name_it(const struct turn_message *m, struct refusal *why)
{
    char text[sizeof why->text];
    struct span to = m->to.len > 0 ? m->to : span_text("a task");
    int len = snprintf(text, sizeof text, "%.*s for %.*s, which the turn sends, is refused: %s",
                       (int)utf8_cut(m->method, 40).len, (const char *)m->method.at,
                       (int)utf8_cut(to, 60).len, (const char *)to.at, why->text);
    if (len > 0)
        refusal_set(why, why->error, text);
}

bool outbox_send(struct outbox *sent, struct actor *a, struct job *job,
                 const struct turn_messages *messages, struct refusal *why)
{
    *sent = (struct outbox){0};
    if (messages->count == 0)
        return true;
    sent->made = calloc(messages->count, sizeof *sent->made);
    if (!sent->made)
        return refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    jobs_worked(a->type->actors->jobs, SEND_WORK * (size_t)messages->count);
    for (const struct turn_message *m = messages->first; m; m = m->next, sent->count++)
        if (!submit(a, job, m, &sent->made[sent->count], why)) {
            name_it(m, why);
            outbox_take_back(sent, a, why->text);
            outbox_free(sent);
            return false;
        }
    return true;
}

void outbox_take_back(struct outbox *sent, struct actor *a, const char *why)
{
    while (sent->count > 0)
        job_unsubmit(a->type->actors->jobs, &sent->made[--sent->count], why);
}

void outbox_free(struct outbox *sent)
{
    free(sent->made);
    *sent = (struct outbox){0};
}
