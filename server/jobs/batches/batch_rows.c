#include "server/jobs/batches/batch_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"
#include "server/jobs/accessors.h"
#include "server/jobs/batches/batches.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"

enum {
    JITTER = 50,       /* percent, of the wait behind a write that was refused */
    LEAVE_MOST = 256,  /* members that go with one write */
    SAVED_AHEAD = 256, /* batches that are written once more, a try */
    WRITE_WORK = 20    /* see jobs_worked() */
};
static const ao_time pause_first = AO_S(1), pause_most = AO_S(60);

static void set_unsaved(struct batch *b)
{
    if (!b->unsaved)
        LIST_INSERT_HEAD(&jobs_batches(b->jobs)->unsaved, b, by_unsaved);
    b->unsaved = true;
    journal_try_later(b->jobs);
}

static void clear_unsaved(struct batch *b)
{
    if (b->unsaved)
        LIST_REMOVE(b, by_unsaved);
    b->unsaved = false;
}

/* --- Refused --- */

/* The same may be refused for ever, while the store takes all others: so it is tried ever more
 * seldom. */
static void rest(struct batch *b)
{
    uint64_t random = activator_random(jobs_activator(b->jobs));
    b->refused = (uint8_t)(b->refused + (b->refused < UINT8_MAX));
    ao_time wait = backoff_wait(pause_first, pause_most, JITTER, b->refused, random);
    b->save_at = table_time_after(jobs_table(b->jobs), wait);
    if (ao_state(&b->timer) == AO_STATE_INACTIVE)
        ao_sleep_until(&b->timer, b->save_at);
}

ao_time batch_rows_try_again(struct batch *b)
{
    if (b->save_at > table_now(jobs_table(b->jobs)))
        return b->save_at;
    if (b->save_at > 0) {
        b->save_at = 0;
        batch_rows_write(b, NULL);
    }
    return 0;
}

/* --- The group --- */

/* The group has the outcome. */
static void member_back(struct jobs *jobs, struct store_op *row)
{
    (void)jobs;
    (void)row;
}

/* A group that is being made, and its last member. */
struct making {
    struct store_op *group, **end;
};

static bool add(struct making *m, struct store_op *row)
{
    if (!row)
        return false;
    row->next = NULL;
    *m->end = row;
    m->end = &row->next;
    m->group->group.count++;
    return true;
}

static bool add_held(struct batch *b, struct making *m)
{
    b->held_now = 0;
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++) {
        if (b->held[n] && !journal_add_held(b->jobs, m->group, &b->held[n], 1))
            return false;
        if (b->held[n])
            b->held_now = (uint8_t)(b->held_now | 1u << n);
    }
    while (*m->end)
        m->end = &(*m->end)->next;
    return true;
}

static bool add_removals(struct batch *b, struct making *m)
{
    b->leaving_now = b->leaving_count < LEAVE_MOST ? b->leaving_count : LEAVE_MOST;
    for (uint32_t n = 0; n < b->leaving_now; n++) {
        struct store_op *row = codec_write_new(b->jobs, STORE_REMOVE, 0, member_back);
        if (row)
            row->task.id = b->leaving[n].id;
        if (!add(m, row))
            return false;
    }
    return true;
}

/* Of all members if it has ended, else of those that have no row behind this write. */
static void count(const struct batch *b, uint64_t counts[BATCH_ENDS])
{
    memcpy(counts, b->ended_at > 0 ? b->ended : b->gone, sizeof b->gone);
    for (uint32_t n = 0; b->ended_at == 0 && n < b->leaving_now; n++)
        counts[b->leaving[n].end]++;
}

static bool add_row(const struct batch *b, struct making *m)
{
    uint64_t counts[BATCH_ENDS];
    struct store_op *row = codec_row_new(b->jobs, STORE_ROW_PUT, &store_batches, 0, member_back);
    if (!row)
        return false;
    count(b, counts);
    *(struct store_batch_row *)row->row =
        (struct store_batch_row){.id = b->by_id.hash,
                                 .parent = b->parent ? b->parent->by_id.hash : 0,
                                 .tenant = b->tenant->name,
                                 .on_success = b->calls[BATCH_ON_SUCCESS],
                                 .on_failure = b->calls[BATCH_ON_FAILURE],
                                 .on_end = b->calls[BATCH_ON_END],
                                 .success_task = batch_sent(b, BATCH_ON_SUCCESS),
                                 .failure_task = batch_sent(b, BATCH_ON_FAILURE),
                                 .end_task = batch_sent(b, BATCH_ON_END),
                                 .created = b->created,
                                 .ended_at = b->ended_at,
                                 .keep = codec_duration(b->keep),
                                 .done = counts[0],
                                 .failed = counts[JOB_FAILED - JOB_DONE],
                                 .cancelled = counts[JOB_CANCELLED - JOB_DONE],
                                 .expired = counts[JOB_EXPIRED - JOB_DONE],
                                 .dead = counts[JOB_DEAD - JOB_DONE],
                                 .durable = b->durable,
                                 .closed = b->state != BATCH_OPEN,
                                 .cancel_asked = b->cancelled};
    return add(m, row);
}

static void members_back(struct jobs *jobs, struct store_op *group)
{
    for (struct store_op *m = group->group.first; m; m = m->next)
        codec_member_back(jobs, m);
}

static void group_back(struct jobs *jobs, struct store_op *group);

