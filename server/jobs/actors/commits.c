#include "server/jobs/actors/commits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/queueing.h"

struct actor_write {
    struct job *job;           /* of a turn; NULL: it has ended by itself */
    struct attempt_turn *turn; /* of a turn */
    struct job **sent;         /* by a turn: jobs that are held (journal.h); malloc'ed */
    uint32_t sent_count;
    struct withdrawn gone;   /* reminders that a turn forgets */
    uint32_t gone_rows;      /* of these in the group that is under way */
    struct actor_act act;    /* of an act; of a turn `stopped` */
    struct blob *state;      /* a reference: what the row under way points into; NULL */
    enum store_error failed; /* how its last row came back; STORE_OK: none did */
    bool under_way;
    bool unsaved; /* the actor was, when the row was made */
};

static struct jobs *jobs_of_actor(const struct actor *a)
{
    return a->type->actors->jobs;
}

static struct scheduler *scheduler_of(const struct actor *a)
{
    return jobs_scheduler(jobs_of_actor(a));
}

static void write_free(struct actor_write *w)
{
    if (!w)
        return;
    turn_free(w->turn);
    free(w->sent);
    free(w->gone.ids);
    free(w->act.stopped);
    blob_unref(w->state);
    free(w);
}

/* --- The row --- */

struct image {
    struct blob *state; /* borrowed */
    uint64_t version;
    uint32_t schema;
    const char *stopped;
    uint64_t stopped_at;
};

static struct image image_of(const struct actor *a)
{
    const struct actor_more *more = a->more;
    return (struct image){.state = a->state,
                          .version = a->version,
                          .schema = a->schema,
                          .stopped = more->stopped,
                          .stopped_at = more->stopped ? more->stopped_at : 0};
}

static void add_turn(const struct actor *a, struct image *i, const struct turn_changes *c)
{
    bool drops = !c->state && c->drops && a->state;
    if (!c->state && !drops)
        return;
    i->state = c->state;
    i->schema = c->state ? c->schema : 0;
    i->version++;
}

static void add_act(const struct actor *a, struct image *i, const struct actor_act *act)
{
    if (act->starts)
        i->stopped = NULL;
    if (act->stopped) {
        i->stopped = act->stopped;
        i->stopped_at = table_wall(scheduler_of(a)->table);
    }
    if (act->resets) {
        i->state = NULL;
        i->schema = 0;
        i->version++;
    }
}

static struct store_op *row_new(struct actor *a, struct actor_write *w, enum store_kind kind,
                                write_done *done)
{
    struct image i = image_of(a);
    if (w->turn)
        add_turn(a, &i, &w->turn->changes);
    add_act(a, &i, &w->act);
    struct span stopped = i.stopped ? span_text(i.stopped) : (struct span){0};
    struct store_op *row = codec_row_new(jobs_of_actor(a), kind, &store_actors, stopped.len, done);
    if (!row)
        return NULL;
    uint8_t *at = (uint8_t *)(row + 1);
    row->owner = a;
    *(struct store_actor *)row->row =
        (struct store_actor){.tenant = a->tenant->name,
                             .type = a->type->name,
                             .key = actor_key(a),
                             .version = i.version,
                             .schema = i.schema,
                             .stopped = span_put(stopped, &at),
                             .stopped_at = i.stopped ? i.stopped_at : 0,
                             .changed_at = table_wall(scheduler_of(a)->table),
                             .state = i.state ? blob_bytes(i.state) : (struct span){0}};
    blob_unref(w->state);
    w->state = i.state ? blob_ref(i.state) : NULL;
    w->unsaved = a->unsaved;
    a->unsaved = false;
    return row;
}

static void pushed(struct actor_write *w)
{
    w->under_way = true;
    w->failed = STORE_OK;
}

static void write_back(struct actor *a, struct actor_write *w, enum store_error error)
{
    assert(w && w->under_way);
    w->under_way = false;
    w->failed = error;
    if (error != STORE_OK)
        a->unsaved |= w->unsaved;
}

/* --- A turn --- */

static bool changes_row(const struct actor *a, const struct turn_changes *c)
{
    return c->state || (c->drops && a->state) || c->stops;
}

