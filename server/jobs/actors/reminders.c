#include "server/jobs/actors/reminders.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/queueing.h"

static struct scheduler *scheduler_of(const struct actor *a)
{
    return jobs_scheduler(a->type->actors->jobs);
}

/* --- By their actor --- */

static uint64_t hash_of(const struct actor *a)
{
    return (uint64_t)(uintptr_t)a >> 4; /* no two actors have one hash */
}

static struct job *job_of(struct hash_link *link)
{
    return link ? (struct job *)(void *)((uint8_t *)link - JOB_BODY_STEP - sizeof(struct job))
                : NULL;
}

struct job *reminders_next(const struct actor *a, const struct job *before)
{
    if (!a->reminded)
        return NULL;
    return job_of(before ? hash_next(&job_reminder(before)->by_actor)
                         : hash_first(&a->type->actors->reminders, hash_of(a)));
}

struct job *reminders_find(const struct actor *a, struct span name)
{
    struct job *found = NULL;
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        if (span_equal(job_reminder_name(job), name) && (!found || found->id < job->id))
            found = job;
    return found;
}

bool reminders_full(const struct actor *a, struct span name)
{
    uint32_t count = 0;
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        count += !span_equal(job_reminder_name(job), name);
    return count >= REMINDERS_MAX;
}

ao_time reminders_due(const struct actor *a)
{
    ao_time due = 0;
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        if (job->state == JOB_DELAYED && (due == 0 || job->due < due))
            due = job->due;
    return due;
}

void reminders_name(struct actor *a, struct job *job)
{
    struct reminder *r = job_reminder(job);
    assert(r && job_message(job)->actor == a && !job_message(job)->is_named);
    r->by_actor.hash = hash_of(a);
    hash_add(&a->type->actors->reminders, &r->by_actor);
    job_message(job)->is_named = true;
    a->reminded = true;
}

void reminders_name_again(struct actor *a, struct job *job)
{
    if (!job_message(job)->is_named && !reminders_find(a, job_reminder_name(job)))
        reminders_name(a, job);
}

void reminders_unname(struct actor *a, struct job *job)
{
    struct hash_table *all = &a->type->actors->reminders;
    if (!job_message(job)->is_named)
        return;
    hash_remove(all, &job_reminder(job)->by_actor);
    job_message(job)->is_named = false;
    a->reminded = hash_first(all, hash_of(a)) != NULL;
}

void reminders_recovered(struct actor *a, struct job *job)
{
    struct actors *actors = a->type->actors;
    if (actors->reminders.count == 0)
        hash_reserve(&actors->reminders, actors->by_name.count);
    struct job *old = reminders_find(a, job_reminder_name(job));
    if (job_is_quiet(job)) /* `failures` attempts of its row, at most, are of this time */
        job_message(job)->round = job->saved_attempt - job->failures;
    if (job_is(job, JOB_CANCEL))
        return;
    if (old) {
        job_mark(old, JOB_CANCEL);
        reminders_unname(a, old);
    }
    reminders_name(a, job);
}

/* --- Forgotten --- */

bool reminders_forget(struct actor *a, struct job *job)
{
    struct scheduler *s = scheduler_of(a);
    bool comes_again = job_reminder(job)->every > 0;
    bool runs = job->attempt_task && !comes_again && !out_recall(s, job);
    reminders_unname(a, job);
    return !runs && job_cancel(s, job);
}

/* The table is not walked while it changes. */
static struct job *older(const struct actor *a, const struct job *by)
{
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        if (job->id < by->id && span_equal(job_reminder_name(job), job_reminder_name(by)))
            return job;
    return NULL;
}

void reminders_replaced(struct actor *a, const struct job *by)
{
    struct job *old;
    while ((old = older(a, by)))
        reminders_forget(a, old);
}

void reminders_forget_all(struct actor *a)
{
    struct job *job;
    while ((job = reminders_next(a, NULL))) {
        reminders_unname(a, job);
        job_cancel(scheduler_of(a), job);
    }
}

/* --- Again --- */

