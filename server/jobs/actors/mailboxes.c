#include "server/jobs/actors/mailboxes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

#include "server/jobs/accessors.h"
#include "server/jobs/actors/failures.h"
#include "server/jobs/actors/reminders.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/queueing.h"

enum { NAME_SHOWN = 80 };

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

/* --- Places --- */

bool mailbox_wait(struct actor *a, struct job *job, enum job_reason reason)
{
    job_set_state(scheduler_of(a)->table, job, JOB_WAITING, reason);
    return false;
}

void mailbox_place(struct actor *a, struct job *job)
{
    struct actor_more *more = a->more;
    message_of(job)->placed = true;
    more->bytes += job->params_len;
    counter_add(&a->type->messages, 1);
    if (!more->head && more->waiting.count == 0) {
        more->head = job;
        return;
    }
    job->arrival = ++scheduler_of(a)->arrivals;
    job_list_push(&more->waiting, job);
}

void mailbox_take_back(struct actor *a, struct job *job)
{
    struct actor_more *more = a->more;
    if (!more->head && more->waiting.count == 0)
        more->head = job;
    else
        job_list_insert(&more->waiting, job, NULL);
}

static void move_all(struct job_list *from, struct job_list *to)
{
    for (struct job *job; (job = job_list_pop(from));)
        job_list_push(to, job);
}

void mailbox_put_first(struct actor *a, struct job_list *jobs)
{
    struct actor_more *more = a->more;
    struct job_list behind = {0};
    struct job *head = more->head;
    for (struct job *job = jobs->first; job; job = job->next) {
        message_of(job)->placed = true;
        more->bytes += job->params_len;
        counter_add(&a->type->messages, 1);
    }
    if (head) {
        job_unplace(scheduler_of(a), head);
        mailbox_wait(a, head, JOB_WHY_ACTOR); /* its time is looked at when it is the head again */
        job_list_push(jobs, head);
        more->head = NULL;
    }
    move_all(&more->waiting, &behind);
    move_all(jobs, &more->waiting);
    move_all(&behind, &more->waiting);
}

void mailbox_go_on(struct actor *a)
{
    struct job *job;
    if (!a->more || a->more->head || !(job = job_list_pop(&a->more->waiting)))
        return;
    a->more->head = job;
    job_schedule(scheduler_of(a), job, false);
}

void mailbox_put_aside(struct actor *a, struct job *step)
{
    actor_leave(a, step);
    mailbox_go_on(a);
    job_hold(scheduler_of(a), step, HELD_NEW, JOB_WHY_NO_EXECUTOR);
}

/* --- What a turn has changed --- */

static void take_state(struct actor *a, struct turn_changes *c)
{
    if (c->state)
        actor_set_state(a, c->state, c->schema);
    else if (c->drops && actor_state(a).raw.len > 0)
        actor_set_state(a, NULL, 0);
    c->state = NULL;
}

/* A reminder that comes again. */
static enum message_verdict move(struct actor *a, struct job *job)
{
    actor_leave(a, job);
    mailbox_go_on(a);
    reminders_again(a, job);
    return MESSAGE_GOES_ON;
}

enum message_verdict mailbox_apply(struct actor *a, struct job *job, struct turn_changes *c)
{
    take_state(a, c);
    if (!job || !job_message(job)->is_step) {
        steps_change(a, c);
        return job && reminders_moves(job) ? move(a, job) : MESSAGE_ENDS;
    }
    if (a->more->stopped || job->attempt >= STEP_ATTEMPTS)
        return MESSAGE_ENDS;
    actor_leave(a, job);
    mailbox_go_on(a);
    steps_again(a, job, c);
    return MESSAGE_GOES_ON;
}

/* --- Stopped, started, dropped --- */

static void tell_feed(struct actor *a, unsigned kind, const char *text)
{
    struct job_table *table = scheduler_of(a)->table;
    feed_add_actor(&table->feed, a->tenant, actor_name(a),
                   text ? span_text(text) : (struct span){0}, kind, table_wall(table));
}

void actor_stopped_text(const struct actor *a, char *text, size_t size)
{
    const struct span name = utf8_cut(actor_name(a), NAME_SHOWN);
    int len = snprintf(text, size, "%.*s is stopped: ", (int)name.len, (const char *)name.at);
    const struct span why = utf8_cut(span_text(a->more->stopped), size - (size_t)len - 1);
    snprintf(text + len, size - (size_t)len, "%.*s", (int)why.len, (const char *)why.at);
}

