#include "server/jobs/actors/outbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/accessors.h"
#include "server/jobs/jobs.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/spans.h"

enum { SEND_WORK = 20 /* of each; see jobs_worked() */ };

struct sender sender_of_turn(struct actor *a, const struct job *job)
{
    return (struct sender){.jobs = a->type->actors->jobs,
                           .actor = a,
                           .job = job,
                           .tenant = a->tenant,
                           .durable = actor_is_durable(a)};
}

struct sender sender_of_task(struct jobs *jobs, const struct job *job)
{
    return (struct sender){
        .jobs = jobs, .job = job, .tenant = job->tenant, .durable = job->durable != DURABLE_NONE};
}

/* Everything of it that its options do not say. */
static struct job_spec spec_of(const struct sender *by, const struct turn_message *m)
{
    struct job_spec spec = {JOB_SPEC_DEFAULTS,          .method = m->method, .params = m->params,
                            .tenant = by->tenant->name, .actor = m->to,      .inner = true};
    if (m->reminder.len == 0)
        return spec;
    spec.actor = actor_name(by->actor);
    spec.reminder = m->reminder;
    spec.delay = m->in;
    spec.at = m->at;
    spec.every = m->every;
    return spec;
}

static uint8_t usual_level(const struct sender *by, const struct job_spec *spec)
{
    const struct message_hooks *messages = &jobs_scheduler(by->jobs)->messages;
    if (spec->actor.len > 0)
        return messages->level(messages->arg, spec);
    return jobs_store(by->jobs) ? jobs_options(by->jobs)->default_durable : DURABLE_NONE;
}

static void set_durable(const struct sender *by, struct job_spec *spec)
{
    if (!(spec->said & 1u << JOB_OPTION_durable))
        spec->durable = usual_level(by, spec);
    else if (by->durable && spec->durable == DURABLE_ASYNC)
        spec->durable = DURABLE_FSYNC;
}

static bool read_options(const struct sender *by, const struct turn_message *m,
                         struct job_spec *spec, struct refusal *why)
{
    const struct jobs_options *o = jobs_options(by->jobs);
    why->error = ERGON_E_BAD_CHANGES;
    if (m->options.len > 0 && !o->read_turn_options)
        return refusal_set(why, ERGON_E_BAD_CHANGES, "what a turn sends has no options here");
    if (m->options.len > 0 && !o->read_turn_options(m->options, spec, why->text, sizeof why->text))
        return false;
    if (!span_equal(spec->tenant, by->tenant->name))
        return refusal_set(why, ERGON_E_DENIED,
                           "what an attempt sends is of the tenant of its own task or actor");
    set_durable(by, spec);
    return true;
}

/* The attempt is the caller, unless the options name another. */
static void set_trace(const struct sender *by, struct job_spec *spec)
{
    struct trace_link link;
    if (trace_context_is(&spec->traceparent) ||
        !spans_passed(jobs_scheduler(by->jobs), by->job, &link))
        return;
    spec->traceparent = link.context;
    spec->tracestate = link.state;
}

/* A job in memory alone begins at once, but of a turn that may be undone. */
static bool waits(const struct sender *by, const struct job_spec *spec)
{
    const struct actor *a = by->actor;
    return a && spec->reminder.len == 0 && by->durable && spec->durable == DURABLE_NONE &&
           (a->type->policy.pipeline || a->more->turn);
}

/* With `later` it may only be checked, and OUT stays without a job. */
static bool submit(const struct sender *by, struct turn_message *m, struct submitted *out,
                   struct refusal *why)
{
    struct job_spec spec = spec_of(by, m);
    if (!read_options(by, m, &spec, why))
        return false;
    m->later = waits(by, &spec);
    if (m->later) {
        why->error = job_check_actor(by->jobs, &spec, why->text, sizeof why->text);
        return why->error == ERGON_OK;
    }
    if (spec.reminder.len == 0) /* a reminder begins a trace of its own */
        set_trace(by, &spec);
    why->error = job_submit(by->jobs, &spec, NULL, out, why->text, sizeof why->text);
    if (why->error == ERGON_E_BAD_PARAMS && spec.reminder.len > 0)
        why->error = ERGON_E_BAD_CHANGES;
    return why->error == ERGON_OK;
}

static bool withdraw(struct outbox *sent, struct actor *a, struct span name, struct refusal *why)
{
    return reminders_withdraw(a, name, &sent->gone) ||
           refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
}

/* Of what the actor has so far, in place of which others may come. */
static bool withdraw_all(struct outbox *sent, struct actor *a, const struct turn_changes *c,
                         struct refusal *why)
{
    if (c->drops && !c->state)
        return withdraw(sent, a, (struct span){0}, why);
    for (const struct turn_message *m = c->messages.first; m; m = m->next)
        if (m->reminder.len > 0 && !withdraw(sent, a, m->reminder, why))
            return false;
    return true;
}

static bool is_forget(const struct turn_message *m)
{
    return m->reminder.len > 0 && m->method.len == 0;
}

