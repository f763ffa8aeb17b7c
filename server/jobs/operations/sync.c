#include "server/jobs/operations/sync.h"

#include <assert.h>

#include "server/jobs/accessors.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"

enum { ROUNDS = 2 };

bool sync_possible(struct jobs *jobs, struct operation *op)
{
    if (!jobs_store(jobs) || jobs_store_usable(jobs))
        return true;
    operation_refuse(op, ERGON_E_STORE, "%s", jobs_store_trouble(jobs));
    return false;
}

enum ergon_error sync_error(enum store_error error)
{
    return error == STORE_UNSURE ? ERGON_E_UNSURE : ERGON_E_STORE;
}

void sync_refuse(struct operation *op, enum store_error error)
{
    operation_refuse(op, sync_error(error), "%s", store_error_text(error));
}

void sync_refuse_unwritten(struct operation *op, enum ergon_error as, enum store_error error)
{
    operation_refuse(
        op, as, "the change is in effect, but until it can be written, a restart forgets it: %s",
        store_error_text(error));
}

static void refuse(struct jobs *jobs, struct operation *op, enum store_error error)
{
    if (op->cls->unwritten)
        op->cls->unwritten(jobs, op, error);
    else
        sync_refuse_unwritten(op, sync_error(error), error);
}

/* Its own row was not taken, by a store that takes others: that of its change is written later, or
 * never.  NULL: it is on disk, or was forgotten meanwhile. */
static const struct job *job_unwritten(struct jobs *jobs, const struct operation *op)
{
    const struct job *job = op->sync.job ? table_find(jobs_table(jobs), op->sync.job) : NULL;
    bool written = !job || (!job_is(job, JOB_UNSAVED) && durable_is_awaited(job->durable));
    return written ? NULL : job;
}

static void answer(struct jobs *jobs, struct operation *op)
{
    enum store_error now = jobs_journal(jobs)->error;
    const struct job *job = job_unwritten(jobs, op);
    if (jobs_journal(jobs)->failures == op->sync.failures && !job)
        operation_finish(op);
    else if (jobs_journal(jobs)->failures == op->sync.failures)
        refuse(jobs, op, (enum store_error)job->save_error);
    else if (jobs_journal(jobs)->unsure != op->sync.unsure)
        refuse(jobs, op, STORE_UNSURE); /* whatever came behind it */
    else
        refuse(jobs, op, now != STORE_OK ? now : STORE_IO);
}

static void back(struct jobs *jobs, struct store_op *write);

static void begin_round(struct jobs *jobs)
{
    struct sync *sync = jobs_sync(jobs);
    struct store_op *write = codec_write_new(jobs, STORE_SYNC, 0, back);
    struct operation *next;
    assert(!sync->under_way && !sync->riding);
    if (write) {
        sync->riding = sync->next;
        sync->next = NULL;
        sync->under_way = true;
        store_push(jobs_store(jobs), write);
        return;
    }
    for (struct operation *op = sync->next; op; op = next) {
        next = op->next;
        refuse(jobs, op, STORE_MEMORY);
    }
    sync->next = NULL;
}

static void push(struct operation **list, struct operation *op)
{
    op->next = *list;
    *list = op;
}

static void back(struct jobs *jobs, struct store_op *write)
{
    struct sync *sync = jobs_sync(jobs);
    struct operation *next, *op = sync->riding;
    assert(sync->under_way && op); /* one round at a time, and none without an operation */
    journal_notice(jobs, write);
    sync->riding = NULL;
    sync->under_way = false;
    for (; op; op = next) {
        next = op->next;
        assert(op->sync.rounds > 0 && op->sync.failures <= jobs_journal(jobs)->failures);
        if (--op->sync.rounds == 0 || write->error != STORE_OK)
            answer(jobs, op);
        else
            push(&sync->next, op);
    }
    if (sync->next)
        begin_round(jobs);
}

static void wait_for(struct jobs *jobs, struct operation *op, uint64_t job)
{
    struct sync *sync = jobs_sync(jobs);
    assert(!op->waiting.held); /* a drop does not find it: it comes back with its round */
    if (!jobs_store(jobs)) {
        operation_finish(op);
        return;
    }
    op->sync = (struct sync_wait){.rounds = ROUNDS,
                                  .failures = jobs_journal(jobs)->failures,
                                  .unsure = jobs_journal(jobs)->unsure,
                                  .job = job};
    push(&sync->next, op);
    if (!sync->under_way)
        begin_round(jobs);
}

void sync_answer(struct jobs *jobs, struct operation *op)
{
    wait_for(jobs, op, 0);
}

void sync_answer_job(struct jobs *jobs, struct operation *op, const struct job *job)
{
    wait_for(jobs, op, job->id);
}

static void dismiss(struct operation *op)
{
    struct operation *next;
    for (; op; op = next) {
        next = op->next;
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
}

void sync_stop(struct jobs *jobs)
{
    dismiss(jobs_sync(jobs)->riding);
    dismiss(jobs_sync(jobs)->next);
    *jobs_sync(jobs) = (struct sync){0};
}
