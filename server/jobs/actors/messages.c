/* The mailbox of an actor: what the other rooms of the jobs call where a message goes on. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/prefetch.h"
#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/actors/counts.h"
#include "server/jobs/actors/loads.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/actors/outbox.h"
#include "server/jobs/actors/reminders.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/actors/supervision.h"
#include "server/jobs/actors/task_sends.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/queueing.h"
#include "server/tasks/registry.h"

enum { MEMORY_PAUSE_MS = 100 };

static struct scheduler *scheduler_of(const struct actor *a)
{
    return jobs_scheduler(a->type->actors->jobs);
}

static struct message *message_of(const struct job *job)
{
    struct message *m = job_message(job);
    assert(m && m->actor);
    return m;
}

static const void *find(void *arg, struct span tenant, struct span name)
{
    return actor_find(arg, tenant, name);
}

static void nears(void *arg, struct span tenant, struct job_spec *spec)
{
    const struct actors *actors = arg;
    const struct tenant *t = table_tenant_find(jobs_table(actors->jobs), tenant);
    if (t && spec->actor_hash == 0) {
        spec->actor_hash = actor_hash(actors, t, spec->actor);
        prefetch(hash_bucket(&actors->by_name, spec->actor_hash), sizeof(struct hash_link *));
    } else if (t) {
        prefetch(*hash_bucket(&actors->by_name, spec->actor_hash),
                 MESSAGE_ACTOR_LINES * PREFETCH_LINE);
    }
}

/* --- A new message --- */

static bool said(const struct job_spec *spec, enum job_option_id option)
{
    return spec->said & 1u << option;
}

/* A message that leaves it open is as durable as its type; a caller would learn of a failure. */
static uint8_t level_of(const struct job_spec *spec, const struct actor_type *type)
{
    if (said(spec, JOB_OPTION_durable))
        return spec->durable;
    return spec->calls ? DURABLE_NONE : type->policy.durable;
}

#define REFUSE(error, ...) (snprintf(text, size, __VA_ARGS__), (error))
#define SHOWN(s)           (int)utf8_cut(s, 80).len, (const char *)(s).at

/* Where a message goes. */
struct addressee {
    struct actor *actor;     /* NULL: there is none of this name yet */
    struct actor_type *type; /* of this name; NULL: there is none */
};

static uint64_t hash_of(const struct actors *actors, const struct tenant *tenant,
                        const struct job_spec *spec)
{
    return spec->actor_hash ? spec->actor_hash : actor_hash(actors, tenant, spec->actor);
}

static struct actor *find_named(const struct actors *actors, const struct tenant *tenant,
                                const struct job_spec *spec)
{
    return actor_find_hashed(actors, tenant, spec->actor, hash_of(actors, tenant, spec));
}

/* The actor will be unlinked from its list as it becomes active, and its turn begins with its
 * state: their memory is fetched ahead. */
static void look_ahead(const struct actor *a)
{
    prefetch(a->prev, PREFETCH_LINE);
    prefetch(a->next, PREFETCH_LINE);
    prefetch(a->state.own, PREFETCH_LINE);
}

/* Most messages go to an actor that is there, whose name needs no second look. */
static struct addressee addressee_of(const struct actors *actors, const struct tenant *tenant,
                                     const struct job_spec *spec)
{
    struct actor *a = tenant ? find_named(actors, tenant, spec) : NULL;
    if (a) {
        look_ahead(a);
        return (struct addressee){a, a->type};
    }
    return (struct addressee){.type = actor_type_find(actors, actor_type_of_name(spec->actor))};
}

/* May this method be sent to it, and be as durable? */
static enum ergon_error check_fit(struct addressee to, const struct method *m,
                                  const struct job_spec *spec, char *text, size_t size)
{
    const struct span method = spec->method, of = actor_type_of_method(method);
    const struct span type = to.type ? to.type->name : actor_type_of_name(spec->actor);
    if (!to.actor && (type.len == 0 || !utf8_is_name(spec->actor, ACTOR_NAME_MAX)))
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "an actor has a name TYPE/KEY of at most %d bytes of "
                      "UTF-8 without U+0000",
                      ACTOR_NAME_MAX);
    if (!m || !method_actor(m))
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "\"%.*s\" is no method of an actor: submit it without `actor`",
                      SHOWN(method));
    if (!span_equal(of, type))
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "\"%.*s\" is a method of the actors %.*s/..., not of "
                      "\"%.*s\"",
                      SHOWN(method), SHOWN(of), SHOWN(spec->actor));
    if (!to.type)
        return REFUSE(ERGON_E_NO_METHOD, "no host has offered actors of the type \"%.*s\"",
                      SHOWN(type));
    if (to.type->policy.durable == DURABLE_NONE && level_of(spec, to.type) != DURABLE_NONE)
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "the actor \"%.*s\" is kept in memory alone: `durable` "
                      "of a message can only be \"none\"",
                      SHOWN(spec->actor));
    return ERGON_OK;
}

