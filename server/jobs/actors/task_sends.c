#include "server/jobs/actors/task_sends.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/actors/outbox.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/queueing.h"

struct task_sends {
    struct job *job;
    struct joined joined;
    LIST_ENTRY(task_sends) by_awaits; /* while it awaits what it joined */
    bool awaits, under_way;
    uint32_t count;
    struct job *held[]; /* journal_hold() */
};

/* --- Made and let go --- */

static uint32_t held_of(const struct outbox *sent)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent->count; i++)
        count += submitted_is_held(&sent->made[i]);
    return count;
}

static void set_awaits(struct actors *actors, struct task_sends *t, bool awaits)
{
    if (awaits && !t->awaits)
        LIST_INSERT_HEAD(&actors->tasks_awaiting, t, by_awaits);
    else if (t->awaits && !awaits)
        LIST_REMOVE(t, by_awaits);
    t->awaits = awaits;
}

/* NULL without memory: nothing is held. */
static struct task_sends *sends_new(struct jobs *jobs, struct job *job, const struct outbox *sent)
{
    size_t was = job_bytes(job);
    struct task_sends *t = calloc(1, sizeof *t + held_of(sent) * sizeof(struct job *));
    if (!t || !job_more(job)) {
        free(t);
        return NULL;
    }
    table_weigh(jobs_table(jobs), job, was);
    t->job = job;
    job->more->sent = t;
    return t;
}

/* Its own row, and those that it holds, are in the group that would wait for them. */
static void await_others(struct task_sends *t)
{
    for (uint32_t i = 0; i < t->joined.count; i++) {
        struct joined_job *one = &t->joined.jobs[i];
        bool own = one->id == t->job->id;
        for (uint32_t k = 0; k < t->count; k++)
            own |= one->id == t->held[k]->id;
        one->awaited &= !own;
    }
}

static void hold(struct jobs *jobs, struct task_sends *t, struct outbox *sent)
{
    for (uint32_t i = 0; i < sent->count; i++)
        if (submitted_is_held(&sent->made[i])) {
            journal_hold(jobs, sent->made[i].job);
            t->held[t->count++] = sent->made[i].job;
        }
    t->joined = sent->joined;
    sent->joined = (struct joined){0};
    await_others(t);
}

static void sends_free(struct task_sends *t)
{
    if (t->awaits)
        LIST_REMOVE(t, by_awaits);
    t->job->more->sent = NULL;
    free(t->joined.jobs);
    free(t);
}

/* Nothing of it will be written. */
static void let_go(struct jobs *jobs, struct task_sends *t, enum store_error error)
{
    while (t->count > 0)
        journal_let_go(jobs, t->held[--t->count], error);
    joined_leave(jobs, &t->joined);
    sends_free(t);
    jobs_activate(jobs); /* others may have joined it */
}

void task_sends_forget(struct job *job)
{
    if (job->more && job->more->sent)
        sends_free(job->more->sent);
}

/* --- Written --- */

static void group_back(struct jobs *jobs, struct store_op *group);
static void alone_back(struct jobs *jobs, struct store_op *group);

/* NULL without memory: nothing has changed. */
static struct store_op *group_new(struct jobs *jobs, struct task_sends *t, write_done *done)
{
    struct store_op *group = codec_write_new(jobs, STORE_GROUP, 0, done);
    if (!group)
        return NULL;
    group->owner = t;
    if (!journal_add_held(jobs, group, t->held, t->count)) {
        codec_group_undo(jobs, group);
        return NULL;
    }
    t->under_way = true;
    return group;
}

static void end_failed(struct jobs *jobs, struct job *job, enum store_error error)
{
    job_end_otherwise(jobs_scheduler(jobs), job, JOB_FAILED, error_name(sync_error(error)),
                      store_error_text(error));
}

/* Nothing that it submitted has to be written any more; it may have got a row meanwhile. */
static void end_written(struct jobs *jobs, struct job *job)
{
    if (job->durable == DURABLE_NONE)
        job_end_saved(jobs_scheduler(jobs), job);
    else
        journal_write(jobs, job);
}

static void alone_failed(struct jobs *jobs, struct task_sends *t, enum store_error error)
{
    struct job *job = t->job;
    let_go(jobs, t, error);
    end_failed(jobs, job, error);
    end_written(jobs, job);
}

/* Of a task without a row. */
static void push_alone(struct jobs *jobs, struct task_sends *t)
{
    struct store_op *group = group_new(jobs, t, alone_back);
    if (group)
        store_push(jobs_store(jobs), group);
    else
        alone_failed(jobs, t, STORE_MEMORY);
}

