/* The subsystem of batches: its rows read back, cancels in small steps, its figures. */
#include "server/jobs/batches/batches.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/batches/batch_rows.h"
#include "server/jobs/batches/calls.h"
#include "server/jobs/batches/members.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/persist/codec.h"

enum {
    SETTLE_WORK = 10,   /* see jobs_worked() */
    VISIT_WORK = 1,     /* of a task, or a batch, that may have to be cancelled */
    CANCEL_WORK = 20,   /* of one that is */
    WRITES_AHEAD = 4096 /* writes under way above which a cancel pauses, as each takes memory */
};

/* --- Cancels --- */

static void end_walk(struct jobs *jobs, struct batches *all)
{
    if (all->walks)
        walk_end(&jobs->table.walks, &all->walk);
    all->walks = false;
}

static void begin_cancels(struct jobs *jobs, struct batches *all)
{
    all->again = false;
    all->cancels = true;
    all->cancel_at = all->first;
    walk_begin(&jobs->table.walks, &all->walk, jobs->table.last, true);
    all->walks = true;
}

/* A child has a higher id than its parent, so it is met behind it. */
static void cancel_child(struct batches *all, struct batch *b)
{
    if (!b->parent || !b->parent->cancelled || b->arrives || b->state > BATCH_CLOSED)
        return;
    batch_cancel(b);
    all->again = false; /* its members are still to come */
    if (b->durable != DURABLE_NONE)
        batch_rows_write(b, NULL);
}

static void cancel_member(struct jobs *jobs, struct job *job)
{
    const struct batch *b =
        job->in_batch && job_is_open(job) ? batch_find(jobs, job_batch(job)) : NULL;
    if (!b || b->state != BATCH_CANCELLING)
        return;
    jobs_worked(jobs, CANCEL_WORK);
    job_cancel(&jobs->sched, job);
}

/* True: nothing is left, or can be done before something comes back. */
static bool go_on_cancelling(struct jobs *jobs, struct batches *all)
{
    if (!all->cancels && !all->again)
        return true;
    if (!all->cancels)
        begin_cancels(jobs, all);
    for (; all->cancel_at && jobs_have_time(jobs); all->cancel_at = all->cancel_at->next) {
        jobs_worked(jobs, VISIT_WORK);
        cancel_child(all, all->cancel_at);
    }
    while (!all->cancel_at && jobs_have_time(jobs) && jobs->journal.under_way < WRITES_AHEAD) {
        struct job *job = walk_next(&all->walk);
        jobs_worked(jobs, VISIT_WORK);
        if (!job) {
            end_walk(jobs, all);
            all->cancels = false;
            return !all->again;
        }
        cancel_member(jobs, job);
    }
    return jobs->journal.under_way >= WRITES_AHEAD; /* what comes back brings the next step */
}

/* --- Steps --- */

static bool step(struct jobs *jobs)
{
    struct batches *all = jobs->batches;
    while (all->due && jobs_have_time(jobs)) {
        struct batch *b = all->due;
        all->due = b->next_due;
        b->due = false;
        jobs_worked(jobs, SETTLE_WORK);
        calls_settle(b);
    }
    return go_on_cancelling(jobs, all) && !all->due;
}

/* A child stays as long as its parent may be shown with it, and so does one whose members' rows
 * are to go, or that is waited for. */
static bool may_go(const struct batch *b)
{
    return b->children == 0 && (!b->parent || b->parent->state == BATCH_ENDED) && !b->under_way &&
           !b->unsaved && b->save_at == 0 && b->leaving_count == 0 && !b->watchers && !b->waiting;
}

static enum ao_verdict timer_step(struct ao *self)
{
    struct batch *b = ao_of(self, struct batch, timer);
    if (b->state != BATCH_ENDED) {
        ao_time again = batch_rows_try_again(b);
        batch_look(b);
        if (again == 0)
            return AO_DONE;
        ao_sleep_until(self, again);
        return AO_PARK;
    }
    if (!may_go(b)) {
        ao_sleep_for(self, AO_S(1));
        return AO_PARK;
    }
    batch_rows_remove(b);
    batch_free(b);
    return AO_DONE;
}

static const struct ao_class timer_class = {
    .name = "batch", .step = timer_step, .retired = batch_timer_retired};

/* --- Read back --- */

static void take_counts(struct batch *b, const struct store_batch_row *row)
{
    const uint64_t counts[BATCH_ENDS] = {row->done, row->failed, row->cancelled, row->expired,
                                         row->dead};
    memcpy(b->ended, counts, sizeof counts);
    if (row->ended_at == 0)
        memcpy(b->gone, counts, sizeof counts);
    for (unsigned n = 0; row->ended_at == 0 && n < BATCH_ENDS; n++)
        b->forgotten += counts[n];
}