/* A new job, of which nobody knows before it is on disk. */
static bool is_held(const struct submitted *done)
{
    return !done->duplicate && !done->coalesced && durable_is_awaited(done->job->durable);
}

bool commits_wants(const struct actor *a, const struct turn_changes *c, const struct outbox *sent)
{
    bool wants = changes_row(a, c);
    for (uint32_t i = 0; i < sent->count; i++)
        wants |= is_held(&sent->made[i]);
    return (wants || sent->gone.count > 0) && actor_is_durable(a);
}

static void turn_back(struct jobs *jobs, struct store_op *group);
static void turn_back_alone(struct jobs *jobs, struct store_op *group);

static bool has_row(const struct job *job)
{
    return job->durable != DURABLE_NONE && !job_message(job)->is_step;
}

static void turn_failed(struct actor *a, enum store_error error);

/* The group of the turn has the outcome. */
static void member_back(struct jobs *jobs, struct store_op *row)
{
    (void)jobs;
    (void)row;
}

static bool add_sent(struct actor *a, const struct actor_write *w, struct store_op *group)
{
    for (uint32_t i = 0; i < w->sent_count; i++) {
        struct store_op *row = journal_held_row(jobs_of_actor(a), w->sent[i]);
        if (!row)
            return false;
        codec_group_add(group, row);
    }
    return true;
}

static bool add_row(struct actor *a, struct actor_write *w, struct store_op *group)
{
    struct store_op *row = row_new(a, w, STORE_ROW_PUT, member_back);
    if (row)
        codec_group_add(group, row);
    return row != NULL;
}

/* Its members come back as if they had failed. */
static void undo_group(struct actor *a, struct store_op *group)
{
    for (struct store_op *m = group->group.first; m; m = m->next) {
        m->error = STORE_MEMORY;
        codec_member_back(jobs_of_actor(a), m);
    }
    codec_write_free(jobs_of_actor(a), group);
}

/* NULL without memory. */
static struct store_op *group_new(struct actor *a, struct actor_write *w, write_done *done)
{
    struct store_op *group = codec_write_new(jobs_of_actor(a), STORE_GROUP, 0, done);
    if (!group)
        return NULL;
    group->owner = a;
    if (!add_sent(a, w, group) || !reminders_write(a, &w->gone, w->job, group, &w->gone_rows) ||
        (changes_row(a, &w->turn->changes) && !add_row(a, w, group))) {
        undo_group(a, group);
        return NULL;
    }
    pushed(w);
    return group;
}

/* By itself: of a step, or of a message without a row. */
static void push_alone(struct actor *a)
{
    struct store_op *group = group_new(a, a->more->turn, turn_back_alone);
    if (group)
        store_push(jobs_store(jobs_of_actor(a)), group);
    else
        turn_failed(a, STORE_MEMORY);
}

static void detach(struct message *m, struct attempt_turn *turn)
{
    struct attempt_turn **at = &m->turns;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->next = NULL;
}

/* NULL without memory. */
static struct actor_write *write_of_turn(struct job *job, struct attempt_turn *turn,
                                         const struct outbox *sent)
{
    const struct turn_changes *c = &turn->changes;
    struct actor_write *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    *w = (struct actor_write){.job = job, .turn = turn};
    if (sent->count > 0)
        w->sent = calloc(sent->count, sizeof(struct job *));
    if (c->stops)
        w->act.stopped = strdup(c->stop);
    if ((sent->count == 0 || w->sent) && (!c->stops || w->act.stopped))
        return w;
    w->turn = NULL; /* it stays the message's */
    write_free(w);
    return NULL;
}

/* The write has what was withdrawn from now on. */
static void hold(struct actor *a, struct actor_write *w, struct outbox *sent)
{
    w->gone = sent->gone;
    sent->gone = (struct withdrawn){0};
    for (uint32_t i = 0; i < sent->count; i++)
        if (is_held(&sent->made[i])) {
            journal_hold(jobs_of_actor(a), sent->made[i].job);
            w->sent[w->sent_count++] = sent->made[i].job;
        }
}

