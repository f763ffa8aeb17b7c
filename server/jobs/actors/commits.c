#include "server/jobs/actors/commits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/actors/counts.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/sync.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/queueing.h"

enum {
    CHAIN_MOST = 1024,         /* turns of an actor that wait for their commit */
    CHAIN_BYTES_MOST = 4 << 20 /* of the states that they made */
};

static struct jobs *jobs_of_actor(const struct actor *a)
{
    return a->type->actors->jobs;
}

static struct scheduler *scheduler_of(const struct actor *a)
{
    return jobs_scheduler(jobs_of_actor(a));
}

/* --- A turn --- */

static struct actor_image with_turn(struct actor_image i, const struct turn_changes *c)
{
    if (c->state)
        return (struct actor_image){{blob_bytes(c->state), c->state}, i.version + 1, c->schema};
    if (c->drops && i.state.raw.len > 0)
        return (struct actor_image){.version = i.version + 1};
    return i;
}

static bool changes_row(const struct actor_image *i, const struct turn_changes *c)
{
    return c->state || (c->drops && i->state.raw.len > 0) || c->stops;
}

bool commits_wants(const struct actor *a, const struct turn_changes *c, const struct outbox *sent)
{
    struct actor_image i = writes_front(a);
    bool wants = changes_row(&i, c);
    for (uint32_t n = 0; n < sent->count; n++)
        wants |= submitted_is_held(&sent->made[n]);
    wants |= sent->gone.count > 0 || joined_awaits(&sent->joined);
    return (wants && actor_is_durable(a)) || writes_last(a);
}

static void turn_back(struct jobs *jobs, struct store_op *group);
static void turn_back_alone(struct jobs *jobs, struct store_op *group);

static bool has_row(const struct job *job)
{
    return job->durable != DURABLE_NONE && !job_message(job)->is_step;
}

static void turn_failed(struct actor *a, struct actor_write *w, enum store_error error);

/* By itself: of a step, or of a message without a row. */
static void push_alone(struct actor *a, struct actor_write *w)
{
    struct store_op *group = writes_turn(a, w, turn_back_alone);
    w->is_alone = true;
    if (group)
        store_push(jobs_store(jobs_of_actor(a)), group);
    else
        turn_failed(a, w, STORE_MEMORY);
}

/* What steps and reminders do is not undone: so such a turn begins on what is on disk, and none
 * begins behind it. */
static bool is_last(const struct job *job, const struct turn_changes *c)
{
    const struct message *m = job_message(job);
    bool is = m->is_step || m->is_reminder || c->drops;
    for (const struct turn_message *sent = c->messages.first; sent; sent = sent->next)
        is |= sent->reminder.len > 0;
    return is;
}

static void detach(struct message *m, struct attempt_turn *turn)
{
    struct attempt_turn **at = &m->turns;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->next = NULL;
}

/* A small state that stays is the actor's own, which changes behind this write, or see act_back().
 */
static void base_on(struct actor_write *w, struct actor_image i)
{
    w->after = with_turn(i, &w->turn->changes);
    w->changes_row = changes_row(&i, &w->turn->changes);
    if (w->after.state.shared)
        blob_ref(w->after.state.shared);
}

static bool has_group(const struct actor_write *w)
{
    return w->changes_row || w->sent_count > 0 || w->gone.count > 0 || (w->job && has_row(w->job));
}

/* NULL without memory. */
static struct actor_write *write_of_turn(struct actor *a, struct job *job,
                                         struct attempt_turn *turn, const struct outbox *sent)
{
    const struct turn_changes *c = &turn->changes;
    struct actor_write *w = malloc(sizeof *w);
    if (!w)
        return NULL;
    *w = (struct actor_write){.actor = a, .job = job, .turn = turn};
    w->number = ++a->type->actors->writes;
    base_on(w, writes_front(a));
    /* Behind a chain it is in it, too, though its type has no `pipeline` any more. */
    w->in_chain = (a->type->policy.pipeline || a->more->turn) && !is_last(job, c);
    if (sent->count > 0)
        w->sent = calloc(sent->count, sizeof(struct job *));
    if (c->stops)
        w->act.stopped = strdup(c->stop);
    if ((sent->count == 0 || w->sent) && (!c->stops || w->act.stopped))
        return w;
    w->turn = NULL; /* it stays the message's */
    writes_free(w);
    return NULL;
}