static void take_sent(struct batch *b, const struct store_batch_row *row)
{
    const uint64_t sent[BATCH_CALL_COUNT] = {row->success_task, row->failure_task, row->end_task};
    for (enum batch_call which = 0; which < BATCH_CALL_COUNT; which++)
        if (sent[which] > 0)
            batch_set_sent(b, which, sent[which]);
}

static void take_state(struct batch *b, const struct store_batch_row *row)
{
    b->cancelled = row->cancel_asked;
    b->ended_at = row->ended_at;
    if (row->ended_at > 0)
        batch_recovered_ended(b);
    else if (row->cancel_asked)
        batch_set_state(b, BATCH_CANCELLING);
    else if (row->closed)
        batch_set_state(b, BATCH_CLOSED);
}

static bool recover(struct jobs *jobs, const void *from, const char **fault)
{
    const struct store_batch_row *row = from;
    *fault = row_check_batch(row);
    if (!*fault && jobs->batches->last && jobs->batches->last->by_id.hash >= row->id)
        *fault = "it is not in the order of its number";
    if (*fault)
        return false;
    const struct batch_spec spec = {.id = row->id,
                                    .tenant = row->tenant,
                                    .calls = {row->on_success, row->on_failure, row->on_end},
                                    .parent =
                                        row->parent > 0 ? batch_find(jobs, row->parent) : NULL,
                                    .keep = row->keep,
                                    .created = row->created,
                                    .durable = row->durable};
    struct batch *b = batch_new(jobs, &spec);
    if (!b)
        return false;
    if (jobs->table.next_id <= row->id)
        jobs->table.next_id = row->id + 1;
    take_counts(b, row);
    take_sent(b, row);
    take_state(b, row);
    return true;
}

static const struct subsystem_rows rows[] = {{&store_batches, recover}};

static void start(struct jobs *jobs)
{
    uint64_t now = table_wall(&jobs->table);
    for (struct batch *b = jobs->batches->first; b; b = b->next) {
        uint64_t past = now > b->ended_at ? now - b->ended_at : 0;
        if (b->state == BATCH_ENDED)
            ao_sleep_until(&b->timer,
                           table_time_after(&jobs->table, b->keep > past ? b->keep - past : 0));
        else
            batch_look(b);
        jobs->batches->again |= b->state == BATCH_CANCELLING;
    }
}

/* --- The subsystem --- */

static bool init(struct jobs *jobs, char *error, size_t size)
{
    (void)error;
    (void)size;
    jobs->batches = calloc(1, sizeof *jobs->batches);
    if (!jobs->batches)
        return false;
    hash_table_init(&jobs->batches->ids);
    hash_table_init(&jobs->batches->sent);
    jobs->batches->timer_class = &timer_class;
    jobs->batches->answer = batch_answer;
    jobs->sched.members = members_hooks(jobs);
    return true;
}

static void fini(struct jobs *jobs)
{
    if (!jobs->batches)
        return;
    end_walk(jobs, jobs->batches);
    batches_free_all(jobs);
    hash_table_fini(&jobs->batches->ids);
    hash_table_fini(&jobs->batches->sent);
    free(jobs->batches);
    jobs->batches = NULL;
}

static void stop(struct jobs *jobs)
{
    if (jobs->batches)
        batches_stop_watchers(jobs);
}

static void dismiss(struct jobs *jobs)
{
    if (!jobs->batches)
        return;
    batches_stop_watchers(jobs);
    batch_rows_dismiss(jobs);
}

static void show(const struct jobs *jobs, struct jobs_info *out)
{
    out->batches = counter_read(&jobs->batches->shown);
}

static const struct figure figures[] = {
    {"batches", FIGURE_AT(struct jobs_info, batches), NULL, "ergon_batches", false, NULL,
     "Batches of tasks, those that have ended and are kept included."},
};

const struct subsystem subsystem_batches = {.init = init,
                                            .fini = fini,
                                            .rows = rows,
                                            .row_tables = sizeof rows / sizeof *rows,
                                            .start = start,
                                            .step = step,
                                            .save = batch_rows_save,
                                            .flush = batch_rows_flush,
                                            .stop = stop,
                                            .dismiss = dismiss,
                                            .show = show,
                                            .figures = figures,
                                            .figure_count = sizeof figures / sizeof *figures};
