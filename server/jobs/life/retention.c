#include "server/jobs/life/retention.h"

#include "server/jobs/core/names.h"

enum {
    TRIM_BUDGET = 64,    /* jobs, a step */
    BUSY_PAUSE_MS = 1000 /* until one that is still referred to is looked at again */
};

/* Is the job still needed by an attempt, a commit, an operation, or a job that waits for it? */
static bool is_referred_to(const struct job *job)
{
    return job->orphans > 0 || job->pending > 0 || job->waits ||
           (job->more && (job->more->dependents || job->more->releasing)) ||
           job_is(job, JOB_UNSAVED);
}

bool retention_may_forget(const struct job *job)
{
    return !is_referred_to(job);
}

static enum ended_kind kind_of(const struct job *job)
{
    return job->state == JOB_FAILED || job->state == JOB_DEAD ? ENDED_BADLY : ENDED_WELL;
}

static ao_time keep_of(const struct scheduler *s, const struct job *job)
{
    struct job_spec policy;
    job_policy(job, &policy);
    if (policy.keep != SPEC_KEEP_UNSAID)
        return policy.keep;
    return kind_of(job) == ENDED_BADLY ? s->keep_failed : SPEC_KEEP;
}

static uint64_t kept_bytes(const struct job_table *table)
{
    return table->ended[ENDED_WELL].bytes + table->ended[ENDED_BADLY].bytes;
}

void retention_add(struct scheduler *s, struct job *job)
{
    struct job_table *table = s->table;
    struct ended *ended = &table->ended[kind_of(job)];
    ao_time keep = keep_of(s, job);
    tenant_count_open(table, job, false);
    job_list_push(&ended->jobs, job);
    ended->bytes += job_bytes(job);
    uint64_t now = table_wall_of(table, table_now(table)),
             past = now > job->ended ? now - job->ended : 0;
    job->due = table_time_after(table, keep > past ? keep - past : 0);
    job_effect(table, job, EFFECT_TIMER);
    if (kept_bytes(table) > s->kept_bytes_max)
        ao_activate(s->ao);
}

void retention_remove(struct job_table *table, struct job *job)
{
    ended_of(table->ended, job)->bytes -= job_bytes(job);
    job_list_remove(job);
    tenant_count_open(table, job, true);
}

void retention_forget(struct job_table *table, struct job *job)
{
    if (is_referred_to(job)) {
        job->due = table_time_after(table, AO_MS(BUSY_PAUSE_MS));
        job_effect(table, job, EFFECT_TIMER);
        return;
    }
    table_leave(table, job);
    job_effect(table, job, EFFECT_GONE);
}

/* One that is still referred to is looked at again the next time round. */
static bool evict(struct job_table *table, enum ended_kind kind)
{
    struct job_list *jobs = &table->ended[kind].jobs;
    for (int budget = TRIM_BUDGET; jobs->first && budget > 0; budget--) {
        struct job *job = jobs->first;
        if (!is_referred_to(job)) {
            retention_forget(table, job);
            return true;
        }
        job_list_remove(job);
        job_list_push(jobs, job);
    }
    return false;
}

bool retention_evict(struct scheduler *s)
{
    return evict(s->table, ENDED_WELL) || evict(s->table, ENDED_BADLY);
}

/* With nothing that may be forgotten it is done: the next end looks again. */
bool retention_trim(struct scheduler *s)
{
    struct job_table *table = s->table;
    for (int budget = TRIM_BUDGET; budget > 0; budget--) {
        if (kept_bytes(table) <= s->kept_bytes_max)
            return true;
        bool failed = table->ended[ENDED_BADLY].bytes > s->kept_bytes_max / 2;
        if (!evict(table, failed ? ENDED_BADLY : ENDED_WELL) &&
            !evict(table, failed ? ENDED_WELL : ENDED_BADLY))
            return true;
    }
    return false;
}