static enum ergon_error fits(void *arg, const struct method *m, const struct job_spec *spec,
                             char *text, size_t size)
{
    return check_fit(addressee_of(arg, NULL, spec), m, spec, text, size);
}

static uint8_t level(void *arg, const struct job_spec *spec)
{
    const struct actor_type *type = addressee_of(arg, NULL, spec).type;
    return type ? level_of(spec, type) : spec->durable;
}

static uint8_t durable_of(const struct job *job, const struct job_spec *spec,
                          const struct actor_type *type)
{
    bool is_step = method_actor(job->queue->method) & ACTOR_STEP;
    return is_step && type->policy.durable != DURABLE_NONE ? DURABLE_ASYNC : level_of(spec, type);
}

static enum ergon_error check_options(const struct actor_type *type, struct job *job,
                                      const struct job_spec *spec, char *text, size_t size)
{
    const struct actors *actors = type->actors;
    bool is_step = method_actor(job->queue->method) & ACTOR_STEP;
    job->durable = durable_of(job, spec, type);
    if (job->durable != DURABLE_NONE && !jobs_take_level(actors->jobs, job->durable))
        return REFUSE(ERGON_E_STORE, "%s", jobs_level_trouble(actors->jobs, job->durable));
    if (is_step && !actors->submits)
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "nobody sends \"%.*s\": actor.wake lets the next step "
                      "of a sleeping actor come now",
                      SHOWN(job->queue->name));
    return ERGON_OK;
}

