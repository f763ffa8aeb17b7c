#include "server/jobs/batches/members.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/accessors.h"
#include "server/jobs/batches/batch.h"
#include "server/jobs/batches/batch_rows.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/walk.h"

/* The batch whose counts the member changes; NULL: none. */
static struct batch *counting(const struct jobs *jobs, const struct job *job)
{
    struct batch *b = batch_find(jobs, job_batch(job));
    return b && !batch_is_frozen(b) ? b : NULL;
}

static enum ergon_error refuse(char *text, size_t size, uint64_t id, const char *why)
{
    char name[ID_TEXT_SIZE];
    snprintf(text, size, "batch %s %s", id_batch_text(id, name), why);
    return ERGON_E_BAD_PARAMS;
}

/* --- Hooks --- */

/* Batches of other tenants do not exist for it. */
static enum ergon_error admits(void *arg, const struct job_spec *spec, char *text, size_t size)
{
    const struct batch *b = batch_find(arg, spec->batch);
    if (!b || !span_equal(b->tenant->name, spec->tenant)) {
        refuse(text, size, spec->batch,
               "is not there for this tenant: it never existed, or was forgotten");
        return ERGON_E_NOT_FOUND;
    }
    if (b->state == BATCH_CANCELLING)
        return refuse(text, size, spec->batch, "was cancelled, and takes no more tasks");
    if (batch_is_frozen(b) || (b->state == BATCH_CLOSED && b->open == 0))
        return refuse(text, size, spec->batch, "has ended, and takes no more tasks");
    if (spec->durable < b->durable) {
        snprintf(text, size,
                 "a member of a batch has to be at least as durable as that: say durable: \"%s\"",
                 job_durable_names[b->durable]);
        return ERGON_E_BAD_PARAMS;
    }
    return ERGON_OK;
}

static void joined(void *arg, const struct job *job)
{
    struct batch *b = counting(arg, job);
    if (b)
        b->open++;
}

static void taken_back(void *arg, const struct job *job)
{
    struct batch *b = counting(arg, job);
    if (!b)
        return;
    assert(b->open > b->child_open);
    b->open--;
    batch_look(b);
}

static void reopened(void *arg, const struct job *job)
{
    struct batch *b = counting(arg, job);
    if (!b)
        return;
    assert(b->ended[job->state - JOB_DONE] > 0);
    b->ended[job->state - JOB_DONE]--;
    b->open++;
}

static void recovered(void *arg, const struct job *job, enum job_state state)
{
    struct batch *b = counting(arg, job);
    if (b && job_state_open(state))
        b->open++;
    else if (b)
        b->ended[state - JOB_DONE]++;
}

static uint64_t called_by(void *arg, const struct job *job)
{
    const struct batch *b = batch_that_sent(arg, job->id);
    return b ? b->by_id.hash : 0;
}

struct member_hooks members_hooks(struct jobs *jobs)
{
    return (struct member_hooks){.arg = jobs,
                                 .admits = admits,
                                 .joined = joined,
                                 .taken_back = taken_back,
                                 .reopened = reopened,
                                 .called_by = called_by,
                                 .recovered = recovered};
}

/* --- Effects --- */

/* One that is being read back was counted as its row came. */
void members_ended(struct jobs *jobs, const struct job *job)
{
    struct batch *b = jobs_table(jobs)->recovering ? NULL : counting(jobs, job);
    if (!b)
        return;
    assert(b->open > b->child_open);
    b->open--;
    b->ended[job->state - JOB_DONE]++;
    if (b->open == 0 || job->state != JOB_DONE)
        batch_look(b);
}

void members_goes(struct jobs *jobs, struct job *job)
{
    struct batch *b = batch_find(jobs, job_batch(job));
    if (!b || b->state == BATCH_ENDED)
        return;
    b->forgotten++;
    if (b->durable == DURABLE_NONE || job->durable == DURABLE_NONE || job->saved != JOB_SAVED_ENDED)
        return;
    assert(!job_state_open((enum job_state)job->counted) && job->counted < JOB_STATE_COUNT);
    batch_rows_leave(b, job->id, (enum job_state)job->counted);
    job->saved = JOB_SAVED_GONE;
}

/* --- An audit --- */

static void count_member(void *arg, const struct job *job, uint64_t one)
{
    struct batch *b = batch_find(arg, job_batch(job));
    if (!b)
        return;
    if (job_state_open((enum job_state)job->state))
        b->audit_open += one;
    else
        b->audit_ended += one;
}

void members_audit_begin(struct jobs *jobs, struct job_census *census)
{
    census->member = count_member;
    census->member_arg = jobs;
    for (struct batch *b = jobs_batches(jobs)->first; b; b = b->next)
        b->audit_open = b->audit_ended = 0;
}

static uint64_t sum_ended(const struct batch *b)
{
    return b->ended[0] + batch_failures(b);
}

/* Of one that has ended the counts stay, whatever becomes of its members. */
bool members_audit(const struct jobs *jobs, char *text, size_t size)
{
    char id[ID_TEXT_SIZE];
    for (const struct batch *b = jobs_batches(jobs)->first; b; b = b->next) {
        uint64_t open = b->open - b->child_open,
                 ended = sum_ended(b) - b->child_ended - b->forgotten;
        if (batch_is_frozen(b) || (open == b->audit_open && ended == b->audit_ended))
            continue;
        snprintf(text, size,
                 "batch %s counts %" PRIu64 " open and %" PRIu64
                 " ended members that are kept, but there are %" PRIu64 " and %" PRIu64,
                 id_batch_text(b->by_id.hash, id), open, ended, b->audit_open, b->audit_ended);
        return false;
    }
    return true;
}
