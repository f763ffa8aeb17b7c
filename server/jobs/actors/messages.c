/* The mailbox of an actor: what the other rooms of the jobs call where a message goes on. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/core/names.h"
#include "server/jobs/life/retention.h"
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

struct span message_actor(const struct job *job)
{
    const struct actor *a = job_message(job)->actor;
    return a ? actor_name(a) : (struct span){0};
}

static const void *find(void *arg, struct span tenant, struct span name)
{
    return actor_find(arg, tenant, name);
}

/* --- A new message --- */

#define REFUSE(error, ...) (snprintf(text, size, __VA_ARGS__), (error))
#define SHOWN(s)           (int)((s).len < 80 ? (s).len : 80), (const char *)(s).at

static enum ergon_error check_names(const struct actors *actors, const struct job *job,
                                    const struct job_spec *spec, char *text, size_t size)
{
    const struct span method = job->queue->name, of = actor_type_of_method(method);
    const struct span type = actor_type_of_name(spec->actor);
    if (type.len == 0 || !utf8_is_name(spec->actor, ACTOR_NAME_MAX))
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "an actor has a name TYPE/KEY of at most %d bytes of "
                      "UTF-8 without U+0000",
                      ACTOR_NAME_MAX);
    if (!job->queue->method || !method_actor(job->queue->method))
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "\"%.*s\" is no method of an actor: submit it without `actor`",
                      SHOWN(method));
    if (!span_equal(of, type))
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "\"%.*s\" is a method of the actors %.*s/..., not of "
                      "\"%.*s\"",
                      SHOWN(method), SHOWN(of), SHOWN(spec->actor));
    if (!actor_type_find(actors, type))
        return REFUSE(ERGON_E_NO_METHOD, "no host has offered actors of the type \"%.*s\"",
                      SHOWN(type));
    return ERGON_OK;
}

static enum ergon_error check_options(const struct actors *actors, const struct job *job,
                                      const struct job_spec *spec, char *text, size_t size)
{
    bool is_step = method_actor(job->queue->method) & ACTOR_STEP;
    if (spec->durable != DURABLE_NONE)
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "the actor \"%.*s\" is kept in memory alone: `durable` "
                      "of a message can only be \"none\"",
                      SHOWN(spec->actor));
    if (is_step && !actors->submits)
        return REFUSE(ERGON_E_BAD_PARAMS,
                      "nobody sends \"%.*s\": actor.wake lets the next step "
                      "of a sleeping actor come now",
                      SHOWN(job->queue->name));
    return ERGON_OK;
}

/* A message with a time has no place yet, and comes in when it is due. */
static enum ergon_error check_room(const struct actor *a, const struct job *job, char *text,
                                   size_t size)
{
    const struct actor_more *more = a->more;
    const struct actor_policy *policy = &a->type->policy;
    uint32_t count = more ? more->waiting.count + (more->head != NULL) : 0;
    uint64_t bytes = more ? more->bytes : 0;
    if (count >= policy->messages)
        return REFUSE(ERGON_E_BUSY,
                      "the mailbox of \"%.*s\" has %" PRIu32 " messages, which is as "
                      "many as its type allows; try again later",
                      SHOWN(actor_name(a)), count);
    if (count > 0 && bytes + job->params_len > policy->mailbox)
        return REFUSE(ERGON_E_BUSY,
                      "the messages in the mailbox of \"%.*s\" have %" PRIu64
                      " bytes, and its type allows %" PRIu32 "; try again later",
                      SHOWN(actor_name(a)), bytes, policy->mailbox);
    return ERGON_OK;
}

static bool said(const struct job_spec *spec, enum job_option_id option)
{
    return spec->said & 1u << option;
}

static void fill(struct job *job, const struct job_spec *spec, struct actor *a)
{
    struct message *m = job_message(job);
    struct actor_type *type = a->type;
    unsigned is = method_actor(job->queue->method);
    m->actor = a;
    a->jobs++;
    m->policy = &type->of_messages;
    m->reads = is & ACTOR_READS;
    m->is_step = is & ACTOR_STEP;
    m->calls = spec->calls;
    if (!said(spec, JOB_OPTION_timeout))
        job->timeout = type->policy.timeout;
    if (!said(spec, JOB_OPTION_retries))
        job->retries = m->calls ? type->policy.call_retries : type->policy.retries;
    if (!job->more)
        return;
    job->more->key.of = job->more->coalesce.of = a;
    if (!said(spec, JOB_OPTION_backoff))
        job->more->policy.backoff = type->policy.backoff;
    if (!said(spec, JOB_OPTION_backoff_max))
        job->more->policy.backoff_max = type->policy.backoff_max;
}

