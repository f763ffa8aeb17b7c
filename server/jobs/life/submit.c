#include "server/jobs/life/submit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/tracepoint.h"
#include "server/access/rights.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/core/walk.h"
#include "server/jobs/jobs.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/dependencies.h"
#include "server/jobs/sched/queueing.h"
#include "server/jobs/sched/result_refs.h"
#include "server/jobs/sched/scheduler.h"
#include "server/jobs/sched/numbers.h"
#include "server/jobs/sched/spans.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/registry.h"

static enum ergon_error refuse(enum ergon_error error, char *text, size_t size, const char *format,
                               ...) __attribute__((format(printf, 4, 5)));
static enum ergon_error refuse(enum ergon_error error, char *text, size_t size, const char *format,
                               ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
    return error;
}

static enum ergon_error no_memory(char *text, size_t size)
{
    return refuse(ERGON_E_MEMORY, text, size, "%s", error_meaning(ERGON_E_MEMORY));
}

/* --- Does it exist already? --- */

static bool find_existing(struct jobs *jobs, const struct job_spec *spec, struct submitted *out)
{
    const struct span everywhere = {0};
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    const void *of = NULL;
    if (spec->key.len == 0 && spec->coalesce.len == 0)
        return false;
    if (spec->actor.len > 0 && !(of = messages->find(messages->arg, spec->tenant, spec->actor)))
        return false;
    if (spec->key.len > 0)
        out->job = key_find(&jobs_table(jobs)->keys, spec->tenant, everywhere, spec->key, of);
    out->duplicate = out->job != NULL;
    if (!out->job && spec->coalesce.len > 0) {
        out->job =
            key_find(&jobs_table(jobs)->shared, spec->tenant, spec->method, spec->coalesce, of);
        out->coalesced = out->job != NULL;
    }
    return out->job != NULL;
}

static enum ergon_error check_store(const struct jobs *jobs, uint8_t durable, char *text,
                                    size_t size)
{
    if (durable == DURABLE_NONE || jobs_take_level(jobs, durable))
        return ERGON_OK;
    return refuse(ERGON_E_STORE, text, size, "%s", jobs_level_trouble(jobs, durable));
}

static void leave_memory(struct jobs *jobs, struct job *job, const struct job_spec *spec)
{
    table_set_durable(jobs_table(jobs), job, DURABLE_ASYNC);
    job_mark(job, JOB_SUBMITTING | (durable_is_awaited(spec->durable) ? JOB_FROM_MEMORY : 0));
    if (job->more && job->more->checkpoint)
        job->more->checkpoint_unsaved = true;
    job_effect(jobs_table(jobs), job, EFFECT_HISTORY);
}

/* Makes the job as durable as the submission that joins it, and what that changes of it as durable
 * as the job: from fsync on when that is on disk, see the journal. */
