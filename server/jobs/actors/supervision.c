#include "server/jobs/actors/supervision.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/utf8.h"
#include "proto/pack.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/actors/failures.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/persist/journal.h"

enum { SEND_WORK = 20 /* see jobs_worked() */ };

/* To a supervisor; malloc'ed, with what its spans point to. */
struct supervision_report {
    struct supervision_report *next;
    struct span to, tenant, params;
};

/* --- What follows --- */

static bool is_answer(const char *code)
{
    static const char *const none[] = {"STOPPED", "STORE", "AFTER"};
    for (size_t i = 0; code && i < sizeof none / sizeof *none; i++)
        if (strcmp(code, none[i]) == 0)
            return true;
    return !code || backoff_is_permanent(code);
}

static bool is_failure(const struct job *job)
{
    return job->attempt > 0 && !job_message(job)->reads && job->end && !is_answer(job->end->code);
}

/* Without memory it goes on. */
static bool stop(struct actor *a, const struct job *job, bool too_many)
{
    char line[JOB_LINE_MAX], why[JOB_LINE_MAX + 128];
    const struct actor_policy *policy = &a->type->policy;
    struct span method = span_behind(job->queue->name, a->type->methods.len);
    job_end_text(job, line);
    if (too_many)
        snprintf(why, sizeof why, "%" PRIu32 " messages failed within %" PRIu64 "s; the last: %s",
                 policy->intensity, (uint64_t)(policy->window / AO_S(1)), line);
    else
        snprintf(why, sizeof why, "%.*s failed: %s", (int)method.len, (const char *)method.at,
                 line);
    if (!actor_stop(a, utf8_cut(span_text(why), TURN_TEXT_MAX - 1)))
        return false;
    a->more->has_failed = true;
    counter_add(&a->type->failed, 1);
    if (actor_is_durable(a))
        commits_save(a);
    return true;
}

/* Once the turns before it are on disk. */
static void reset(struct actor *a)
{
    struct actor_more *more = actor_more(a);
    if (!more)
        return;
    more->resets = true;
    commits_resume(a);
}

static void report(struct actor *a, const struct job *job, bool stopped)
{
    struct actors *actors = a->type->actors;
    struct span to = span_text(a->type->policy.supervisor), tenant = a->tenant->name;
    char line[JOB_LINE_MAX];
    struct pack p;
    job_end_text(job, line);
    pack_init(&p);
    pack_array(&p, 4);
    pack_span(&p, actor_name(a));
    pack_span(&p, span_behind(job->queue->name, a->type->methods.len));
    pack_str(&p, line);
    pack_bool(&p, stopped);
    struct span params = pack_bytes(&p);
    struct supervision_report *r = malloc(sizeof *r + to.len + tenant.len + params.len);
    uint8_t *at = (uint8_t *)(r + 1);
    if (r && params.len > 0) {
        *r = (struct supervision_report){.to = span_put(to, &at)};
        r->tenant = span_put(tenant, &at);
        r->params = span_put(params, &at);
        *(actors->last_report ? &actors->last_report->next : &actors->reports) = r;
        actors->last_report = r;
        jobs_activate(actors->jobs);
    } else {
        free(r);
    }
    pack_fini(&p);
}

void supervision_ended(struct actor *a, struct job *job)
{
    bool was = job_message(job)->supervised;
    job_message(job)->supervised = false;
    if (!was && (job->state == JOB_FAILED || job->state == JOB_DEAD))
        supervision_failed(a, job);
}

void supervision_failed(struct actor *a, const struct job *job)
{
    const struct actor_policy *policy = &a->type->policy;
    if (!is_failure(job))
        return;
    bool too_many = failures_note(a), was_stopped = a->more && a->more->stopped,
         stopped = was_stopped;
    if (!was_stopped && (too_many || policy->on_failure == ACTOR_STOPS))
        stopped = stop(a, job, too_many);
    else if (policy->on_failure == ACTOR_RESETS)
        reset(a);
    if (policy->supervisor[0] && !span_is(actor_name(a), policy->supervisor))
        report(a, job, stopped);
}

/* --- Reports --- */

static void send_one(struct actors *actors, const struct supervision_report *r)
{
    char method[ACTOR_NAME_MAX + sizeof ".failed"], text[JOB_TEXT_MAX] = "";
    struct span type = actor_type_of_name(r->to);
    struct submitted done;
    int len = snprintf(method, sizeof method, "%.*s.failed", (int)type.len, (const char *)type.at);
    struct job_spec spec = {JOB_SPEC_DEFAULTS,   .method = span_of(method, (size_t)len),
                            .params = r->params, .tenant = r->tenant,
                            .actor = r->to,      .inner = true};
    spec.durable = DURABLE_NONE; /* unless its type says more */
    if (job_submit(actors->jobs, &spec, NULL, &done, text, sizeof text) == ERGON_OK)
        journal_write(actors->jobs, done.job);
    else
        log_warn("a supervisor of actors cannot be sent a failure", LOG_STR("method", method),
                 LOG_STR("text", text));
}

static void send_first(struct actors *actors)
{
    struct supervision_report *r = actors->reports;
    actors->reports = r->next;
    if (!r->next)
        actors->last_report = NULL;
    jobs_worked(actors->jobs, SEND_WORK);
    send_one(actors, r);
    free(r);
}

bool supervision_send(struct actors *actors)
{
    while (actors->reports && jobs_have_time(actors->jobs))
        send_first(actors);
    return !actors->reports;
}

void supervision_gave_up(struct actor *a, struct job *job)
{
    job_message(job)->supervised = true;
    supervision_failed(a, job);
    while (a->type->actors->reports)
        send_first(a->type->actors);
}

void supervision_fini(struct actors *actors)
{
    for (struct supervision_report *next; actors->reports; actors->reports = next) {
        next = actors->reports->next;
        free(actors->reports);
    }
}