/* Does the group of this write, or of one before it, have the first row of this job? */
static bool has_row_of(const struct actor *a, uint64_t id)
{
    for (const struct actor_write *w = a->more->turn; w; w = w->next) {
        if (w->job && w->job->id == id)
            return true;
        for (uint32_t i = 0; i < w->sent_count; i++)
            if (w->sent[i]->id == id)
                return true;
    }
    return false;
}

static void await_joined(struct actor *a, struct actor_write *w)
{
    for (uint32_t i = 0; i < w->joined.count; i++) {
        struct joined_job *one = &w->joined.jobs[i];
        one->awaited = one->awaited && !has_row_of(a, one->id);
    }
    writes_await(w, joined_awaits(&w->joined));
}

/* The write has what was withdrawn, and what was joined, from now on. */
static void hold(struct actor *a, struct actor_write *w, struct outbox *sent)
{
    w->gone = sent->gone;
    sent->gone = (struct withdrawn){0};
    w->joined = sent->joined;
    sent->joined = (struct joined){0};
    for (uint32_t i = 0; i < sent->count; i++)
        if (submitted_is_held(&sent->made[i])) {
            journal_hold(jobs_of_actor(a), sent->made[i].job);
            w->sent[w->sent_count++] = sent->made[i].job;
        }
}

