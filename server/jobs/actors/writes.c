#include "server/jobs/actors/writes.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/scheduler.h"

static struct jobs *jobs_of_actor(const struct actor *a)
{
    return a->type->actors->jobs;
}

void writes_await(struct actor_write *w, bool awaits)
{
    if (awaits && !w->awaits)
        LIST_INSERT_HEAD(&w->actor->type->actors->awaiting, w, by_awaits);
    else if (!awaits && w->awaits)
        LIST_REMOVE(w, by_awaits);
    w->awaits = awaits;
}

void writes_free(struct actor_write *w)
{
    if (!w)
        return;
    turn_free(w->turn);
    writes_await(w, false);
    free(w->sent);
    free(w->joined.jobs);
    free(w->gone.ids);
    free(w->act.stopped);
    blob_unref(w->state);
    blob_unref(w->after.state.shared);
    free(w);
}

/* --- The list of turns --- */

void writes_add(struct actor *a, struct actor_write *w)
{
    struct actor_more *more = a->more;
    *(more->turn ? &more->last_turn->next : &more->turn) = w;
    more->last_turn = w;
    more->turns++;
    more->turn_bytes += w->after.state.raw.len;
}

void writes_remove(struct actor *a, struct actor_write *w)
{
    struct actor_more *more = a->more;
    struct actor_write **at = &more->turn, *prev = NULL;
    for (; *at != w; at = &(*at)->next)
        prev = *at;
    *at = w->next;
    if (more->last_turn == w)
        more->last_turn = prev;
    more->turns--;
    more->turn_bytes -= w->after.state.raw.len;
    if (w->job)
        job_message(w->job)->writes = false;
}

struct actor_write *writes_of(const struct actor *a, const struct job *job)
{
    struct actor_write *w = writes_last(a);
    if (w && w->job != job)
        w = job_message(job)->writes || a->more->doomed != STORE_OK ? a->more->turn : NULL;
    while (w && w->job != job)
        w = w->next;
    return w;
}

/* --- Rows --- */

static struct actor_image image_of(const struct actor *a, const struct actor_write *w)
{
    if (w->turn)
        return w->after;
    struct actor_image i = writes_committed(a);
    return w->act.resets ? (struct actor_image){.version = i.version + 1} : i;
}

/* Why it is stopped then, and since when. */
static struct span stop_of(const struct actor *a, const struct actor_write *w, uint64_t *at)
{
    const char *stopped = w->act.starts ? NULL : a->more->stopped;
    *at = a->more->stopped_at;
    if (w->act.stopped) {
        stopped = w->act.stopped;
        *at = table_wall(jobs_table(jobs_of_actor(a)));
    }
    return stopped ? span_text(stopped) : (struct span){0};
}

/* One that would say nothing is removed: of an actor that has no state and is not stopped. */
static struct store_op *row_new(struct actor *a, struct actor_write *w, write_done *done)
{
    uint64_t stopped_at;
    struct actor_image i = image_of(a, w);
    struct span stopped = stop_of(a, w, &stopped_at);
    w->removes_row = w->act.removes || (i.state.raw.len == 0 && stopped.len == 0);
    enum store_kind kind = w->removes_row ? STORE_ROW_REMOVE : STORE_ROW_PUT;
    size_t more = stopped.len + (i.state.shared ? 0 : i.state.raw.len);
    struct store_op *row = codec_row_new(jobs_of_actor(a), kind, &store_actors, more, done);
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
                             .stopped_at = stopped.len > 0 ? stopped_at : 0,
                             .changed_at = table_wall(jobs_table(jobs_of_actor(a))),
                             .state = i.state.shared ? i.state.raw : span_put(i.state.raw, &at)};
    blob_unref(w->state);
    w->state = i.state.shared ? blob_ref(i.state.shared) : NULL;
    w->unsaved = a->unsaved;
    a->unsaved = false;
    return row;
}

static void pushed(struct actor_write *w)
{
    w->under_way = true;
    w->failed = STORE_OK;
}

/* The group of the turn has the outcome. */
static void member_back(struct jobs *jobs, struct store_op *row)
{
    (void)jobs;
    (void)row;
}

/* --- Of a turn --- */

static bool add_row(struct actor *a, struct actor_write *w, struct store_op *group)
{
    struct store_op *row = row_new(a, w, member_back);
    if (row)
        codec_group_add(group, row);
    return row != NULL;
}

struct store_op *writes_turn(struct actor *a, struct actor_write *w, write_done *done)
{
    struct store_op *group = codec_write_new(jobs_of_actor(a), STORE_GROUP, 0, done);
    if (!group)
        return NULL;
    group->owner = w;
    group->group.follows = a->more->turn != w;
    if (!journal_add_held(jobs_of_actor(a), group, w->sent, w->sent_count) ||
        !reminders_write(a, &w->gone, w->job, group, &w->gone_rows) ||
        (w->changes_row && !add_row(a, w, group))) {
        codec_group_undo(jobs_of_actor(a), group);
        return NULL;
    }
    pushed(w);
    return group;
}

/* --- Of an act --- */

static struct store_op *removal_new(struct actor *a, struct actor_write *w, write_done *done)
{
    struct store_op *group = codec_write_new(jobs_of_actor(a), STORE_GROUP, 0, done);
    if (!group)
        return NULL;
    group->owner = a;
    struct store_op *row = row_new(a, w, member_back);
    if (row)
        codec_group_add(group, row);
    if (row && reminders_withdraw(a, (struct span){0}, &w->gone) &&
        reminders_write(a, &w->gone, NULL, group, &w->gone_rows))
        return group;
    a->unsaved |= w->unsaved;
    reminders_restore(a, &w->gone);
    codec_write_free(jobs_of_actor(a), group);
    return NULL;
}

struct store_op *writes_act(struct actor *a, struct actor_write *w, write_done *done)
{
    struct store_op *row = w->act.removes ? removal_new(a, w, done) : row_new(a, w, done);
    if (row)
        pushed(w);
    return row;
}

/* --- What comes back --- */

void writes_back(struct actor *a, struct actor_write *w, enum store_error error)
{
    assert(w && w->under_way);
    w->under_way = false;
    w->failed = error;
    if (error != STORE_OK)
        a->unsaved |= w->unsaved;
}

struct store_op *writes_members_back(struct jobs *jobs, const struct actor_write *w,
                                     struct store_op *group)
{
    uint32_t count = w->sent_count + w->gone_rows + w->changes_row;
    struct store_op *m = group->group.first;
    for (; m && count > 0; m = m->next, count--)
        codec_member_back(jobs, m);
    return m;
}