static enum ergon_error harden(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                               bool changes, char *text, size_t size)
{
    uint8_t comes = job_is(job, JOB_HARDENING) ? job->more->hardens : job->durable;
    bool rises = spec->durable > comes;
    uint8_t level = spec->durable > job->durable ? spec->durable : job->durable;
    enum ergon_error wrong = ERGON_OK;
    if (level == DURABLE_NONE || !(rises || changes))
        return ERGON_OK;
    if (rises || durable_is_awaited(level))
        wrong = check_store(jobs, level, text, size);
    if (wrong == ERGON_OK && job->durable == DURABLE_NONE)
        wrong = dependencies_check_durable(job, text, size);
    if (wrong == ERGON_OK && job->durable == DURABLE_NONE)
        wrong = result_refs_check_durable(jobs_scheduler(jobs), job, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (job->durable == DURABLE_NONE)
        leave_memory(jobs, job, spec);
    if (durable_is_awaited(level)) {
        job_mark(job, JOB_HARDENING);
        job->more->hardens = level > comes ? level : comes;
    }
    job_rewrite(job);
    job_effect(jobs_table(jobs), job, EFFECT_WRITE);
    return ERGON_OK;
}

void job_joined(struct job *job, const struct job_spec *spec)
{
    if (job_is_open(job)) /* it has a name, so it has extras */
        job_policy_keep(&job->more->policy, job_spec_keep(spec));
}

/* A task that has ended is kept as long as it said then. */
static bool changes_keep(const struct job *job, const struct job_spec *spec)
{
    struct job_policy policy = job->more->policy;
    return job_is_open(job) && job_policy_keep(&policy, job_spec_keep(spec));
}

/* The event is noted before the row is written, and so it is on disk when that row is. */
static void share(struct job_table *table, struct job *job)
{
    job->more->waiters++;
    if (job_is_open(job))
        job_note(table, job, JOB_EVENT_JOINED, NULL);
}

static enum ergon_error join(struct jobs *jobs, const struct job_spec *spec, struct submitted *out,
                             char *text, size_t size)
{
    struct job *job = out->job;
    assert(job->more); /* it was found by a name */
    bool changes = out->coalesced || changes_keep(job, spec);
    enum ergon_error wrong = harden(jobs, job, spec, changes, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (out->coalesced)
        share(jobs_table(jobs), job);
    out->hardens = job_is(job, JOB_HARDENING) && (durable_is_awaited(spec->durable) ||
                                                  (changes && durable_is_awaited(job->durable)));
    if (!out->hardens)
        job_joined(job, spec);
    else if (job_is_open(job))
        job_keep_longer(&job->more->joins, job_spec_keep(spec));
    return ERGON_OK;
}

/* A message is as durable as its actor's type, if it says nothing else. */
static enum ergon_error join_as(struct jobs *jobs, const struct job_spec *spec,
                                struct submitted *out, char *text, size_t size)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    if (spec->actor.len == 0)
        return join(jobs, spec, out, text, size);
    struct job_spec as_type = *spec;
    as_type.durable = messages->level(messages->arg, spec);
    return join(jobs, &as_type, out, text, size);
}

/* --- May it be taken? --- */

/* Names that strangers may choose take no more queues than that. */
enum { QUEUES_MAX = 2 * METHODS_OFFERED };

static bool is_expected(const struct jobs *jobs, struct span method)
{
    const char *patterns = jobs_options(jobs)->worker_methods;
    return patterns && registry_may_name(method) && patterns_fit(patterns, method);
}

/* Returns the method of this name; `q` is its queue, or NULL. */
static const struct method *method_named(struct jobs *jobs, const struct job_queue *q,
                                         struct span name)
{
    return q && q->method ? q->method : registry_find(jobs_options(jobs)->registry, name);
}

void submit_without_actor_text(const struct method *m, char *text, size_t size)
{
    snprintf(text, size,
             "\"%s\" is a method of actors: name one, as in {actor: \"%.*s/KEY\"}, or use "
             "actor.call and actor.tell",
             method_name(m), (int)actor_type_of_method(m->name).len, (const char *)m->name.at);
}

static enum ergon_error check_without_actor(const struct method *m, char *text, size_t size)
{
    if (!m || !method_actor(m))
        return ERGON_OK;
    submit_without_actor_text(m, text, size);
    return ERGON_E_BAD_PARAMS;
}

enum ergon_error job_check_actor(struct jobs *jobs, const struct job_spec *spec, char *text,
                                 size_t size)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    const struct job_queue *q = table_queue_find(jobs_table(jobs), spec->method);
    const struct method *m = method_named(jobs, q, spec->method);
    return spec->actor.len > 0 ? messages->fits(messages->arg, m, spec, text, size)
                               : check_without_actor(m, text, size);
}