static const struct actors_limits *limits_of(const struct actor *a)
{
    return &jobs_options(a->type->actors->jobs)->settings.limits.actors;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* One that never fits is refused for good, also before it has a place. */
static enum ergon_error check_size(const struct actor *a, const struct job *job, char *text,
                                   size_t size)
{
    const uint32_t most = a->type->policy.mailbox;
    if (job->params_len <= most)
        return ERGON_OK;
    return REFUSE(ERGON_E_TOO_LARGE,
                  "it has %" PRIu32 " bytes, and the mailbox of \"%.*s\" holds %" PRIu32
                  ": send less, or offer the type with a larger `mailbox`",
                  job->params_len, SHOWN(actor_name(a)), most);
}

/* A message with a time has no place yet, and comes in when it is due.  Steps count for none. */
static enum ergon_error check_room(const struct actor *a, const struct job *job, char *text,
                                   size_t size)
{
    const struct actor_more *more = a->more;
    const struct actor_policy *policy = &a->type->policy;
    uint32_t most = least(policy->messages, limits_of(a)->messages);
    bool steps = more && more->step && job_message(more->step)->placed;
    uint32_t count = more ? more->waiting.count + (more->head != NULL) - steps : 0;
    uint64_t bytes = more ? more->bytes : 0;
    if (count >= most)
        return REFUSE(ERGON_E_BUSY,
                      "the mailbox of \"%.*s\" has %" PRIu32 " messages, which is as "
                      "many as %s; try again later",
                      SHOWN(actor_name(a)), count,
                      most < policy->messages ? "actors.messages allows" : "its type allows");
    if (bytes + job->params_len > policy->mailbox)
        return REFUSE(ERGON_E_BUSY,
                      "the messages in the mailbox of \"%.*s\" have %" PRIu64
                      " bytes, and its type allows %" PRIu32 "; try again later",
                      SHOWN(actor_name(a)), bytes, policy->mailbox);
    return ERGON_OK;
}

static enum ergon_error take_reminder(struct actor *a, struct job *job, char *text, size_t size)
{
    if (!reminders_full(a, job_reminder_name(job))) {
        reminders_name(a, job);
        return ERGON_OK;
    }
    return REFUSE(ERGON_E_BAD_PARAMS,
                  "\"%.*s\" has %d reminders, which is as many as there may be; forget one, or put "
                  "one of a name that it has",
                  SHOWN(actor_name(a)), REMINDERS_MAX);
}

/* What it is by its actor and its method. */
static void belong(struct job *job, struct actor *a, unsigned is)
{
    struct message *m = job_message(job);
    m->actor = a;
    a->jobs++;
    if (!actor_is_durable(a)) /* a copy stays idle until its message has a place */
        residents_remove_idle(a);
    m->policy = &a->type->of_messages;
    m->reads = is & ACTOR_READS;
    m->is_step = is & ACTOR_STEP;
    if (job->more)
        job->more->key.of = job->more->coalesce.of = a;
}

static void follow(struct job *job, const struct actor_type *type)
{
    job->timeout = type->policy.timeout;
    job->retries = type->policy.retries;
}

/* A call has a number of retries of its own. */
static bool follows(const struct job *job, const struct job_spec *spec)
{
    return !spec->answers && !said(spec, JOB_OPTION_timeout) && !said(spec, JOB_OPTION_retries) &&
           !job->more && spec->priority == SPEC_PRIORITY && spec->deadline == AO_NEVER;
}

static void fill(struct job *job, const struct job_spec *spec, struct actor *a)
{
    struct message *m = job_message(job);
    const struct actor_type *type = a->type;
    belong(job, a, method_actor(job->queue->method));
    m->calls = spec->calls;
    m->follows = m->is_step || follows(job, spec);
    if (!said(spec, JOB_OPTION_timeout))
        job->timeout = type->policy.timeout;
    if (!said(spec, JOB_OPTION_retries))
        job->retries = spec->answers ? type->policy.call_retries : type->policy.retries;
    if (!job->more)
        return;
    if (!said(spec, JOB_OPTION_backoff))
        job->more->policy.backoff = type->policy.backoff;
    if (!said(spec, JOB_OPTION_backoff_max))
        job->more->policy.backoff_max = type->policy.backoff_max;
}

static enum ergon_error made(void *arg, struct job *job, const struct job_spec *spec, char *text,
                             size_t size)
{
    struct refusal why = {.text = ""};
    struct addressee to = addressee_of(arg, job->tenant, spec);
    enum ergon_error wrong = check_fit(to, job->queue->method, spec, text, size);
    if (wrong == ERGON_OK)
        wrong = check_options(to.type, job, spec, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    /* Until it is due, a name is enough. */
    bool comes = job->due == 0 || to.type->policy.durable == DURABLE_NONE;
    struct actor *a = actor_get(to.actor, to.type, job->tenant, spec->actor, comes, &why);
    if (!a)
        return REFUSE(why.error, "%s", why.text);
    fill(job, spec, a); /* so that it goes with the job, if nothing else keeps it */
    if (a->more && a->more->stopped && (spec->answers || job_message(job)->reads)) {
        actor_stopped_text(a, text, size);
        return ERGON_E_STOPPED;
    }
    bool fits = job_message(job)->reads || job_message(job)->is_step || job->due > 0;
    if (!fits || job->due > 0)
        wrong = check_size(a, job, text, size);
    if (wrong == ERGON_OK && !fits)
        wrong = check_room(a, job, text, size);
    if (wrong == ERGON_OK && job_reminder(job))
        wrong = take_reminder(a, job, text, size);
    return wrong;
}

static void forgotten(void *arg, struct job *job)
{
    struct message *m = job_message(job);
    (void)arg;
    if (!m) {
        task_sends_forget(job);
        return;
    }
    struct actor *a = m->actor;
    for (struct attempt_turn *next; m->turns; m->turns = next) { /* those never return */
        next = m->turns->next;
        turn_free(m->turns);
    }
    m->actor = NULL;
    if (!a)
        return;
    commits_leave(a, job);
    reminders_unname(a, job);
    a->jobs--;
    actor_settle(a);
}

/* --- Messages that are read back --- */

/* Workers offer it again soon, and say how it is kept. */
static struct actor_type *type_of(struct actors *actors, struct span name)
{
    static const struct actor_policy unknown = {ACTOR_POLICY_DEFAULTS};
    struct actor_offer offer = {.type = actor_type_of_name(name), .policy = unknown};
    struct actor_type *type = actor_type_find(actors, offer.type);
    if (!type && actor_type_offered(actors, &offer) == ERGON_OK)
        type = actor_type_find(actors, offer.type);
    return type;
}

static bool recovered(void *arg, struct job *job, const struct job_spec *spec, bool as_type)
{
    struct actors *actors = arg;
    struct actor_type *type = type_of(actors, spec->actor);
    if (type)
        actor_type_settle(type);
    struct actor *a = type ? actor_recovered(actors, type, job->tenant, spec->actor,
                                             hash_of(actors, job->tenant, spec))
                           : NULL;
    const struct method *m = registry_find(jobs_options(actors->jobs)->registry, job->queue->name);
    if (!a)
        return false;
    belong(job, a, m ? method_actor(m) : 0);
    job_message(job)->follows = as_type || job_message(job)->is_step;
    if (job_message(job)->follows)
        follow(job, type);
    return true;
}

/* A retry keeps its place; a step that sleeps has none, but it is the actor's. */
static void resumes(void *arg, struct job *job, bool begun)
{
    struct message *m = message_of(job);
    struct actor_more *more = m->is_step || (begun && !m->reads) ? actor_more(m->actor) : NULL;
    (void)arg;
    if (m->is_reminder)
        reminders_recovered(m->actor, job);
    if (!more)
        return;
    if (m->is_step) {
        steps_next_round(m->actor, job);
        more->step = more->step ? more->step : job;
    }
    if (!begun || m->placed)
        return;
    mailbox_place(m->actor, job);
    if (more->head != job) /* others had begun, too; its time is looked at when it is the head */
        mailbox_wait(m->actor, job, JOB_WHY_ACTOR);
}

/* --- Places --- */

static void put_off(struct actor *a, struct job *job)
{
    struct job_table *table = scheduler_of(a)->table;
    job->due = table_time_after(table, AO_MS(MEMORY_PAUSE_MS));
    job_set_state(table, job, JOB_DELAYED, JOB_WHY_DELAY);
}

/* It needs the actor's state: true, it is here. */
static bool is_here(struct actor *a, const struct job *job)
{
    bool waits = a->residence == ACTOR_UNREAD && !job_message(job)->calls;
    if (a->residence != ACTOR_HERE && !waits)
        loads_begin(a);
    return a->residence == ACTOR_HERE;
}

static bool joins_read(struct actor *a, struct job *job)
{
    struct actor_more *more;
    if (a->residence != ACTOR_HERE) {
        if (!(more = actor_more(a))) {
            put_off(a, job);
            return false;
        }
        job->arrival = ++scheduler_of(a)->arrivals;
        job_list_push(&more->reads, job);
        is_here(a, job);
        return mailbox_wait(a, job, JOB_WHY_LOADING);
    }
    if (!a->more || !a->more->stopped)
        return true;
    mailbox_wait(a, job, JOB_WHY_STOPPED); /* it may have ended before: only an open job ends */
    mailbox_end_stopped(a, job);
    return false;
}

/* It is due now.  False: it waits until it is forgotten, or not. */
static bool fires(struct actor *a, struct job *job)
{
    ao_time now = table_now(scheduler_of(a)->table);
    if (job_message(job)->withdrawn) {
        job_set_state(scheduler_of(a)->table, job, JOB_WAITING, JOB_WHY_COMMIT);
        return false;
    }
    if (!job_message(job)->placed)
        job_reminder(job)->fired = job->due > 0 && job->due < now ? job->due : now;
    reminders_name_again(a, job);
    return true;
}

static bool joins(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    struct actor_more *more;
    enum job_reason reason;
    (void)arg;
    if (m->is_reminder && !fires(a, job))
        return false;
    if (m->reads)
        return joins_read(a, job);
    if (!(more = actor_more(a))) {
        put_off(a, job);
        return false;
    }
    if (m->is_step && !steps_adopt(a, job))
        return false;
    if (m->is_step && !queue_is_served(job->queue)) {
        mailbox_put_aside(a, job);
        return false;
    }
    if (!m->placed)
        mailbox_place(a, job);
    else if (more->head != job && !job->list) /* it was taken out, and goes back */
        mailbox_take_back(a, job);
    if (!m->is_step && a->residence == ACTOR_HERE)
        steps_want(a, 0);
    actor_settle(a);
    if (more->head != job) {
        if (m->calls)
            is_here(a, job);
        return mailbox_wait(a, job, JOB_WHY_ACTOR);
    }
    if (!is_here(a, job))
        return mailbox_wait(a, job, JOB_WHY_LOADING);
    if (more->turn && writes_of(a, job)) {
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_COMMIT);
        return false;
    }
    if (more->stopped)
        return mailbox_wait(a, job, JOB_WHY_STOPPED);
    if (!commits_may_begin(a, job, &reason))
        return mailbox_wait(a, job, reason);
    return more->out == 0 || mailbox_wait(a, job, JOB_WHY_OVERRUN);
}

static void ended(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    (void)arg;
    reminders_unname(a, job);
    if (!a->more) {
        actor_settle(a);
        return;
    }
    commits_leave(a, job);
    if (m->is_step && a->more->step == job && !steps_ended(a, job) &&
        actor_stop(a, span_text("its step was cancelled")) && actor_is_durable(a))
        commits_save(a);
    supervision_ended(a, job);
    actor_leave(a, job);
    mailbox_go_on(a);
    if (a->more && a->more->doomed != STORE_OK)
        commits_resume(a);
    actor_settle(a);
}

/* A reminder that comes again does so however its turn ends. */
static bool gives_up(void *arg, struct job *job, const char *code, const char *error)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    (void)arg;
    if (!reminders_moves(job))
        return false;
    job_set_error(scheduler_of(a), job, code, error);
    loss_forget(job);
    supervision_failed(a, job);
    actor_leave(a, job);
    mailbox_go_on(a);
    reminders_plan(a, job);
    reminders_again(a, job);
    actor_settle(a);
    return true;
}