/* False without memory. */
static bool push(struct batch *b)
{
    struct store_op *group = codec_write_new(b->jobs, STORE_GROUP, 0, group_back);
    if (!group)
        return false;
    jobs_worked(b->jobs, WRITE_WORK);
    group->owner = b;
    group->group.follows = true;
    struct making m = {group, &group->group.first};
    if (!add_held(b, &m) || !add_removals(b, &m) || !add_row(b, &m)) {
        b->leaving_now = 0;
        codec_group_undo(b->jobs, group);
        return false;
    }
    clear_unsaved(b);
    b->save_at = 0;
    b->dirty = false;
    b->under_way = true;
    b->riding = b->waiting;
    b->waiting = NULL;
    store_push(jobs_store(b->jobs), group);
    return true;
}

/* --- What came back --- */

/* All that wait for the write under way; where it has failed, those that wait for the next, too.
 * The batch may be freed by the last of them. */
static void answer(struct batch *b, struct operation *ops, enum store_error error)
{
    struct operation **end = &ops;
    while (*end)
        end = &(*end)->next;
    if (error != STORE_OK) {
        *end = b->waiting;
        b->waiting = NULL;
    }
    for (struct operation *op = ops, *next; op; op = next) {
        next = op->next;
        jobs_batches(b->jobs)->answer(b, op, error);
    }
}

static void left(struct batch *b)
{
    for (uint32_t n = 0; n < b->leaving_now; n++)
        b->gone[b->leaving[n].end]++;
    b->leaving_count -= b->leaving_now;
    memmove(b->leaving, b->leaving + b->leaving_now, b->leaving_count * sizeof *b->leaving);
}

static void written(struct batch *b, const struct store_op *group)
{
    const struct store_op *last = group->group.first;
    while (last->next)
        last = last->next;
    const struct store_batch_row *row = (const struct store_batch_row *)last->row;
    if (b->leaving_now > 0)
        left(b);
    b->dirty |= b->leaving_count > 0;
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++)
        if (b->held_now & 1u << n)
            b->held[n] = NULL;
    if (row->ended_at > 0 && b->state != BATCH_ENDED)
        batch_over(b);
}

static void group_back(struct jobs *jobs, struct store_op *group)
{
    struct batch *b = group->owner;
    enum store_error error = group->error;
    journal_notice(jobs, group);
    members_back(jobs, group);
    b->under_way = false;
    b->refused = error == STORE_OK ? 0 : b->refused;
    if (error == STORE_OK)
        written(b, group);
    else if (!b->arrives && error == STORE_REFUSED)
        rest(b);
    else if (!b->arrives)
        set_unsaved(b);
    b->leaving_now = 0;
    struct operation *served = b->riding;
    b->riding = NULL;
    if (error == STORE_OK && b->dirty)
        batch_rows_write(b, NULL);
    answer(b, served, error);
}

/* --- Writes --- */

void batch_rows_write(struct batch *b, struct operation *op)
{
    struct operation **end = &b->waiting;
    assert(b->durable != DURABLE_NONE);
    while (*end)
        end = &(*end)->next;
    if (op) {
        op->next = NULL;
        *end = op;
    }
    if (b->under_way) {
        b->dirty = true;
        return;
    }
    if (b->save_at > 0 && !op)
        return; /* the next try has it */
    if (push(b))
        return;
    if (!b->arrives)
        set_unsaved(b);
    answer(b, NULL, STORE_MEMORY);
}

void batch_rows_leave(struct batch *b, uint64_t id, enum job_state end)
{
    struct batch_leaver *grown =
        grow_array(b->leaving, &b->leaving_room, b->leaving_count, sizeof *grown);
    if (!grown)
        return;
    b->leaving = grown;
    grown[b->leaving_count++] = (struct batch_leaver){id, (uint8_t)(end - JOB_DONE)};
    batch_rows_write(b, NULL);
}

void batch_rows_remove(struct batch *b)
{
    struct store_op *row =
        b->durable == DURABLE_NONE
            ? NULL
            : codec_row_new(b->jobs, STORE_ROW_REMOVE, &store_batches, 0, journal_notice);
    if (!row)
        return; /* the next start finds it too old, and removes it */
    ((struct store_batch_row *)row->row)->id = b->by_id.hash;
    store_push(jobs_store(b->jobs), row);
}

/* --- Written once more --- */

/* While the store fails only one is tried. */
bool batch_rows_save(struct jobs *jobs)
{
    struct batches *all = jobs_batches(jobs);
    bool any = !LIST_EMPTY(&all->unsaved);
    struct batch *b;
    for (int left = jobs_store_usable(jobs) ? SAVED_AHEAD : 1;
         left > 0 && (b = LIST_FIRST(&all->unsaved)); left--) {
        clear_unsaved(b);
        batch_rows_write(b, NULL);
        if (b->unsaved)
            break; /* there is no memory */
    }
    return any;
}

void batch_rows_flush(struct jobs *jobs)
{
    for (struct batch *b = jobs_batches(jobs)->first; b; b = b->next) {
        if (!b->unsaved && b->save_at == 0)
            continue;
        clear_unsaved(b);
        b->save_at = 0;
        batch_rows_write(b, NULL);
    }
}

static void dismiss(struct operation **ops, enum ergon_error error)
{
    struct operation *op;
    while ((op = *ops)) {
        *ops = op->next;
        operation_refuse_plain(op, error);
    }
}

void batch_rows_dismiss(struct jobs *jobs)
{
    for (struct batch *b = jobs_batches(jobs)->first; b; b = b->next) {
        dismiss(&b->riding, ERGON_E_UNSURE); /* of a write that never came back */
        dismiss(&b->waiting, ERGON_E_DRAINING);
    }
}