static enum ergon_error check_method(struct jobs *jobs, const struct job_queue *q,
                                     const struct job_spec *spec, char *text, size_t size)
{
    const struct span method = spec->method;
    const struct method *m = method_named(jobs, q, method);
    enum ergon_error wrong = spec->actor.len > 0 ? ERGON_OK : check_without_actor(m, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (m && !method_of_workers(m) && m->no_executor && !m->elsewhere)
        return refuse(ERGON_E_NO_EXECUTOR, text, size,
                      "\"%s\" needs a %s executor, and the server has none", method_name(m),
                      method_kind(m));
    if ((m && (!method_of_workers(m) || m->of_processes)) ||
        (q && (queue_was_offered(q) || queue_is_open(q))))
        return ERGON_OK;
    if (!is_expected(jobs, method))
        return refuse(ERGON_E_NO_METHOD, text, size, "no handler offers \"%.*s\"",
                      (int)(method.len < 64 ? method.len : 64), (const char *)method.at);
    if (q || jobs_table(jobs)->queue_names.count < QUEUES_MAX)
        return ERGON_OK;
    return refuse(ERGON_E_BUSY, text, size, "there are tasks of %d methods already", QUEUES_MAX);
}

static enum ergon_error check_limit(const struct jobs *jobs, const struct job_spec *spec,
                                    char *text, size_t size)
{
    const struct span name = spec->limit_key;
    const struct tenant *t =
        name.len > 0 ? table_tenant_find(jobs_table(jobs), spec->tenant) : NULL;
    const struct limit *limit = t ? limit_find(jobs_scheduler(jobs)->limits, t, name) : NULL;
    if (!limit || !limit->kept || limit->max == spec->limit)
        return ERGON_OK;
    return refuse(ERGON_E_BAD_PARAMS, text, size,
                  "the semaphore \"%.*s\" has %" PRIu32 " permits, which only sem.create changes: "
                  "`max` of `limit` must be the same number",
                  (int)name.len, (const char *)name.at, limit->max);
}

static enum ergon_error check_server(const struct jobs *jobs, const struct job_spec *spec,
                                     char *text, size_t size)
{
    const struct scheduler *s = jobs_scheduler(jobs);
    if (s->stopping && !spec->inner)
        return refuse(ERGON_E_DRAINING, text, size, "%s", error_meaning(ERGON_E_DRAINING));
    if (s->refuses)
        return refuse(ERGON_E_STORE, text, size, "%s", scheduler_no_numbers);
    return ERGON_OK;
}

/* A node of the version before may own the tasks next, which would give a handler the parameters as
 * they were submitted. */
static enum ergon_error check_upgrade(struct jobs *jobs, const struct job_spec *spec, char *text,
                                      size_t size)
{
    if (spec->durable == DURABLE_NONE || !result_refs_are_in(spec->params) ||
        jobs_store_upgraded(jobs))
        return ERGON_OK;
    return refuse(ERGON_E_STORE, text, size,
                  "durable tasks name no results before the upgrade of the database is finished: "
                  "ergon cluster upgrade --finish; or say durable: \"none\"");
}

static enum ergon_error check_refs(struct jobs *jobs, const struct job_spec *spec, char *text,
                                   size_t size)
{
    enum ergon_error wrong = result_refs_check(spec, text, size);
    return wrong == ERGON_OK ? check_upgrade(jobs, spec, text, size) : wrong;
}

static enum ergon_error check(struct jobs *jobs, const struct job_spec *spec, char *text,
                              size_t size)
{
    const struct job_queue *q = table_queue_find(jobs_table(jobs), spec->method);
    enum ergon_error wrong = check_server(jobs, spec, text, size);
    if (wrong == ERGON_OK)
        wrong = check_method(jobs, q, spec, text, size);
    if (wrong == ERGON_OK && result_refs_can_be_in(spec->params))
        wrong = check_refs(jobs, spec, text, size);
    if (wrong == ERGON_OK)
        wrong = check_limit(jobs, spec, text, size);
    if (wrong == ERGON_OK && spec->batch > 0)
        wrong = jobs_scheduler(jobs)->members.admits(jobs_scheduler(jobs)->members.arg, spec, text,
                                                     size);
    if (wrong != ERGON_OK)
        return wrong;
    if (q && q->draining)
        return refuse(ERGON_E_DRAINING, text, size,
                      "the queue \"%.*s\" is being drained and takes no new tasks; queue.resume "
                      "opens it",
                      (int)q->name.len, (const char *)q->name.at);
    enum ergon_error full = room_make(jobs, spec, text, size);
    if (full != ERGON_OK || spec->actor.len > 0) /* how durable an actor is, its type says */
        return full;
    return check_store(jobs, spec->durable, text, size);
}

/* --- A new one --- */

static void count_in(struct job_table *table, struct job *job, uint64_t one)
{
    table_account(table, job)->submitted += one;
    counter_add(&job->queue->submitted, one);
    counter_add(&table->submitted, one);
}

/* Its limit, its rate and what it comes after or reads, which only a job with extras may have.  The
 * limit and the rate come last: a submission that is refused does not change their numbers. */
static enum ergon_error hold_back(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                                  const struct submitter *rights, struct submitted *out, char *text,
                                  size_t size)
{
    const struct dependent any = {0}, *may = rights ? &rights->waits : &any;
    struct scheduler *s = jobs_scheduler(jobs);
    enum ergon_error wrong = dependencies_join(s, job, spec, may, text, size);
    if (wrong == ERGON_OK && spec->after_count > 0)
        wrong =
            result_refs_find(s, job) ? result_refs_hold(s, job, may, text, size) : ERGON_E_MEMORY;
    if (wrong == ERGON_OK && !admission_join(s, job, spec))
        wrong = ERGON_E_MEMORY;
    out->numbers = numbers_wait(job);
    return wrong;
}

static enum ergon_error address(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                                char *text, size_t size)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    return messages->made(messages->arg, job, spec, text, size);
}