enum message_write task_sends_group(struct jobs *jobs, struct job *job, struct store_op **group)
{
    struct task_sends *t = job->more->sent;
    if (t->under_way || t->awaits)
        return MESSAGE_WRITE_LATER;
    *group = group_new(jobs, t, group_back);
    return *group ? MESSAGE_WRITE : MESSAGE_WRITE_NO_MEMORY;
}

void task_sends_alone(struct jobs *jobs, struct job *job)
{
    struct task_sends *t = job->more->sent;
    if (!t->awaits && !t->under_way) /* else it ends when that is back */
        push_alone(jobs, t);
}

/* Returns the member behind those that it holds: the row of the task. */
static struct store_op *members_back(struct jobs *jobs, struct task_sends *t,
                                     struct store_op *group)
{
    struct store_op *m = group->group.first;
    for (uint32_t i = 0; m && i < t->count; i++, m = m->next)
        codec_member_back(jobs, m);
    t->under_way = false;
    return m;
}

static void group_back(struct jobs *jobs, struct store_op *group)
{
    struct task_sends *t = group->owner;
    struct job *job = t->job;
    struct store_op *own = members_back(jobs, t, group);
    if (group->error == STORE_OK) {
        sends_free(t);
    } else if (group->error == STORE_REFUSED) {
        let_go(jobs, t, group->error);
        job->more->sends_refused = true;
        end_failed(jobs, job, group->error);
    }        /* else its row is tried again, with all of this */
    if (own) /* else it failed before that was made */
        codec_member_back(jobs, own);
}

static void alone_back(struct jobs *jobs, struct store_op *group)
{
    struct task_sends *t = group->owner;
    struct job *job = t->job;
    enum store_error error = group->error;
    journal_notice(jobs, group);
    members_back(jobs, t, group);
    if (error != STORE_OK) {
        alone_failed(jobs, t, error);
        return;
    }
    sends_free(t);
    end_written(jobs, job);
}

/* --- Taken --- */

static enum message_verdict no_memory(struct refusal *why)
{
    refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    return MESSAGE_BAD;
}

/* The end of the task waits for the disk. */
static void begin(struct actors *actors, struct task_sends *t)
{
    struct job *job = t->job;
    set_awaits(actors, t, joined_awaits(&t->joined));
    job_end(jobs_scheduler(actors->jobs), job, JOB_DONE, NULL, NULL);
    if (job->durable == DURABLE_NONE && !t->awaits)
        push_alone(actors->jobs, t);
}

enum message_verdict task_sends_take(struct actors *actors, struct job *job,
                                     struct attempt_turn *turn, struct refusal *why)
{
    const struct sender by = sender_of_task(actors->jobs, job);
    struct task_sends *t = NULL;
    struct outbox sent;
    assert(!job->is_message);
    if (!outbox_send(&sent, &by, &turn->changes, why))
        return MESSAGE_BAD;
    bool waits = held_of(&sent) > 0 || joined_awaits(&sent.joined);
    if (waits && !(t = sends_new(actors->jobs, job, &sent))) {
        outbox_take_back(&sent, &by, error_meaning(ERGON_E_MEMORY));
        outbox_free(&sent);
        return no_memory(why);
    }
    if (t)
        hold(actors->jobs, t, &sent);
    outbox_free(&sent);
    if (t)
        begin(actors, t);
    return MESSAGE_ENDS;
}

/* --- What it joined --- */

static void go_on(struct actors *actors, struct task_sends *t)
{
    set_awaits(actors, t, false);
    if (t->job->durable == DURABLE_NONE)
        push_alone(actors->jobs, t);
    else
        journal_write(actors->jobs, t->job);
}

/* The task runs again: it submits that anew. */
static void run_again(struct actors *actors, struct task_sends *t, enum store_error error)
{
    struct job *job = t->job;
    set_awaits(actors, t, false);
    let_go(actors->jobs, t, error);
    if (error == STORE_REFUSED) { /* it would be so again */
        end_failed(actors->jobs, job, error);
        end_written(actors->jobs, job);
        return;
    }
    job_reopen(jobs_scheduler(actors->jobs), job,
               "what it submitted is there already, and could not be written");
    job_schedule(jobs_scheduler(actors->jobs), job, true);
}

void task_sends_look(struct actors *actors)
{
    struct task_sends *next;
    for (struct task_sends *t = LIST_FIRST(&actors->tasks_awaiting); t; t = next) {
        enum store_error error = joined_look(actors->jobs, &t->joined);
        next = LIST_NEXT(t, by_awaits);
        if (error != STORE_OK)
            run_again(actors, t, error);
        else if (!joined_awaits(&t->joined))
            go_on(actors, t);
    }
}