static enum ergon_error made(void *arg, struct job *job, const struct job_spec *spec, char *text,
                             size_t size)
{
    struct actors *actors = arg;
    struct refusal why = {.text = ""};
    enum ergon_error wrong = check_names(actors, job, spec, text, size);
    if (wrong == ERGON_OK)
        wrong = check_options(actors, job, spec, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    struct actor_type *type = actor_type_find(actors, actor_type_of_name(spec->actor));
    struct actor *a = actor_get(actors, type, job->tenant, spec->actor, &why);
    if (!a)
        return REFUSE(why.error, "%s", why.text);
    fill(job, spec, a); /* so that it goes with the job, if nothing else keeps it */
    actor_settle(a);
    if (a->more && a->more->stopped && (spec->calls || job_message(job)->reads))
        return REFUSE(ERGON_E_STOPPED, "%.*s is stopped: %s", SHOWN(actor_name(a)),
                      a->more->stopped);
    return job_message(job)->reads || job->due > 0 ? ERGON_OK : check_room(a, job, text, size);
}

static void forgotten(void *arg, struct job *job)
{
    struct message *m = job_message(job);
    struct actor *a = m->actor;
    (void)arg;
    for (struct attempt_turn *next; m->turns; m->turns = next) { /* those never return */
        next = m->turns->next;
        turn_free(m->turns);
    }
    m->actor = NULL;
    if (!a)
        return;
    a->jobs--;
    actor_settle(a);
}

/* --- Places --- */

static void put_off(struct actor *a, struct job *job)
{
    struct job_table *table = scheduler_of(a)->table;
    job->due = table_time_after(table, AO_MS(MEMORY_PAUSE_MS));
    job_set_state(table, job, JOB_DELAYED, JOB_WHY_DELAY);
}

static bool wait(struct actor *a, struct job *job, enum job_reason reason)
{
    job_set_state(scheduler_of(a)->table, job, JOB_WAITING, reason);
    return false;
}

static void place(struct actor *a, struct job *job)
{
    struct actor_more *more = a->more;
    message_of(job)->placed = true;
    more->bytes += job->params_len;
    if (!more->head && more->waiting.count == 0) {
        more->head = job;
        return;
    }
    job->arrival = ++scheduler_of(a)->arrivals;
    job_list_push(&more->waiting, job);
}

static bool joins_read(struct actor *a, struct job *job)
{
    if (!a->more || !a->more->stopped)
        return true;
    wait(a, job, JOB_WHY_STOPPED); /* it may have ended before: only an open job ends */
    job_end(scheduler_of(a), job, JOB_FAILED, error_name(ERGON_E_STOPPED), a->more->stopped);
    return false;
}

static bool joins(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    struct actor_more *more;
    (void)arg;
    if (m->reads)
        return joins_read(a, job);
    if (!(more = actor_more(a))) {
        put_off(a, job);
        return false;
    }
    if (m->is_step && !steps_adopt(a, job))
        return false;
    if (!m->placed)
        place(a, job);
    else if (more->head != job && !job->list) /* it was taken out, and goes back */
        job_list_insert(&more->waiting, job, NULL);
    if (!m->is_step)
        steps_want(a, 0);
    actor_settle(a);
    if (more->head != job)
        return wait(a, job, JOB_WHY_ACTOR);
    if (more->stopped)
        return wait(a, job, JOB_WHY_STOPPED);
    return more->out == 0 || wait(a, job, JOB_WHY_OVERRUN);
}

void messages_go_on(struct actor *a)
{
    struct job *job;
    if (!a->more || a->more->head || !(job = job_list_pop(&a->more->waiting)))
        return;
    a->more->head = job;
    job_schedule(scheduler_of(a), job, false);
}

static void ended(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    (void)arg;
    if (!a->more)
        return;
    if (m->is_step && a->more->step == job && !steps_ended(a, job))
        actor_stop(a, span_text("its step was cancelled"));
    actor_leave(a, job);
    messages_go_on(a);
    actor_settle(a);
}

/* --- Turns --- */

static struct attempt_turn *begins(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    struct attempt_turn *turn = turn_new(actor_name(a), a->state);
    (void)arg;
    m->given = turn != NULL;
    if (!turn)
        return NULL;
    turn->version = a->version;
    turn->schema = a->schema;
    turn->writes = a->type->policy.schema;
    turn->state_max = a->type->policy.state;
    turn->reads = m->reads;
    turn->next = m->turns;
    m->turns = turn;
    if (!m->reads)
        a->more->out++;
    return turn;
}

static void drop_turn(struct message *m, struct attempt_turn *turn)
{
    struct attempt_turn **at = &m->turns;
    while (*at != turn)
        at = &(*at)->next;
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
    drop_turn(m, turn);
    if (m->reads)
        return;
    assert(a->more && a->more->out > 0);
    a->more->out--;
    head = a->more->head;
    if (a->more->out == 0 && head && head->state == JOB_WAITING && head->reason == JOB_WHY_OVERRUN)
        job_schedule(scheduler_of(a), head, true);
    actor_settle(a);
}

static void undone(void *arg, struct job *job)
{
    struct message *m = message_of(job);
    if (!m->given)
        return;
    m->given = false;
    back(arg, job, m->turns);
}

static bool has_room(const struct actor *a, const struct turn_changes *c, char *text, size_t size)
{
    size_t was = a->state ? a->state->len : 0, now = c->state ? c->state->len : 0;
    return now <= was || room_make_bytes(a->type->actors->jobs, a->tenant->name, now - was, text,
                                         size) == ERGON_OK;
}

static void take_state(struct actor *a, struct turn_changes *c)
{
    if (c->state)
        actor_set_state(a, c->state, c->schema);
    else if (c->drops && a->state)
        actor_set_state(a, NULL, 0);
    c->state = NULL;
}

static enum message_verdict takes(void *arg, struct job *job, struct attempt_turn *turn, char *text,
                                  size_t size)
{
    struct message *m = message_of(job);
    struct actor *a = m->actor;
    struct turn_changes *c = &turn->changes;
    (void)arg;
    if (m->reads)
        return MESSAGE_ENDS;
    if (!has_room(a, c, text, size))
        return MESSAGE_BAD;
    if (c->stops && !actor_stop(a, span_text(c->stop))) {
        snprintf(text, size, "there is no memory to stop it");
        return MESSAGE_BAD;
    }
    take_state(a, c);
    if (!m->is_step) {
        steps_change(a, c);
        return MESSAGE_ENDS;
    }
    if (a->more->stopped || job->attempt >= STEP_ATTEMPTS)
        return MESSAGE_ENDS;
    actor_leave(a, job);
    messages_go_on(a);
    steps_again(a, job, c);
    return MESSAGE_GOES_ON;
}

void messages_hook(struct actors *actors)
{
    jobs_scheduler(actors->jobs)->messages = (struct message_hooks){.arg = actors,
                                                                    .find = find,
                                                                    .made = made,
                                                                    .joins = joins,
                                                                    .begins = begins,
                                                                    .undone = undone,
                                                                    .takes = takes,
                                                                    .back = back,
                                                                    .ended = ended,
                                                                    .forgotten = forgotten};
}

void messages_end(struct actors *actors)
{
    for (struct job *job = jobs_table(actors->jobs)->first; job; job = job->all_next) {
        struct message *m = job_message(job);
        if (!m || !m->actor)
            continue;
        struct actor *a = m->actor;
        if (a->more && job->list == &a->more->waiting)
            job_list_remove(job);
        m->actor = NULL;
    }
}

/* --- Stopped, started, dropped --- */

static void end_stopped(struct actor *a, struct job *job)
{
    job_end(scheduler_of(a), job, JOB_FAILED, error_name(ERGON_E_STOPPED), a->more->stopped);
}

/* The head waits for the start, if no attempt of it has begun. */
static void hold_head(struct actor *a, struct job *head)
{
    struct scheduler *s = scheduler_of(a);
    bool runs = job_state_runs((enum job_state)head->state);
    if (!job_is_open(head) || (runs && !(head->attempt_task && out_recall(s, head))))
        return;
    if (message_of(head)->calls) {
        end_stopped(a, head);
    } else if (head->state != JOB_DELAYED) { /* else joins() sees it when it is due */
        job_unplace(s, head);
        wait(a, head, JOB_WHY_STOPPED);
    }
}

static void end_callers(struct actor *a)
{
    struct job *next;
    for (struct job *job = a->more->waiting.first; job; job = next) {
        next = job->next;
        if (message_of(job)->calls)
            end_stopped(a, job);
    }
}

bool actor_stop(struct actor *a, struct span why)
{
    struct actor_more *more = actor_more(a);
    char *copy = more ? malloc(why.len + 1) : NULL;
    if (!copy)
        return false;
    if (why.len > 0)
        memcpy(copy, why.at, why.len);
    copy[why.len] = '\0';
    if (!more->stopped)
        a->type->stopped++;
    free(more->stopped);
    more->stopped = copy;
    more->stopped_at = table_wall(scheduler_of(a)->table);
    steps_stop(a);
    if (more->head)
        hold_head(a, more->head);
    end_callers(a);
    actor_settle(a);
    return true;
}

/* False: it was not stopped. */
static bool unstop(struct actor *a)
{
    if (!a->more->stopped)
        return false;
    free(a->more->stopped);
    a->more->stopped = NULL;
    a->type->stopped--;
    return true;
}

bool actor_start(struct actor *a)
{
    bool was_stopped = a->more && unstop(a);
    bool steps = steps_want(a, 0);
    struct job *head = was_stopped ? a->more->head : NULL;
    if (head && head->state == JOB_WAITING && head->reason == JOB_WHY_STOPPED)
        job_schedule(scheduler_of(a), head, false);
    actor_settle(a);
    return was_stopped || steps;
}

static void cancel(struct actor *a, struct job *job)
{
    job_mark(job, JOB_CANCEL);
    job_end(scheduler_of(a), job, JOB_CANCELLED, NULL, NULL);
}

void actor_drop(struct actor *a)
{
    struct job *job;
    actor_set_state(a, NULL, 0);
    a->version = 0;
    steps_stop(a);
    if (a->more) {
        unstop(a);
        a->more->step = NULL; /* if it runs, it is the head */
        while ((job = a->more->waiting.first))
            cancel(a, job);
        if ((job = a->more->head))
            cancel(a, job);
    }
    actor_settle(a);
}
