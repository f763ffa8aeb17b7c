#include "server/jobs/life/retention.h"

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

void retention_add(struct scheduler *s, struct job *job)
{
    struct job_table *table = s->table;
    struct job_spec policy;
    job_policy(job, &policy);
    job_list_push(&table->ended, job);
    table->ended_bytes += job_bytes(job);
    uint64_t now = table_wall_of(table, table_now(table)),
             past = now > job->ended ? now - job->ended : 0;
    job->due = table_time_after(table, policy.keep > past ? policy.keep - past : 0);
    job_effect(table, job, EFFECT_TIMER);
    if (table->ended_bytes > s->kept_bytes_max)
        ao_activate(s->ao);
}

void retention_remove(struct job_table *table, struct job *job)
{
    table->ended_bytes -= job_bytes(job);
    job_list_remove(job);
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
bool retention_evict(struct scheduler *s)
{
    struct job_table *table = s->table;
    for (int budget = TRIM_BUDGET; table->ended.first && budget > 0; budget--) {
        struct job *job = table->ended.first;
        if (!is_referred_to(job)) {
            retention_forget(table, job);
            return true;
        }
        job_list_remove(job);
        job_list_push(&table->ended, job);
    }
    return false;
}

/* With nothing that may be forgotten it is done: the next end looks again. */
bool retention_trim(struct scheduler *s)
{
    for (int budget = TRIM_BUDGET; budget > 0; budget--)
        if (s->table->ended_bytes <= s->kept_bytes_max || !retention_evict(s))
            return true;
    return false;
}