static void gave_up(void *arg, struct job *job)
{
    struct actor *a = message_of(job)->actor;
    (void)arg;
    a->jobs++; /* it stays meanwhile */
    supervision_gave_up(a, job);
    a->jobs--;
    actor_settle(a);
}

/* --- Turns --- */

static struct attempt_turn *begins(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    /* A read that was long in its queue may find that the actor has left memory: it loads it. */
    bool is_here = a->residence == ACTOR_HERE;
    struct attempt_turn *turn = is_here ? commits_turn(a, job) : NULL;
    (void)arg;
    assert(is_here || m->reads);
    if (m->follows)
        follow(job, a->type);
    m->given = turn != NULL;
    if (!turn)
        return NULL;
    turn->attempt = job->attempt + 1;
    turn->writes = a->type->policy.schema;
    turn->state_max = least(a->type->policy.state, (uint32_t)limits_of(a)->state);
    m->settles = false;
    turn->next = m->turns;
    m->turns = turn;
    if (!m->reads)
        a->more->out++;
    return turn;
}

static void drop_turn(struct message *m, struct attempt_turn *turn)
{
    struct attempt_turn **at = &m->turns;
    while (*at && *at != turn)
        at = &(*at)->next;
    if (!*at)
        return; /* its changes are being written: commits.h */
    *at = turn->next;
    turn_free(turn);
}