static enum ergon_error take_new(struct jobs *jobs, const struct job_spec *spec,
                                 const struct submitter *rights, struct submitted *out, char *text,
                                 size_t size)
{
    struct job_table *table = jobs_table(jobs);
    struct job_spec sampled;
    assert(table->next_id > 0 && !table->recovering);
    if (spans_begin(jobs_scheduler(jobs), spec, table->next_id, &sampled))
        spec = &sampled;
    struct job *job = job_new(table, spec, table->next_id);
    if (!job)
        return no_memory(text, size);
    enum ergon_error wrong = job->is_message ? address(jobs, job, spec, text, size) : ERGON_OK;
    if (wrong == ERGON_OK && job->more)
        wrong = hold_back(jobs, job, spec, rights, out, text, size);
    if (wrong != ERGON_OK) {
        result_refs_let_go(jobs_scheduler(jobs), job);
        scheduler_forget(jobs_scheduler(jobs), job);
        job_free(table, job);
        return wrong == ERGON_E_MEMORY ? no_memory(text, size) : wrong;
    }
    table->next_id++;
    table_enter(table, job);
    table_enter_keys(table, job, true);
    count_in(table, job, 1);
    if (job->in_batch)
        jobs_scheduler(jobs)->members.joined(jobs_scheduler(jobs)->members.arg, job);
    feed_add(&table->feed, job, JOB_EVENT_SUBMITTED, job->created, 0, (struct span){0});
    if (job->durable != DURABLE_NONE)
        job_mark(job, JOB_SUBMITTING);
    job_schedule(jobs_scheduler(jobs), job, false);
    out->job = job;
    return ERGON_OK;
}

enum ergon_error job_submit(struct jobs *jobs, const struct job_spec *spec,
                            const struct submitter *rights, struct submitted *out, char *text,
                            size_t size)
{
    *out = (struct submitted){0};
    if (spec->batch > 0 && (spec->actor.len > 0 || spec->coalesce.len > 0))
        return refuse(ERGON_E_BAD_PARAMS, text, size,
                      "a member of a batch is no message to an actor, and has no `coalesce`: leave "
                      "out one of the two");
    bool exists = find_existing(jobs, spec, out);
    if (exists && rights && !rights->may_join(rights->arg, out->job))
        return refuse(ERGON_E_DENIED, text, size,
                      "there is a task of this %s already, and it is none that you may submit; "
                      "choose another",
                      out->duplicate ? "key" : "coalesce key");
    enum ergon_error wrong = ERGON_OK;
    if (!exists)
        wrong = check(jobs, spec, text, size);
    else if (spec->actor.len > 0)
        wrong = job_check_actor(jobs, spec, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    return exists ? join_as(jobs, spec, out, text, size)
                  : take_new(jobs, spec, rights, out, text, size);
}

/* --- Taken back --- */

static void undo(struct jobs *jobs, struct job *job, const char *code, const char *why)
{
    struct job_table *table = jobs_table(jobs);
    const struct member_hooks *members = &jobs_scheduler(jobs)->members;
    if (job->in_batch)
        members->taken_back(members->arg, job);
    job_census_changing(table->census, job);
    job->in_batch = 0;
    job_census_changed(table->census, job);
    table_set_durable(table, job, DURABLE_NONE);
    job_unmark(job, JOB_SUBMITTING | JOB_DIRTY | JOB_ENDING | JOB_HARDENING | JOB_REWRITE);
    if (job->more)
        key_remove(&table->keys, &job->more->key); /* the same key can be tried again */
    job_end(jobs_scheduler(jobs), job, JOB_FAILED, code, why);
    table->in_memory.ended[JOB_FAILED]--;
    counter_add(&job->queue->failed, (uint64_t)-1);
    count_in(table, job, (uint64_t)-1);
    job_effect(table, job, EFFECT_FORGET);
}

void job_take_back(struct jobs *jobs, struct job *job, const char *code, const char *why)
{
    assert(durable_is_awaited(job->durable) && job->saved == JOB_SAVED_NOTHING);
    undo(jobs, job, code, why);
}

void job_unsubmit(struct jobs *jobs, const struct submitted *done, const char *why)
{
    if (done->coalesced) {
        job_cancel(jobs_scheduler(jobs), done->job);
    } else if (!done->duplicate) {
        assert(done->job->row == JOB_NEW && done->job->pending == 0);
        undo(jobs, done->job, "CANCELLED", why);
    }
}

void job_trace_submit(const struct job *job, uint64_t conn)
{
    char id[ID_TEXT_SIZE];

    TRACEPOINT6(submit, job->id, job->queue->name.at, job->queue->name.len, conn,
                (uint64_t)table_now(job->queue->table), id_text(job->id, id));
}