bool reminders_moves(const struct job *job)
{
    const struct reminder *r = job_reminder(job);
    const struct message *m = job_message(job);
    return r && r->every > 0 && m->is_named && !m->withdrawn && !job_is(job, JOB_CANCEL);
}

/* Of times that have passed, none is left. */
void reminders_plan(struct actor *a, struct job *job)
{
    const struct reminder *r = job_reminder(job);
    ao_time now = table_time_after(scheduler_of(a)->table, 0);
    ao_time from = r->fired > 0 && r->fired < now ? r->fired : now;
    ao_time missed = (now - from) / r->every;
    job->due = r->every < AO_NEVER - now ? from + (missed + 1) * r->every : AO_NEVER;
    if (job->durable != DURABLE_NONE)
        job_effect(scheduler_of(a)->table, job, EFFECT_WRITE);
}

void reminders_again(struct actor *a, struct job *job)
{
    struct scheduler *s = scheduler_of(a);
    job->failures = 0;
    job_message(job)->round = job->attempt;
    if (job->due > table_now(s->table))
        job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_DELAY);
    else
        job_schedule(s, job, false);
}

/* --- Withdrawn --- */

static bool fits(const struct job *job, struct span name)
{
    return !job_message(job)->withdrawn &&
           (name.len == 0 || span_equal(job_reminder_name(job), name));
}

bool reminders_withdraw(struct actor *a, struct span name, struct withdrawn *all)
{
    uint32_t count = 0;
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        count += fits(job, name);
    if (count == 0)
        return true;
    uint64_t *ids = realloc(all->ids, (all->count + count) * sizeof *ids);
    if (!ids)
        return false;
    all->ids = ids;
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        if (fits(job, name)) {
            job_message(job)->withdrawn = true;
            ids[all->count++] = job->id;
        }
    return true;
}

static void free_withdrawn(struct withdrawn *all)
{
    free(all->ids);
    *all = (struct withdrawn){0};
}

/* NULL: it is gone. */
static struct job *released(const struct actor *a, uint64_t id)
{
    struct job *job = table_find(scheduler_of(a)->table, id);
    if (job)
        job_message(job)->withdrawn = job_message(job)->row_held = false;
    return job;
}

/* Writes the row that was held back. */
static void write_late(const struct actor *a, struct job *job)
{
    if (job_is(job, JOB_DIRTY))
        journal_write(a->type->actors->jobs, job);
}

void reminders_confirm(struct actor *a, struct withdrawn *all, const struct job *own)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct job *job = released(a, all->ids[i]);
        if (!job)
            continue;
        if (!job_is_open(job)) { /* it was cancelled meanwhile */
            write_late(a, job);
            continue;
        }
        reminders_unname(a, job);
        if (job != own)
            job_cancel(scheduler_of(a), job);
    }
    free_withdrawn(all);
}

void reminders_restore(struct actor *a, struct withdrawn *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct job *job = released(a, all->ids[i]);
        if (!job)
            continue;
        write_late(a, job);
        if (job_is_open(job) && job->state == JOB_WAITING && job->reason == JOB_WHY_COMMIT)
            job_schedule(scheduler_of(a), job, false);
    }
    free_withdrawn(all);
}

/* The turn's write has the outcome. */
static void row_back(struct jobs *jobs, struct store_op *row)
{
    (void)jobs;
    (void)row;
}

/* NULL: it has ended meanwhile. */
static struct job *open_job(const struct actor *a, uint64_t id)
{
    struct job *job = table_find(scheduler_of(a)->table, id);
    return job && job_is_open(job) ? job : NULL;
}

bool reminders_write(struct actor *a, const struct withdrawn *all, const struct job *own,
                     struct store_op *group, uint32_t *count)
{
    *count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        struct job *job = open_job(a, all->ids[i]);
        if (!job || job == own || job->durable == DURABLE_NONE)
            continue;
        job_message(job)->row_held = true;
        if (job->saved == JOB_SAVED_NOTHING && job->pending == 0)
            continue; /* its first row failed, and is held, too */
        struct store_op *row = codec_cancel(a->type->actors->jobs, job, row_back);
        if (!row)
            return false;
        codec_group_add(group, row);
        ++*count;
    }
    return true;
}