/* Which of them it was, before what is wrong with it. */
static void name_it(const struct sender *by, const struct turn_message *m, struct refusal *why)
{
    char text[sizeof why->text];
    struct span to = m->to.len > 0         ? m->to
                     : m->reminder.len > 0 ? m->reminder
                                           : span_text("a task");
    int len = snprintf(text, sizeof text, "%.*s for %.*s, which the %s sends, is refused: %s",
                       (int)utf8_cut(m->method, 40).len, (const char *)m->method.at,
                       (int)utf8_cut(to, 60).len, (const char *)to.at,
                       by->actor ? "turn" : "attempt", why->text);
    if (len > 0)
        refusal_set(why, why->error, text);
}

/* As durable as it is, or becomes. */
static uint8_t level_of(const struct job *job)
{
    return job_is(job, JOB_HARDENING) ? job->more->hardens : job->durable;
}

/* False without memory. */
static bool note_joined(struct outbox *sent, const struct submitted *done, uint32_t most)
{
    const struct job *job = done->job;
    if (!done->duplicate && !done->coalesced)
        return true;
    if (!sent->joined.jobs && !(sent->joined.jobs = calloc(most, sizeof *sent->joined.jobs)))
        return false;
    sent->joined.jobs[sent->joined.count++] = (struct joined_job){
        .id = job->id,
        .shared = done->coalesced,
        .awaited = job->saved == JOB_SAVED_NOTHING && durable_is_awaited(level_of(job))};
    return true;
}

static bool submit_all(struct outbox *sent, const struct sender *by, struct turn_messages *messages,
                       struct refusal *why)
{
    if (messages->count > 0 && !(sent->made = calloc(messages->count, sizeof *sent->made)))
        return refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    jobs_worked(by->jobs, SEND_WORK * (size_t)messages->count);
    for (struct turn_message *m = messages->first; m; m = m->next) {
        if (is_forget(m))
            continue;
        if (!submit(by, m, &sent->made[sent->count], why)) {
            name_it(by, m, why);
            return false;
        }
        if (m->later)
            continue;
        if (!note_joined(sent, &sent->made[sent->count++], messages->count))
            return refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    }
    return true;
}

bool outbox_send(struct outbox *sent, const struct sender *by, struct turn_changes *changes,
                 struct refusal *why)
{
    *sent = (struct outbox){0};
    if ((!by->actor || withdraw_all(sent, by->actor, changes, why)) &&
        submit_all(sent, by, &changes->messages, why))
        return true;
    outbox_take_back(sent, by, why->text);
    outbox_free(sent);
    return false;
}

void outbox_send_later(const struct sender *by, const struct turn_messages *messages)
{
    struct refusal why = {.text = ""};
    struct submitted done;
    for (const struct turn_message *m = messages->first; m; m = m->next) {
        struct job_spec spec = spec_of(by, m);
        if (!m->later || !read_options(by, m, &spec, &why)) /* it was read before */
            continue;
        if (by->job)
            set_trace(by, &spec);
        why.error = job_submit(by->jobs, &spec, NULL, &done, why.text, sizeof why.text);
        if (why.error == ERGON_OK)
            continue;
        name_it(by, m, &why);
        log_warn("a message of a turn is lost", LOG_STR("text", why.text));
    }
}

void outbox_take_back(struct outbox *sent, const struct sender *by, const char *why)
{
    while (sent->count > 0)
        job_unsubmit(by->jobs, &sent->made[--sent->count], why);
    if (by->actor)
        reminders_restore(by->actor, &sent->gone);
}

bool submitted_is_held(const struct submitted *done)
{
    return !done->duplicate && !done->coalesced && durable_is_awaited(done->job->durable);
}

void outbox_free(struct outbox *sent)
{
    free(sent->made);
    free(sent->joined.jobs);
    free(sent->gone.ids);
    *sent = (struct outbox){0};
}

/* --- What was there already --- */

bool joined_awaits(const struct joined *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->jobs[i].awaited)
            return true;
    return false;
}

/* Why its first row will not come; STORE_OK: it is on its way. */
static enum store_error lost(const struct jobs *jobs, const struct job *job)
{
    enum store_error last = jobs_journal(jobs)->error;
    if (job && durable_is_awaited(level_of(job)))
        return STORE_OK;
    if (job && job->save_error != STORE_OK)
        return (enum store_error)job->save_error;
    return last != STORE_OK ? last : STORE_FOLLOWS;
}

enum store_error joined_look(struct jobs *jobs, struct joined *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct joined_job *one = &all->jobs[i];
        const struct job *job = one->awaited ? table_find(jobs_table(jobs), one->id) : NULL;
        one->awaited = one->awaited && !(job && job->saved != JOB_SAVED_NOTHING);
        enum store_error error = one->awaited ? lost(jobs, job) : STORE_OK;
        if (error != STORE_OK)
            return error;
    }
    return STORE_OK;
}

void joined_leave(struct jobs *jobs, struct joined *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct job *job =
            all->jobs[i].shared ? table_find(jobs_table(jobs), all->jobs[i].id) : NULL;
        if (job)
            job_cancel(jobs_scheduler(jobs), job);
    }
    free(all->jobs);
    *all = (struct joined){0};
}