/* The attempt is over, and holds its actor no longer. */
static void back(void *arg, struct job *job, struct attempt_turn *turn)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    struct job *head;
    (void)arg;
    if (a->type->actors->settled != turn)
        counter_add(&a->type->actors->shown.failed, 1);
    a->type->actors->settled = NULL;
    drop_turn(m, turn);
    if (m->reads)
        return;
    assert(a->more && a->more->out > 0);
    a->more->out--;
    head = a->more->head;
    if (a->more->out == 0 && head && head->state == JOB_WAITING && head->reason == JOB_WHY_OVERRUN)
        job_schedule(scheduler_of(a), head, !message_of(head)->is_step); /* a step arrives anew */
    if (a->more->turn || a->more->doomed != STORE_OK)
        commits_resume(a);
    actor_settle(a);
}

static void undone(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    if (!m->given)
        return;
    m->given = false;
    m->actor->type->actors->settled = m->turns; /* it was none */
    back(arg, job, m->turns);
}

static bool has_room(const struct actor *a, const struct turn_changes *c, struct refusal *why)
{
    size_t was = actor_state(a).raw.len, now = c->state ? c->state->len : 0;
    if (c->state && !a->has_row && actor_is_durable(a) && !counts_may_add(a, why))
        return false;
    return now <= was || actors_make_room(a->type->actors, a->tenant, now - was, why);
}

