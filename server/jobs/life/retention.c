#include "server/jobs/life/retention.h"

#include "server/jobs/core/names.h"

enum {
    TRIM_BUDGET = 64,      /* jobs, a step */
    TENANTS_LOOKED_AT = 4, /* for one that may be forgotten */
    BUSY_PAUSE_MS = 1000   /* until one that is still referred to is looked at again */
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

static enum kept_kind kind_of(const struct job *job)
{
    return job->state == JOB_FAILED || job->state == JOB_DEAD ? KEPT_BADLY : KEPT_WELL;
}

static ao_time keep_of(const struct scheduler *s, const struct job *job)
{
    if (job->more && job->more->policy.keep != JOB_KEEP_UNSAID)
        return job->more->policy.keep;
    return kind_of(job) == KEPT_BADLY ? s->settings->limits.keep_failed : JOB_KEEP;
}

void retention_add(struct scheduler *s, struct job *job)
{
    struct job_table *table = s->table;
    ao_time keep = keep_of(s, job);
    tenant_count_open(table, job, false);
    kept_add(&table->kept, &job->tenant->kept, kind_of(job), job, job_bytes(job));
    uint64_t now = table_wall_of(table, table_now(table)),
             past = now > job->ended ? now - job->ended : 0;
    job->due = table_time_after(table, keep > past ? keep - past : 0);
    job_effect(table, job, EFFECT_TIMER);
    if (kept_bytes(table->kept.bytes) > s->settings->limits.kept_bytes)
        ao_activate(s->ao);
}

void retention_remove(struct job_table *table, struct job *job)
{
    kept_remove(&table->kept, &job->tenant->kept, job, job_bytes(job));
    tenant_count_open(table, job, true);
}

void retention_forget(struct job_table *table, struct job *job)
{
    if (is_referred_to(job)) {
        job->due = table_time_after(table, AO_MS(BUSY_PAUSE_MS));
        job_effect(table, job, EFFECT_TIMER);
        return;
    }
    /* By the clock as it was last looked at: nobody asks to the millisecond when that was. */
    feed_add(&table->feed, job, FEED_FORGOTTEN, table_now(table) + table->wall_ahead, 0,
             (struct span){0});
    table_leave(table, job);
    job_effect(table, job, EFFECT_GONE);
}

/* --- Forgotten early --- */

/* One that is still referred to is looked at again the next time round. */
static bool evict_of_kind(struct job_table *table, struct kept *k, enum kept_kind kind)
{
    struct job_list *jobs = &k->jobs[kind];
    for (int budget = TRIM_BUDGET; jobs->first && budget > 0; budget--) {
        struct job *job = jobs->first;
        if (!is_referred_to(job)) {
            retention_forget(table, job);
            return true;
        }
        kept_put_off(k, job);
    }
    return false;
}

static bool evict_of(struct job_table *table, struct kept *k, bool failed_first)
{
    enum kept_kind first = failed_first ? KEPT_BADLY : KEPT_WELL,
                   then = failed_first ? KEPT_WELL : KEPT_BADLY;
    return evict_of_kind(table, k, first) || evict_of_kind(table, k, then);
}

/* The next tenants have to give where all that one keeps is still referred to. */
static bool evict(struct job_table *table, bool by_kind)
{
    struct kept_table *all = &table->kept;
    struct kept *aside[TENANTS_LOOKED_AT], *k;
    unsigned count = 0;
    bool done = false;
    while (!done && count < TENANTS_LOOKED_AT && (k = kept_most(all))) {
        done = evict_of(table, k, by_kind && k->bytes[KEPT_BADLY] > k->bytes[KEPT_WELL]);
        if (done)
            break;
        kept_set_aside(all, k);
        aside[count++] = k;
    }
    while (count > 0)
        kept_put_back(all, aside[--count]);
    return done;
}

bool retention_evict(struct scheduler *s)
{
    return evict(s->table, false);
}

/* A half of what they may take, if that is no more than a quarter of all. */
uint64_t retention_reserve(const struct scheduler *s, uint64_t bytes_max)
{
    uint64_t half = s->settings->limits.kept_bytes / 2, most = bytes_max / 4;
    return half < most ? half : most;
}

/* With nothing that may be forgotten it is done: the next end looks again. */
bool retention_trim(struct scheduler *s, uint64_t tasks_max, uint64_t bytes_max)
{
    struct job_table *table = s->table;
    for (int budget = TRIM_BUDGET; budget > 0; budget--) {
        bool fits = kept_bytes(table->kept.bytes) <= s->settings->limits.kept_bytes &&
                    table->count <= tasks_max && table->bytes <= bytes_max;
        if (fits || !evict(table, true))
            return true;
    }
    return false;
}