void mailbox_end_stopped(struct actor *a, struct job *job)
{
    char text[JOB_TEXT_MAX];
    actor_stopped_text(a, text, sizeof text);
    job_end(scheduler_of(a), job, JOB_FAILED, error_name(ERGON_E_STOPPED), text);
}

/* The head waits for the start, if no attempt of it has begun. */
static void hold_head(struct actor *a, struct job *head)
{
    struct scheduler *s = scheduler_of(a);
    if (!job_is_open(head) || out_holds(s, head))
        return;
    if (message_of(head)->calls) {
        mailbox_end_stopped(a, head);
    } else if (head->state != JOB_DELAYED) { /* else joins() sees it when it is due */
        job_unplace(s, head);
        mailbox_wait(a, head, JOB_WHY_STOPPED);
    }
}

static void end_callers(struct actor *a)
{
    struct job *next;
    for (struct job *job = a->more->waiting.first; job; job = next) {
        next = job->next;
        if (message_of(job)->calls)
            mailbox_end_stopped(a, job);
    }
}

bool actor_stop(struct actor *a, struct span why)
{
    struct actor_more *more = actor_more(a);
    char *copy = more ? span_strdup(why) : NULL;
    if (!copy)
        return false;
    actor_stop_as(a, copy, table_wall(scheduler_of(a)->table));
    return true;
}

void actor_stop_as(struct actor *a, char *why, uint64_t at)
{
    struct actor_more *more = a->more;
    if (!more->stopped)
        counter_add(&a->type->stopped, 1);
    if (!more->stopped && a->residence == ACTOR_HERE) /* else it is read back so */
        tell_feed(a, FEED_ACTOR_STOPPED, why);
    free(more->stopped);
    more->stopped = why;
    more->stopped_at = at;
    steps_stop(a);
    if (more->head)
        hold_head(a, more->head);
    end_callers(a);
    actor_settle(a);
}

/* False: it was not stopped. */
static bool unstop(struct actor *a)
{
    if (!a->more->stopped)
        return false;
    free(a->more->stopped);
    a->more->stopped = NULL;
    counter_add(&a->type->stopped, (uint64_t)-1);
    counter_add(&a->type->failed, a->more->has_failed ? (uint64_t)-1 : 0);
    a->more->has_failed = false;
    return true;
}

bool actor_start(struct actor *a)
{
    bool was_stopped = a->more && unstop(a);
    if (was_stopped)
        tell_feed(a, FEED_ACTOR_STARTED, NULL);
    bool steps = steps_want(a, 0);
    struct job *head = was_stopped ? a->more->head : NULL;
    failures_forget(a);
    if (head && head->state == JOB_WAITING && head->reason == JOB_WHY_STOPPED)
        job_schedule(scheduler_of(a), head, false);
    actor_settle(a);
    return was_stopped || steps;
}

/* --- Loaded --- */

static bool waits_for_load(const struct job *job)
{
    return job && job->state == JOB_WAITING && job->reason == JOB_WHY_LOADING;
}

void mailbox_loaded(struct actor *a)
{
    struct job *job;
    struct scheduler *s = scheduler_of(a);
    while (a->more && (job = job_list_pop(&a->more->reads)))
        job_schedule(s, job, false);
    if (a->more && waits_for_load(a->more->head))
        job_schedule(s, a->more->head, false);
}

static void end_unread(struct actor *a, struct job *job, const char *why)
{
    if (message_of(job)->calls && job->state == JOB_WAITING && !journal_takes_back(job))
        job_end(scheduler_of(a), job, JOB_FAILED, error_name(ERGON_E_STORE), why);
}

static void end_all_unread(struct actor *a, const struct job_list *list, const char *why)
{
    struct job *next;
    for (struct job *job = list->first; job; job = next) {
        next = job->next;
        end_unread(a, job, why);
    }
}

void mailbox_not_loaded(struct actor *a, const char *why)
{
    struct job *head = a->more->head;
    end_all_unread(a, &a->more->reads, why);
    end_all_unread(a, &a->more->waiting, why);
    if (head)
        end_unread(a, head, why);
}

static void cancel(struct actor *a, struct job *job)
{
    job_mark(job, JOB_CANCEL);
    job_end(scheduler_of(a), job, JOB_CANCELLED, NULL, NULL);
}

void actor_drop(struct actor *a)
{
    struct job *job;
    tell_feed(a, FEED_ACTOR_DROPPED, NULL);
    actor_set_state(a, NULL, 0);
    failures_forget(a);
    a->version = 0;
    reminders_forget_all(a);
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