enum message_verdict commits_begin(struct actor *a, struct job *job, struct attempt_turn *turn,
                                   struct outbox *sent, struct refusal *why)
{
    bool moves = reminders_moves(job);
    struct message *m = job_message(job);
    struct actor_write *w = write_of_turn(a, job, turn, sent);
    assert(!a->more->turn || a->more->last_turn->in_chain);
    if (!w) {
        refusal_set(why, ERGON_E_MEMORY, "there is no memory to write them");
        return MESSAGE_BAD;
    }
    hold(a, w, sent);
    detach(m, turn);
    w->has_group = has_group(w);
    writes_add(a, w);
    await_joined(a, w);
    if (m->is_step) {
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else if (moves) {
        m->writes = true; /* its row says when it comes again */
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else {
        m->writes = true;
        job_end(scheduler_of(a), job, JOB_DONE, NULL, NULL);
    }
    if (w->in_chain)
        actor_leave(a, job); /* the next has its turn: commits_resume() */
    if (w->has_group && !has_row(job) && !a->more->act && !w->awaits)
        push_alone(a, w);
    return m->is_step || moves ? MESSAGE_GOES_ON : MESSAGE_ENDS;
}

static void begin_next(struct actor *a);

enum message_write commits_group(struct actor *a, struct job *job, struct store_op **group)
{
    struct actor_write *w = writes_of(a, job);
    assert(w);
    if (w->under_way || a->more->act || w->awaits || a->more->doomed != STORE_OK)
        return MESSAGE_WRITE_LATER;
    *group = writes_turn(a, w, turn_back);
    w->has_group |= *group != NULL; /* it had none, and its message has a row by now */
    if (*group && w->in_chain)
        begin_next(a);
    return *group ? MESSAGE_WRITE : MESSAGE_WRITE_NO_MEMORY;
}

void commits_alone(struct actor *a, struct job *job)
{
    struct actor_write *w = writes_of(a, job);
    assert(w && !w->under_way);
    if (!a->more->act && !w->awaits && a->more->doomed == STORE_OK)
        push_alone(a, w);
}

static void turn_ends(struct actor *a, struct actor_write *w)
{
    writes_remove(a, w);
    writes_free(w);
}

void commits_leave(struct actor *a, const struct job *job)
{
    struct actor_write *w = a->more ? writes_of(a, job) : NULL;
    if (w && w->refused)
        turn_ends(a, w);
    else if (w)
        w->job = NULL;
}

/* What it sent will not be written, nor what it forgets. */
static void let_go(struct actor *a, struct actor_write *w, enum store_error error)
{
    reminders_restore(a, &w->gone);
    for (uint32_t i = 0; i < w->sent_count; i++)
        journal_let_go(jobs_of_actor(a), w->sent[i], error);
    w->sent_count = 0;
    joined_leave(jobs_of_actor(a), &w->joined);
    if (!LIST_EMPTY(&a->type->actors->awaiting)) /* others may have joined it */
        jobs_activate(jobs_of_actor(a));
}

/* A write of this actor is over: the next may begin. */
static void go_on(struct actor *a)
{
    struct actor_write *w = a->more->last_turn;
    if (!w) {
        commits_serve(a);
        return;
    }
    if (w->under_way || !w->has_group || w->awaits || a->more->act)
        return;
    if (w->job && has_row(w->job))
        journal_write(jobs_of_actor(a), w->job);
    else
        push_alone(a, w);
}

/* --- A turn that is on disk --- */

/* Of a step, or of a reminder that comes again. */
static void step_goes_on(struct actor *a, struct job *job, struct turn_changes *c)
{
    if (mailbox_apply(a, job, c) == MESSAGE_ENDS)
        job_end(scheduler_of(a), job, JOB_DONE, NULL, NULL);
}

/* The message may have got a row while its turn was written without it. */
static void end_saved(struct actor *a, struct job *job)
{
    if (job->durable == DURABLE_NONE || job_message(job)->is_step)
        job_end_saved(scheduler_of(a), job);
    else
        journal_write(jobs_of_actor(a), job);
}

static void turn_taken(struct actor *a)
{
    struct actor_write *w = a->more->turn;
    struct turn_changes *c = &w->turn->changes;
    struct job *job = w->job;
    reminders_confirm(a, &w->gone, job);
    writes_remove(a, w);
    if (c->stops) {
        actor_stop_as(a, w->act.stopped, table_wall(scheduler_of(a)->table));
        w->act.stopped = NULL;
    }
    const struct sender by = sender_of_turn(a, job);
    outbox_send_later(&by, &c->messages);
    bool goes_on = job && (job_message(job)->is_step || job_reminder(job));
    bool is_apart = w->is_alone || !w->has_group;
    bool was_cancelled = goes_on && job_is(job, JOB_ENDING) && job->ending == JOB_CANCELLED;
    if (job && !job_is(job, JOB_ENDING)) {
        step_goes_on(a, job, c);
    } else {
        mailbox_apply(a, was_cancelled ? NULL : job, c);
        if (job && (was_cancelled ? job->durable == DURABLE_NONE : !has_row(job) || is_apart))
            end_saved(a, job);
    }
    assert(a->version == w->after.version);
    writes_free(w);
}

/* --- A turn that could not be written --- */

/* Its caller learns it, and nothing has changed. */
static void end_failed(struct actor *a, struct job *job, enum store_error error)
{
    job_end_otherwise(scheduler_of(a), job, JOB_FAILED, error_name(sync_error(error)),
                      store_error_text(error));
}

static void attempt_failed(struct actor *a, struct job *job, enum store_error error)
{
    outcome_failed(scheduler_of(a), job, JOB_EVENT_ATTEMPT_FAILED, error_name(ERGON_E_STORE),
                   store_error_text(error), (struct span){0});
}

static void call_failed(struct actor *a, struct actor_write *w, enum store_error error)
{
    struct job *job = w->job;
    bool ends = job && job_is(job, JOB_ENDING);
    let_go(a, w, error);
    turn_ends(a, w);
    if (ends) {
        end_failed(a, job, error);
        end_saved(a, job);
    } else if (job) { /* a reminder that comes again */
        attempt_failed(a, job, error);
    }
}

static void message_failed(struct actor *a, struct actor_write *w, enum store_error error)
{
    struct job *job = w->job;
    if (!has_row(job) || w->is_alone) {
        call_failed(a, w, error);
    } else if (error == STORE_REFUSED) {
        bool ends = job_is(job, JOB_ENDING);
        let_go(a, w, error);
        job_message(job)->writes = false;
        job_message(job)->refused = w->refused = true;
        if (!w->in_chain) /* else those behind it wait for its end */
            turn_ends(a, w);
        if (ends)
            end_failed(a, job, error);
        else
            attempt_failed(a, job, error);
    } /* else its row is written again, with all of this; or it is the first again */
}

static void step_failed(struct actor *a, struct actor_write *w, enum store_error error)
{
    struct job *job = w->job;
    if (error != STORE_REFUSED && job_is_open(job)) {
        w->failed = error;
        job_set_state(scheduler_of(a)->table, job, JOB_QUEUED, JOB_WHY_STORE);
        commits_again(a);
        return;
    }
    let_go(a, w, error);
    turn_ends(a, w);
    if (job_is_open(job))
        attempt_failed(a, job, error);
}

static void turn_failed(struct actor *a, struct actor_write *w, enum store_error error)
{
    struct job *job = w->job;
    if (job && job_message(job)->is_step) {
        step_failed(a, w, error);
    } else if (job) {
        message_failed(a, w, error);
    } else {
        let_go(a, w, error);
        turn_ends(a, w);
    }
}

/* --- The turns behind one that could not be written --- */

static void fence(struct actor *a)
{
    struct scheduler *s = scheduler_of(a);
    struct job *head = a->more->head;
    if (!head || !job_is_open(head))
        return;
    if (out_holds(s, head))
        for (struct attempt_turn *t = job_message(head)->turns; t; t = t->next)
            t->fenced = true;
    else if (head->state != JOB_DELAYED) { /* else joins() sees it when it is due */
        job_unplace(s, head);
        mailbox_wait(a, head, JOB_WHY_STORE);
    }
}

/* What is in the chain counts no more, and nor does the turn that is out. */
static void doom(struct actor *a, enum store_error error)
{
    if (a->more->doomed == STORE_OK) {
        a->more->doomed = error;
        fence(a);
    }
}

/* Its head has begun (see out_holds()), or its end is being written, which is not that of a turn.
 */
static bool head_holds(const struct actor *a)
{
    const struct job *head = a->more->head;
    if (a->more->turn && a->more->turn->job == head)
        return false;
    return head && (!job_is_open(head) || head->attempt_task ||
                    job_state_runs((enum job_state)head->state));
}

static bool is_out(const struct actor *a)
{
    for (const struct actor_write *w = a->more->turn; w; w = w->next)
        if (w->under_way || w->refused)
            return true;
    return head_holds(a);
}

/* All are back: callers get the error, and messages with a row are the first again. */
static void give_back(struct actor *a)
{
    struct actor_more *more = a->more;
    enum store_error error = more->doomed;
    struct job_list undone = {0};
    struct actor_write *next;
    for (struct actor_write *w = more->turn; w; w = next) {
        next = w->next;
        if (!w->job || !has_row(w->job) || !job_is(w->job, JOB_ENDING))
            call_failed(a, w, error);
    }
    for (struct actor_write *w; (w = more->turn);) {
        struct job *job = w->job;
        let_go(a, w, error);
        turn_ends(a, w);
        actor_leave(a, job);
        job_reopen(scheduler_of(a), job, "what it changed could not be written");
        job_list_push(&undone, job);
    }
    more->doomed = STORE_OK;
    more->awaits_store = undone.count > 0 && !journal_is_alone(error);
    if (undone.count > 0)
        mailbox_put_first(a, &undone);
    if (more->awaits_store)
        commits_again(a);
    mailbox_go_on(a);
}

static void reset(struct actor *a)
{
    if (a->residence != ACTOR_HERE) { /* once it is known */
        a->more->resets = true;
        commits_again(a);
        return;
    }
    if (actor_state(a).raw.len == 0)
        return;
    actor_set_state(a, NULL, 0);
    if (actor_is_durable(a))
        commits_save(a);
}

static void chain_settle(struct actor *a)
{
    struct actor_more *more = a->more;
    while (more->doomed == STORE_OK && more->turn && !more->turn->has_group && !more->turn->awaits)
        turn_taken(a);
    if (more->doomed != STORE_OK && !is_out(a))
        give_back(a);
    if (!more->turn && more->resets) {
        more->resets = false;
        reset(a);
    }
}

static bool is_open(const struct actor *a)
{
    const struct actor_more *more = a->more;
    const struct actor_write *last = more->last_turn;
    return last->in_chain && (last->under_way || !last->has_group) && !last->awaits &&
           !last->turn->changes.stops && !more->act && !more->ops && !more->resets &&
           more->turns < CHAIN_MOST && more->turn_bytes < CHAIN_BYTES_MOST;
}

bool commits_may_begin(const struct actor *a, const struct job *job, enum job_reason *reason)
{
    const struct message *m = job_message(job);
    const struct actor_more *more = a->more;
    bool failed = more->doomed != STORE_OK || more->awaits_store;
    *reason = failed ? JOB_WHY_STORE : JOB_WHY_COMMIT;
    bool is_alone = m->is_step || m->is_reminder || m->settles;
    return !failed && (!more->turn || (!is_alone && is_open(a)));
}

static void begin_next(struct actor *a)
{
    enum job_reason reason;
    mailbox_go_on(a);
    struct job *head = a->more->head;
    if (head && head->state == JOB_WAITING &&
        (head->reason == JOB_WHY_COMMIT || head->reason == JOB_WHY_STORE) &&
        commits_may_begin(a, head, &reason))
        job_schedule(scheduler_of(a), head, !job_message(head)->is_step);
}

void commits_resume(struct actor *a)
{
    if (!a->more)
        return;
    chain_settle(a);
    begin_next(a);
}

bool commits_counts(const struct actor *a, struct job *job, const struct attempt_turn *turn,
                    bool failed)
{
    struct message *m = job_message(job);
    bool fenced = turn && turn->fenced, last = failed || !turn || is_last(job, &turn->changes);
    if (m->reads || (!fenced && !(last && writes_last(a))))
        return true;
    m->settles = true;
    return false;
}

struct attempt_turn *commits_turn(const struct actor *a, const struct job *job)
{
    bool reads = job_message(job)->reads;
    struct actor_image i = reads ? writes_committed(a) : writes_front(a);
    const struct actor_write *last = reads ? NULL : writes_last(a);
    struct attempt_turn *turn = turn_new(actor_name(a), i.state.raw, i.state.shared);
    if (!turn)
        return NULL;
    turn->version = i.version;
    turn->schema = i.schema;
    turn->reads = reads;
    turn->round = job_message(job)->round;
    turn->behind = last ? last->number : 0;
    return turn;
}

bool commits_is_on_disk(const struct actor *a, const struct attempt_turn *turn)
{
    const struct actor_write *first = a->more ? a->more->turn : NULL;
    return turn->behind == 0 || !first || first->number > turn->behind;
}

/* --- What comes back --- */

static void count_row(struct actor *a, const struct actor_write *w)
{
    if (w->removes_row)
        counts_removed(a);
    else
        counts_wrote(a);
}

static void turn_back(struct jobs *jobs, struct store_op *group)
{
    struct actor_write *w = group->owner;
    struct actor *a = w->actor;
    bool w_in_chain = w->in_chain, dooms = group->error != STORE_OK && w_in_chain;
    a->jobs++; /* it stays meanwhile */
    struct store_op *rest = writes_members_back(jobs, w, group);
    writes_back(a, w, group->error);
    if (group->error == STORE_OK && w->changes_row)
        count_row(a, w);
    assert(group->error != STORE_OK || (w == a->more->turn && a->more->doomed == STORE_OK));
    if (dooms)
        doom(a, group->error);
    if (group->error == STORE_OK)
        turn_taken(a);
    else
        turn_failed(a, w, group->error);
    if (rest)
        codec_member_back(jobs, rest);
    if (a->more)
        chain_settle(a);
    if (a->more && (!a->more->turn || group->error != STORE_OK || w_in_chain))
        commits_serve(a);
    commits_resume(a);
    a->jobs--;
    actor_settle(a);
}

static void turn_back_alone(struct jobs *jobs, struct store_op *group)
{
    journal_notice(jobs, group);
    turn_back(jobs, group);
}

/* --- What turns joined --- */

/* Its turn has failed before its row was pushed. */
static void write_without(struct actor *a, struct job *job)
{
    if (!job || !has_row(job))
        return;
    job_message(job)->refused = false;
    journal_write(jobs_of_actor(a), job);
}

/* It is the only write of its actor. */
static void joined_lost(struct actor *a, struct actor_write *w, enum store_error error)
{
    struct job *job = w->job;
    writes_await(w, false);
    if (error != STORE_REFUSED || w->in_chain)
        doom(a, error);
    if (error == STORE_REFUSED) { /* it would be so again */
        turn_failed(a, w, error);
        write_without(a, job);
    }
    if (a->more)
        chain_settle(a);
    if (a->more)
        commits_serve(a);
    commits_resume(a);
}

static void joined_came(struct actor *a, struct actor_write *w)
{
    writes_await(w, false);
    go_on(a);
    commits_resume(a);
}

void commits_look(struct actors *actors)
{
    struct actor_write *next;
    for (struct actor_write *w = LIST_FIRST(&actors->awaiting); w; w = next) {
        struct actor *a = w->actor;
        enum store_error error = joined_look(actors->jobs, &w->joined);
        next = LIST_NEXT(w, by_awaits);
        a->jobs++; /* it stays meanwhile */
        if (error == STORE_OK && !joined_awaits(&w->joined))
            joined_came(a, w);
        else if (error != STORE_OK && a->more->turn == w) /* else those before it are not back */
            joined_lost(a, w, error);
        a->jobs--;
        actor_settle(a);
    }
}

void commits_drop(struct actor *a)
{
    struct actor_write *w = a->more ? a->more->turn : NULL;
    struct job *job = w ? w->job : NULL;
    if (!w)
        return;
    assert(!w->under_way && !w->next);
    let_go(a, w, STORE_CLOSED);
    turn_ends(a, w);
    if (!job || job_message(job)->is_step || job_is_open(job))
        return; /* a step, and a reminder that comes again, is the head, and is cancelled as that */
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
        if (op->cls->serve)
            op->cls->serve(jobs_of_actor(a), op);
        else
            op->cls->serve_part(jobs_of_actor(a), op); /* of one message: it does all of it */
    }
    a->jobs--;
}

/* The row of its message failed before, and is tried again some time. */
static bool is_stuck(const struct actor_write *w)
{
    if (w->actor->more->doomed != STORE_OK)
        return true;
    if (w->awaits && !jobs_store_usable(jobs_of_actor(w->actor)))
        return true;
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
    if (!a->more->act && !a->more->last_turn->under_way)
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

/* The act has changed what a turn began on that has returned meanwhile, and waits to be written.
 * There is one at most: none begins behind a turn while an act is under way. */
static void base_anew(struct actor *a)
{
    struct actor_write *w = a->more ? a->more->turn : NULL;
    if (!w)
        return;
    assert(!w->next && !w->under_way);
    struct blob *before = w->after.state.shared;
    a->more->turn_bytes -= w->after.state.raw.len;
    base_on(w, writes_committed(a));
    a->more->turn_bytes += w->after.state.raw.len;
    w->has_group = has_group(w);
    blob_unref(before);
}

static void act_back(struct jobs *jobs, struct store_op *row)
{
    struct actor *a = row->owner;
    struct actor_write *w = a->more->act;
    struct actor_act *act = &w->act;
    journal_notice(jobs, row);
    a->jobs++;
    writes_back(a, w, row->error);
    a->more->act = NULL;
    if (row->error != STORE_OK)
        reminders_restore(a, &w->gone);
    if (row->error == STORE_OK)
        count_row(a, w);
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
    if (row->error == STORE_OK) /* `done` drops a turn that came meanwhile: none is pushed before */
        reminders_confirm(a, &w->gone, NULL);
    if (row->error == STORE_OK && act->resets)
        base_anew(a);
    writes_free(w);
    if (actor_more(a)) { /* the drop of an actor may have taken it */
        go_on(a);
        commits_resume(a);
    }
    a->jobs--;
    actor_settle(a);
}

static bool push_act(struct actor *a, const struct actor_act *act)
{
    struct actor_write *w = calloc(1, sizeof *w);
    struct store_op *row = NULL;
    if (w) {
        w->actor = a;
        w->act = *act;
        row = writes_act(a, w, act_back);
    }
    if (!row) {
        if (w)
            w->act.stopped = NULL; /* the caller's */
        writes_free(w);
        return false;
    }
    a->more->act = w;
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

static bool try_step(struct actor *a)
{
    struct actor_write *w = a->more->turn;
    bool is_stuck = w && !w->in_chain && w->failed != STORE_OK && !w->under_way && !a->more->act;
    if (!is_stuck || (w->job && !job_message(w->job)->is_step))
        return false;
    push_alone(a, w);
    return true;
}

bool commits_try_again(struct actor *a)
{
    bool awaits = a->more->awaits_store;
    a->more->awaits_store = false;
    if (awaits)
        commits_resume(a);
    return try_step(a);
}

/* The next write of a turn has it, too. */
void commits_save(struct actor *a)
{
    static const struct actor_act as_it_is = {0};
    struct actor_more *more = actor_more(a);
    a->unsaved = true;
    if (!more)
        return;
    bool is_read = a->residence == ACTOR_HERE; /* else its row would lose its state */
    if (!is_read || more->turn || more->act || !push_act(a, &as_it_is))
        commits_again(a);
}

void commits_fini(struct actor_more *more)
{
    for (struct actor_write *next; more->turn; more->turn = next) {
        next = more->turn->next;
        writes_free(more->turn);
    }
    writes_free(more->act);
    more->last_turn = more->act = NULL;
}
