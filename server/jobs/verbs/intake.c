#include "server/jobs/verbs/intake.h"

#include "server/jobs/accessors.h"
#include "server/jobs/effects.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"

bool intake_admits(const struct job_spec *spec, const struct job *job, bool hardens)
{
    return spec->inbox == 0 || hardens || durable_is_awaited(job->durable);
}

/* Without memory the row stays, and joins the same task again.  The answer waits for the disk, so
 * that the row is not read meanwhile. */
static void remove_row(struct jobs *jobs, struct operation *op, uint64_t row)
{
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_inbox, 0, journal_notice);
    if (!write)
        return;
    ((struct store_inbox_row *)write->row)->id = row;
    store_push(jobs_store(jobs), write);
    op->submission.numbers = true;
}

void intake_taken(struct jobs *jobs, struct operation *op, uint32_t i, struct job *job)
{
    const struct submission_outcome *outcome = &op->submission.outcomes[i];
    if (!outcome->duplicate && !outcome->coalesced)
        journal_hold(jobs, job);
    else if (!outcome->hardens)
        remove_row(jobs, op, op->submission.specs[i].inbox);
}

void intake_hardened(struct jobs *jobs, struct operation *op, uint32_t i)
{
    if (op->submission.specs[i].inbox > 0)
        remove_row(jobs, op, op->submission.specs[i].inbox);
}

/* The effects of the submissions come first, as they would write the rows by themselves. */
void intake_push(struct jobs *jobs, struct operation *op, uint32_t from)
{
    const struct submission_arguments *s = &op->submission;
    if (from == s->taken || s->specs[from].inbox == 0)
        return;
    effects_apply(jobs);
    for (uint32_t i = from; i < s->taken; i++) {
        struct job *job =
            s->outcomes[i].id ? table_find(jobs_table(jobs), s->outcomes[i].id) : NULL;
        if (job && job->is_held)
            journal_push_held(jobs, job, s->specs[i].inbox);
    }
}
