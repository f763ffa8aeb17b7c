#include "server/jobs/actors/steps.h"

#include <stdio.h>

#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/queueing.h"
#include "server/tasks/registry.h"

enum { SUBMIT_WORK = 10, LOOK_WORK = 1 /* see jobs_worked() */ };

static struct scheduler *scheduler_of(const struct actor *a)
{
    return jobs_scheduler(a->type->actors->jobs);
}

bool steps_are_offered(const struct actor_type *type)
{
    struct job_table *table = jobs_table(type->actors->jobs);
    const struct job_queue *q = type->step ? table_queue_find(table, type->step->name) : NULL;
    if (!type->step)
        return false;
    return q ? queue_is_served(q) : type->step->handler != NULL;
}

bool steps_want(struct actor *a, ao_time delay)
{
    struct actors *actors = a->type->actors;
    struct actor_more *more = a->more;
    if (!a->type->step || (more && (more->step || more->stopped || more->wants_step)))
        return false;
    if (!steps_are_offered(a->type) || !(more = actor_more(a)))
        return false; /* see look_at() */
    more->wants_step = true;
    more->step_delay = delay;
    if (more->is_listed)
        return true;
    more->is_listed = true;
    more->next_step = actors->steps;
    actors->steps = more;
    jobs_activate(actors->jobs);
    return true;
}

/* Without room it is tried again, which is when another message comes or a reload makes room. */
static void submit(struct actors *actors, struct actor *a)
{
    char text[JOB_TEXT_MAX] = "";
    struct submitted done;
    struct job_spec spec = {JOB_SPEC_DEFAULTS,           .method = a->type->step->name,
                            .params = span_text("\x90"), .tenant = a->tenant->name,
                            .actor = actor_name(a),      .delay = a->more->step_delay};
    spec.priority = 0;
    spec.durable = DURABLE_NONE; /* unless its type is durable */
    actors->submits = true;
    enum ergon_error error = job_submit(actors->jobs, &spec, NULL, &done, text, sizeof text);
    actors->submits = false;
    if (error == ERGON_OK)
        steps_adopt(a, done.job);
    else
        log_warn("an actor cannot be stepped",
                 LOG_STR("type", (const char *)method_name(a->type->step)), LOG_STR("text", text));
}

/* --- Hosts come and go --- */

void steps_offered(struct actors *actors)
{
    actors->step_look = SIZE_MAX;
    jobs_activate(actors->jobs);
}

/* One that waited aside goes on by itself: see offers_changed(). */
static void look_at(struct actor *a)
{
    struct job *step = a->more ? a->more->step : NULL;
    if (!a->type->step)
        return;
    if (steps_are_offered(a->type)) {
        if (!step && a->residence == ACTOR_HERE && actor_is_there(a))
            steps_want(a, 0); /* a message came meanwhile */
    } else if (step && job_is(step, JOB_ENQUEUED)) {
        job_unplace(scheduler_of(a), step);
        job_schedule(scheduler_of(a), step, false);
    }
}

/* Of all actors in memory; from the last bucket, and anew when the table has grown.  True: nothing
 * is left. */
static bool look(struct actors *actors)
{
    const struct hash_table *all = &actors->by_name;
    if (actors->step_look > all->size || actors->step_size != all->size)
        actors->step_look = actors->step_look > 0 ? all->size : 0;
    actors->step_size = all->size;
    for (; actors->step_look > 0 && jobs_have_time(actors->jobs); actors->step_look--) {
        struct hash_link *next;
        for (struct hash_link *link = all->buckets[actors->step_look - 1]; link; link = next) {
            struct actor *a = (struct actor *)link;
            jobs_worked(actors->jobs, LOOK_WORK);
            a->jobs++; /* it stays meanwhile */
            look_at(a);
            a->jobs--;
            next = link->next;
            actor_settle(a);
        }
    }
    return actors->step_look == 0;
}

bool steps_submit(struct actors *actors)
{
    struct actor_more *more;
    bool looked = look(actors);
    while ((more = actors->steps) && jobs_have_time(actors->jobs)) {
        actors->steps = more->next_step;
        jobs_worked(actors->jobs, SUBMIT_WORK);
        if (more->wants_step && !more->stopped && !more->step)
            submit(actors, more->actor);
        more->wants_step = more->is_listed = false; /* until here it keeps `more` */
        actor_settle(more->actor);
    }
    return looked && !more;
}

/* Says the row all that counts, but for the number of the attempt that is over? */
static bool is_written(const struct job *job, ao_time due)
{
    return job->due == due && job->failures == 0 && job->row == JOB_QUEUED && job->pending == 0 &&
           !job_is(job, JOB_DIRTY | JOB_UNSAVED | JOB_REWRITE) && !(job->effects & EFFECT_WRITE);
}