/* Takes the changes; what the turn sends was submitted before. */
static enum message_verdict take(struct actor *a, struct job *job, struct attempt_turn *turn,
                                 struct outbox *sent, struct refusal *why)
{
    struct turn_changes *c = &turn->changes;
    if (reminders_moves(job))
        reminders_plan(a, job);
    if (commits_wants(a, c, sent))
        return commits_begin(a, job, turn, sent, why);
    if (c->stops && !actor_stop(a, span_text(c->stop))) {
        refusal_set(why, ERGON_E_MEMORY, "there is no memory to stop it");
        return MESSAGE_BAD;
    }
    reminders_confirm(a, &sent->gone, job);
    const struct sender by = sender_of_turn(a, job);
    outbox_send_later(&by, &c->messages);
    return mailbox_apply(a, job, c);
}

static enum message_verdict take_all(struct job *job, struct attempt_turn *turn,
                                     struct refusal *why)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    const struct sender by = sender_of_turn(a, job);
    struct outbox sent;
    if (m->reads && reminders_moves(job)) {
        reminders_plan(a, job);
        reminders_again(a, job);
        return MESSAGE_GOES_ON;
    }
    if (m->reads)
        return MESSAGE_ENDS;
    if (!has_room(a, &turn->changes, why) || !outbox_send(&sent, &by, &turn->changes, why))
        return commits_counts(a, job, turn, true) ? MESSAGE_BAD : MESSAGE_VOID;
    enum message_verdict verdict = take(a, job, turn, &sent, why);
    if (verdict == MESSAGE_BAD)
        outbox_take_back(&sent, &by, why->text);
    outbox_free(&sent);
    return verdict;
}

static enum message_verdict takes(void *arg, struct job *job, struct attempt_turn *turn,
                                  struct refusal *why)
{
    struct actors *actors = arg;
    if (!job->is_message)
        return task_sends_take(actors, job, turn, why);
    enum message_verdict verdict = take_all(job, turn, why);
    if (verdict != MESSAGE_VOID)
        counter_add(verdict == MESSAGE_BAD ? &actors->shown.bad : &actors->shown.done, 1);
    actors->settled = turn;
    return verdict;
}

static bool counts(void *arg, struct job *job, const struct attempt_turn *turn, bool failed)
{
    struct actors *actors = arg;
    bool is = commits_counts(message_of(job)->actor, job, turn, failed);
    if (!is && turn)
        actors->settled = turn;
    return is;
}

static enum message_write writes(void *arg, struct job *job, struct store_op **group)
{
    const struct actors *actors = arg;
    return job->is_message ? commits_group(message_of(job)->actor, job, group)
                           : task_sends_group(actors->jobs, job, group);
}

static void writes_alone(void *arg, struct job *job)
{
    const struct actors *actors = arg;
    if (job->is_message)
        commits_alone(message_of(job)->actor, job);
    else
        task_sends_alone(actors->jobs, job);
}

void messages_hook(struct actors *actors)
{
    jobs_scheduler(actors->jobs)->messages = (struct message_hooks){.arg = actors,
                                                                    .find = find,
                                                                    .nears = nears,
                                                                    .fits = fits,
                                                                    .level = level,
                                                                    .made = made,
                                                                    .joins = joins,
                                                                    .begins = begins,
                                                                    .undone = undone,
                                                                    .counts = counts,
                                                                    .takes = takes,
                                                                    .writes = writes,
                                                                    .gives_up = gives_up,
                                                                    .gave_up = gave_up,
                                                                    .writes_alone = writes_alone,
                                                                    .recovered = recovered,
                                                                    .resumes = resumes,
                                                                    .back = back,
                                                                    .ended = ended,
                                                                    .forgotten = forgotten};
}

void messages_end(struct actors *actors)
{
    for (struct job *job = jobs_table(actors->jobs)->first; job; job = job->all_next) {
        struct message *m = job_message(job);
        task_sends_forget(job);
        if (!m || !m->actor)
            continue;
        struct actor *a = m->actor;
        if (a->more && (job->list == &a->more->waiting || job->list == &a->more->reads))
            job_list_remove(job);
        m->actor = NULL;
    }
}