enum message_verdict commits_begin(struct actor *a, struct job *job, struct attempt_turn *turn,
                                   struct outbox *sent, struct refusal *why)
{
    bool moves = reminders_moves(job);
    struct message *m = job_message(job);
    struct actor_write *w = write_of_turn(job, turn, sent);
    assert(!a->more->turn);
    if (!w) {
        refusal_set(why, ERGON_E_MEMORY, "there is no memory to write them");
        return MESSAGE_BAD;
    }
    hold(a, w, sent);
    detach(m, turn);
    a->more->turn = w;
    if (m->is_step) {
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else if (moves) {
        m->writes = true; /* its row says when it comes again */
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else {
        m->writes = true;
        job_end(scheduler_of(a), job, JOB_DONE, NULL, NULL);
    }
    if (!has_row(job) && !a->more->act)
        push_alone(a);
    return m->is_step || moves ? MESSAGE_GOES_ON : MESSAGE_ENDS;
}

enum message_write commits_group(struct actor *a, struct job *job, struct store_op **group)
{
    struct actor_write *w = a->more->turn;
    assert(w && w->job == job);
    if (w->under_way || a->more->act)
        return MESSAGE_WRITE_LATER;
    *group = group_new(a, w, turn_back);
    return *group ? MESSAGE_WRITE : MESSAGE_WRITE_NO_MEMORY;
}

void commits_alone(struct actor *a, struct job *job)
{
    struct actor_write *w = a->more->turn;
    assert(w && w->job == job && !w->under_way);
    if (!a->more->act)
        push_alone(a);
}

bool commits_is_of(const struct actor *a, const struct job *job)
{
    return a->more->turn && a->more->turn->job == job;
}

void commits_leave(struct actor *a, const struct job *job)
{
    if (a->more && a->more->turn && a->more->turn->job == job)
        a->more->turn->job = NULL;
}

/* What it sent will not be written, nor what it forgets. */
static void let_go(struct actor *a, enum store_error error)
{
    struct actor_write *w = a->more->turn;
    reminders_restore(a, &w->gone);
    for (uint32_t i = 0; i < w->sent_count; i++)
        journal_let_go(jobs_of_actor(a), w->sent[i], error);
    w->sent_count = 0;
}

static void turn_ends(struct actor *a)
{
    struct actor_write *w = a->more->turn;
    a->more->turn = NULL;
    if (w->job)
        job_message(w->job)->writes = false;
    write_free(w);
}

/* A write of this actor is over: the next may begin. */
static void go_on(struct actor *a)
{
    struct actor_write *w = a->more->turn;
    if (!w) {
        commits_serve(a);
        return;
    }
    if (w->under_way || a->more->act)
        return;
    if (w->job && has_row(w->job))
        journal_write(jobs_of_actor(a), w->job);
    else
        push_alone(a);
}

/* --- A turn that is on disk --- */

/* Of a step, or of a reminder that comes again. */
static void step_goes_on(struct actor *a, struct job *job, struct turn_changes *c)
{
    if (mailbox_apply(a, job, c) == MESSAGE_ENDS)
        job_end(scheduler_of(a), job, JOB_DONE, NULL, NULL);
}

static void turn_taken(struct actor *a)
{
    struct actor_write *w = a->more->turn;
    struct turn_changes *c = &w->turn->changes;
    struct job *job = w->job;
    reminders_confirm(a, &w->gone, job);
    if (job)
        job_message(job)->writes = false;
    w->job = NULL;
    if (c->stops) {
        actor_stop_as(a, w->act.stopped, table_wall(scheduler_of(a)->table));
        w->act.stopped = NULL;
    }
    bool goes_on = job && (job_message(job)->is_step || job_reminder(job));
    if (goes_on && job_is(job, JOB_ENDING) && job->ending == JOB_CANCELLED)
        job = NULL; /* it was cancelled meanwhile */
    if (job && !job_is(job, JOB_ENDING)) {
        a->more->turn = NULL; /* so that it may join again */
        step_goes_on(a, job, c);
        write_free(w);
        return;
    }
    mailbox_apply(a, job, c);
    if (job && !has_row(job))
        job_end_saved(scheduler_of(a), job);
    turn_ends(a);
}

/* --- A turn that could not be written --- */

/* Its caller learns it, and nothing has changed. */
static void end_failed(struct actor *a, struct job *job, enum store_error error)
{
    job_end_otherwise(scheduler_of(a), job, JOB_FAILED, error_name(ERGON_E_STORE),
                      store_error_text(error));
}

static void message_failed(struct actor *a, struct job *job, enum store_error error)
{
    if (!has_row(job)) {
        let_go(a, error);
        turn_ends(a);
        end_failed(a, job, error);
        job_end_saved(scheduler_of(a), job);
    } else if (error == STORE_REFUSED) {
        let_go(a, error);
        turn_ends(a);
        job_message(job)->refused = true;
        if (job_is(job, JOB_ENDING))
            end_failed(a, job, error);
        else
            outcome_failed(scheduler_of(a), job, JOB_EVENT_ATTEMPT_FAILED,
                           error_name(ERGON_E_STORE), store_error_text(error), (struct span){0});
    } /* else its row is written again, with all of this */
}

static void step_failed(struct actor *a, struct job *job, enum store_error error)
{
    if (error != STORE_REFUSED && job_is_open(job)) {
        a->more->turn->failed = error;
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_STORE);
        commits_again(a);
        return;
    }
    let_go(a, error);
    turn_ends(a);
    if (job_is_open(job))
        outcome_failed(scheduler_of(a), job, JOB_EVENT_ATTEMPT_FAILED, error_name(ERGON_E_STORE),
                       store_error_text(error), (struct span){0});
}

static void turn_failed(struct actor *a, enum store_error error)
{
    struct job *job = a->more->turn->job;
    if (job && job_message(job)->is_step) {
        step_failed(a, job, error);
    } else if (job) {
        message_failed(a, job, error);
    } else {
        let_go(a, error);
        turn_ends(a);
    }
}

/* What it sent, and its own row; the last may be that of its message, which is for the end. */
static struct store_op *members_back(struct jobs *jobs, struct store_op *group, uint32_t count)
{
    struct store_op *m = group->group.first;
    for (; m && count > 0; m = m->next, count--)
        codec_member_back(jobs, m);
    return m;
}

static void turn_back(struct jobs *jobs, struct store_op *group)
{
    struct actor *a = group->owner;
    struct actor_write *w = a->more->turn;
    bool has_actor = changes_row(a, &w->turn->changes);
    a->jobs++; /* it stays meanwhile */
    struct store_op *rest = members_back(jobs, group, w->sent_count + w->gone_rows + has_actor);
    write_back(a, w, group->error);
    if (group->error == STORE_OK)
        turn_taken(a);
    else
        turn_failed(a, group->error);
    if (rest)
        codec_member_back(jobs, rest);
    if (!a->more->turn || group->error != STORE_OK)
        commits_serve(a);
    a->jobs--;
    actor_settle(a);
}

static void turn_back_alone(struct jobs *jobs, struct store_op *group)
{
    journal_notice(jobs, group);
    turn_back(jobs, group);
}

void commits_drop(struct actor *a)
{
    struct actor_write *w = a->more ? a->more->turn : NULL;
    struct job *job = w ? w->job : NULL;
    if (!w)
        return;
    assert(!w->under_way);
    let_go(a, STORE_CLOSED);
    turn_ends(a);
    if (!job || job_message(job)->is_step)
        return; /* a step is the head, and is cancelled as that */
    job_mark(job, JOB_CANCEL);
    job_end_otherwise(scheduler_of(a), job, JOB_CANCELLED, NULL, NULL);
    if (has_row(job))
        journal_write(jobs_of_actor(a), job);
    else
        job_end_saved(scheduler_of(a), job);
}

/* --- Operations --- */

void commits_await(struct actor *a, struct operation *op)
{
    struct operation **at = &a->more->ops;
    while (*at)
        at = &(*at)->next;
    *at = op;
    op->next = NULL;
}

void commits_serve(struct actor *a)
{
    struct operation *op = a->more->ops, *next;
    a->more->ops = NULL;
    a->jobs++;
    for (; op; op = next) {
        next = op->next;
        op->cls->serve(jobs_of_actor(a), op);
    }
    a->jobs--;
}

/* The row of its message failed before, and is tried again some time. */
static bool is_stuck(const struct actor_write *w)
{
    return w->failed != STORE_OK || (!w->under_way && w->job && job_is(w->job, JOB_UNSAVED));
}

static void refuse_stuck(const struct actor *a, struct operation *op)
{
    enum store_error last = jobs_journal(jobs_of_actor(a))->error;
    if (a->more->turn->failed != STORE_OK)
        last = a->more->turn->failed;
    sync_refuse(op, last != STORE_OK ? last : STORE_IO);
}

/* A turn waits for another write of its message, which may fail. */
static void await_write(struct actor *a, struct operation *op)
{
    commits_await(a, op);
    if (!a->more->act && !a->more->turn->under_way)
        commits_again(a);
}

bool commits_may_act(struct actor *a, struct operation *op)
{
    struct actor_more *more = actor_more(a);
    if (!more)
        operation_refuse_plain(op, ERGON_E_MEMORY);
    else if (!more->turn && !more->act)
        return true;
    else if (more->turn && is_stuck(more->turn))
        refuse_stuck(a, op);
    else
        await_write(a, op);
    return false;
}

static void act_back(struct jobs *jobs, struct store_op *row)
{
    struct actor *a = row->owner;
    struct actor_write *w = a->more->act;
    struct actor_act *act = &w->act;
    journal_notice(jobs, row);
    a->jobs++;
    write_back(a, w, row->error);
    a->more->act = NULL;
    if (row->error == STORE_OK && act->stopped) {
        actor_stop_as(a, act->stopped, ((const struct store_actor *)row->row)->stopped_at);
        act->stopped = NULL;
    }
    if (row->error == STORE_OK && act->done)
        act->done(a, act->op);
    else if (act->op)
        sync_refuse(act->op, row->error);
    else if (row->error != STORE_OK)
        commits_again(a);
    write_free(w);
    if (actor_more(a)) /* the drop of an actor may have taken it */
        go_on(a);
    a->jobs--;
    actor_settle(a);
}

static bool push_act(struct actor *a, const struct actor_act *act)
{
    struct actor_write *w = calloc(1, sizeof *w);
    struct store_op *row = NULL;
    if (w) {
        w->act = *act;
        row = row_new(a, w, act->removes ? STORE_ROW_REMOVE : STORE_ROW_PUT, act_back);
    }
    if (!row) {
        if (w)
            w->act.stopped = NULL; /* the caller's */
        write_free(w);
        return false;
    }
    a->more->act = w;
    pushed(w);
    store_push(jobs_store(jobs_of_actor(a)), row);
    return true;
}

void commits_act(struct actor *a, const struct actor_act *act)
{
    if (push_act(a, act))
        return;
    free(act->stopped);
    operation_refuse_plain(act->op, ERGON_E_MEMORY);
    actor_settle(a);
}

/* --- Again --- */

void commits_again(struct actor *a)
{
    struct actor_more *more = actor_more(a);
    if (!more)
        return;
    if (!more->again)
        LIST_INSERT_HEAD(&a->type->actors->again, more, by_again);
    more->again = true;
    journal_try_later(jobs_of_actor(a));
}

bool commits_try_step(struct actor *a)
{
    struct actor_write *w = a->more->turn;
    bool is_stuck = w && w->failed != STORE_OK && !w->under_way && !a->more->act;
    if (!is_stuck || (w->job && !job_message(w->job)->is_step))
        return false;
    push_alone(a);
    return true;
}

/* The next write of a turn has it, too. */
void commits_save(struct actor *a)
{
    static const struct actor_act as_it_is = {0};
    struct actor_more *more = actor_more(a);
    a->unsaved = true;
    if (!more)
        return;
    if (more->turn || more->act || !push_act(a, &as_it_is))
        commits_again(a);
}

void commits_fini(struct actor_more *more)
{
    write_free(more->turn);
    write_free(more->act);
    more->turn = more->act = NULL;
}