/* The board may forget that attempt, as if the row knew of it. */
static void keep_row(struct scheduler *s, struct job *job)
{
    job->row_attempt = job->saved_attempt = job->attempt;
    board_saved(s->board, job);
}

static void sleep_until(struct actor *a, struct job *job, ao_time due)
{
    struct scheduler *s = scheduler_of(a);
    bool written = is_written(job, due);
    job->due = due;
    if (written)
        keep_row(s, job);
    else if (job->durable != DURABLE_NONE)
        job_effect(s->table, job, EFFECT_WRITE);
    if (due > table_now(s->table))
        job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_SLEEP);
    else
        job_schedule(s, job, false);
}

static ao_time due_of(const struct actor *a, const struct turn_changes *c)
{
    if (c->sleep == TURN_SLEEP_UNSAID)
        return 0;
    return c->sleep == TURN_SLEEP_UNTIL_WOKEN
               ? AO_NEVER
               : table_time_after(scheduler_of(a)->table, c->sleep_for);
}

bool steps_adopt(struct actor *a, struct job *job)
{
    if (!a->more->step)
        a->more->step = job;
    if (a->more->step == job)
        return true;
    /* It may have ended before: only an open job ends. */
    job_set_state(scheduler_of(a)->table, job, JOB_WAITING, JOB_WHY_ACTOR);
    job_mark(job, JOB_CANCEL);
    job_end(scheduler_of(a), job, JOB_CANCELLED, NULL, NULL);
    return false;
}

void steps_next_round(const struct actor *a, struct job *job)
{
    struct job_table *table = scheduler_of(a)->table;
    job_message(job)->round = (uint32_t)stamp_next(&table->last_stamp, table_wall(table));
}

void steps_again(struct actor *a, struct job *job, const struct turn_changes *c)
{
    if (job->failures > 0)
        job_effect(scheduler_of(a)->table, job, EFFECT_WRITE);
    job->failures = 0;
    steps_next_round(a, job);
    sleep_until(a, job, due_of(a, c));
}

/* Its turn has not come: it waits behind others, or for the disk, or for a host. */
static bool waits(const struct actor *a, const struct job *step)
{
    return step && (step->list == &a->more->waiting ||
                    (step->state == JOB_WAITING &&
                     (step->reason == JOB_WHY_NO_EXECUTOR ||
                      (step == a->more->head && step->reason == JOB_WHY_COMMIT))));
}

/* One that failed waits for its next attempt, and does not sleep. */
static bool sleeps(const struct job *step)
{
    return step && step->state == JOB_DELAYED &&
           (step->reason == JOB_WHY_SLEEP || step->reason == JOB_WHY_DELAY);
}

static void put_to_sleep(struct actor *a, const struct turn_changes *c)
{
    struct job *step = a->more->step;
    if (!step && a->more->wants_step)
        a->more->step_delay = c->sleep_for;
    if (!sleeps(step) && !waits(a, step))
        return;
    actor_leave(a, step);
    job_list_remove(step);
    sleep_until(a, step, due_of(a, c));
}

void steps_change(struct actor *a, const struct turn_changes *c)
{
    if (c->wakes)
        actor_wake(a);
    else if (c->sleep != TURN_SLEEP_UNSAID)
        put_to_sleep(a, c);
}

bool actor_wake(struct actor *a)
{
    struct job *step = a->more ? a->more->step : NULL;
    if (!sleeps(step))
        return false;
    job_unplace(scheduler_of(a), step);
    sleep_until(a, step, 0);
    return true;
}

ao_time actor_next(const struct actor *a)
{
    const struct job *step = a->more ? a->more->step : NULL;
    return sleeps(step) ? step->due : 0;
}

/* One that failed for good is given time. */
bool steps_ended(struct actor *a, const struct job *job)
{
    a->more->step = NULL;
    if (job->state == JOB_CANCELLED)
        return !steps_are_offered(a->type);
    steps_want(a, job->state == JOB_DONE ? 0 : a->type->policy.backoff_max);
    return true;
}

void steps_stop(struct actor *a)
{
    struct job *step = a->more ? a->more->step : NULL;
    if (!a->more)
        return;
    a->more->wants_step = false;
    if (!step || job_state_runs((enum job_state)step->state))
        return;
    a->more->step = NULL;
    job_mark(step, JOB_CANCEL);
    job_end(scheduler_of(a), step, JOB_CANCELLED, NULL, NULL);
}
