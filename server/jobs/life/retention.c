#include "server/jobs/life/retention.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/accessors.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"

enum {
    TRIM_BUDGET = 64,      /* jobs, a step */
    TENANTS_LOOKED_AT = 4, /* for one that may be forgotten */
    BUSY_PAUSE_MS = 1000   /* until one that is still referred to is looked at again */
};

static bool is_read(const struct job *job)
{
    return job->more && job->more->readers > 0;
}

/* Is the job still needed by an attempt, a commit, an operation, or a job that waits for it or for
 * its result? */
static bool is_referred_to(const struct job *job)
{
    return job->orphans > 0 || job->pending > 0 || job->waits ||
           (job->more && (job->more->dependents || job->more->releasing)) || is_read(job) ||
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

/* A message that was done has had its effect, and its caller has the answer; but one with a key
 * may be asked for again. */
static bool is_over(const struct job *job)
{
    bool has_key = job->more && job->more->key.name.len > 0;
    return !has_key && (kind_of(job) == KEPT_WELL || job_message(job)->calls);
}

static ao_time keep_of(const struct scheduler *s, const struct job *job)
{
    if (job->more && job->more->policy.keep != JOB_KEEP_UNSAID)
        return job->more->policy.keep;
    if (job->is_message && is_over(job))
        return 0;
    return kind_of(job) == KEPT_BADLY ? s->settings->limits.keep_failed : JOB_KEEP;
}

void retention_add(struct scheduler *s, struct job *job)
{
    struct job_table *table = s->table;
    ao_time keep = keep_of(s, job);
    assert(!job_state_open((enum job_state)job->state) && job->ended > 0);
    /* One that is being read back goes later: its row cannot be removed yet. */
    if (keep == 0 && job->state == JOB_DONE && !table->recovering && !is_referred_to(job)) {
        retention_forget(table, job);
        return;
    }
    size_t bytes = job_bytes(job);
    tenant_count_open(table, job, false, bytes);
    kept_add(&table->kept, &job->tenant->kept, kind_of(job), job, bytes);
    if (is_read(job))
        tenant_count_read(table, job, true);
    uint64_t now = table_wall_of(table, table_now(table)),
             past = now > job->ended ? now - job->ended : 0;
    job->due = table_time_after(table, keep > past ? keep - past : 0);
    job_effect(table, job, EFFECT_TIMER);
    if (kept_bytes(table->kept.bytes) > s->settings->limits.kept_bytes)
        ao_activate(s->ao);
}

void retention_remove(struct job_table *table, struct job *job)
{
    if (is_read(job))
        tenant_count_read(table, job, false);
    size_t bytes = job_bytes(job);
    kept_remove(&table->kept, &job->tenant->kept, job, bytes);
    tenant_count_open(table, job, true, bytes);
}

void retention_forget(struct job_table *table, struct job *job)
{
    assert(!job_state_open((enum job_state)job->state));
    if (is_referred_to(job)) {
        /* The last reader sets it again. */
        job->due = is_read(job) ? AO_NEVER : table_time_after(table, AO_MS(BUSY_PAUSE_MS));
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

/* --- Room --- */

enum {
    EVICT_MAX = 2048, /* jobs that go at once for a new one */
    EVICT_WORK = 10   /* of each; see jobs_worked() */
};

static size_t weight_of(const struct job_spec *spec)
{
    return sizeof(struct job) + spec->params.len + spec->key.len + spec->coalesce.len +
           spec->limit_key.len + spec->rate_key.len;
}

/* --- What open jobs may be and take, all together --- */

static uint64_t open_bytes_max(const struct jobs *jobs)
{
    uint64_t most = jobs_options(jobs)->settings.limits.bytes;
    return most - retention_reserve(jobs_scheduler(jobs), most);
}

/* In the same proportion, rounded up. */
static uint64_t open_max(const struct jobs *jobs)
{
    unsigned __int128 part =
        (unsigned __int128)jobs_options(jobs)->settings.limits.max * open_bytes_max(jobs);
    uint64_t most = jobs_options(jobs)->settings.limits.bytes;
    return most > 0 ? (uint64_t)((part + most - 1) / most) : 0;
}

static uint64_t left_of(uint64_t most, uint64_t taken)
{
    return taken < most ? most - taken : 0;
}

/* Bytes that can make no room. */
static uint64_t needed(const struct job_table *table)
{
    return table->open_bytes + table->read_bytes;
}

/* --- The share of a tenant --- */

bool room_is_shared(const struct jobs *jobs, uint64_t held, uint64_t free)
{
    uint32_t share = jobs_options(jobs)->settings.limits.tenant_share;
    return share == 0 || share >= 100 ||
           (unsigned __int128)held * (100 - share) <= (unsigned __int128)free * share;
}

/* A task that has ended does not count, since it makes room for new ones, unless an open task is to
 * read its result; and of very few tasks each tenant may have one, though that is more than its
 * share.
 */
static enum ergon_error check_share(struct jobs *jobs, struct span tenant, uint32_t tasks,
                                    size_t weight, char *text, size_t size)
{
    const struct job_table *table = jobs_table(jobs);
    const struct tenant *t = table_tenant_find(jobs_table(jobs), tenant);
    uint64_t bytes = t ? t->open_bytes + t->read_bytes : 0, count = t ? t->open : 0;
    uint64_t free = left_of(open_max(jobs), table->open + tasks),
             free_bytes = left_of(open_bytes_max(jobs), needed(table) + weight);
    const char *limit = NULL;
    if (tasks > 0 && count > 0 && !room_is_shared(jobs, count + tasks, free))
        limit = "tasks.max";
    else if (!room_is_shared(jobs, bytes + weight, free_bytes))
        limit = "tasks.bytes";
    if (!limit)
        return ERGON_OK;
    snprintf(text, size,
             "tenant \"%.*s\" has %" PRIu64
             " open tasks, and with rates, crons and results that these read %" PRIu64
             " bytes, its share of %s (tasks.tenant_share: %" PRIu32
             " %%); let some end, or cancel some",
             (int)(tenant.len < 64 ? tenant.len : 64), (const char *)tenant.at, count, bytes, limit,
             jobs_options(jobs)->settings.limits.tenant_share);
    return ERGON_E_BUSY;
}

/* --- Made --- */

static enum ergon_error too_many(uint64_t count, char *text, size_t size)
{
    snprintf(text, size,
             "the server holds %" PRIu64
             " tasks, and may not hold more (tasks.max); try again later",
             count);
    return ERGON_E_BUSY;
}

static enum ergon_error too_much(const char *which, uint64_t bytes, uint64_t most, char *text,
                                 size_t size)
{
    snprintf(text, size,
             "the server's %stasks take %" PRIu64 " of at most %" PRIu64
             " bytes (tasks.bytes); try again later",
             which, bytes, most);
    return ERGON_E_BUSY;
}

/* What has ended goes before something new is refused; where very much would have to go, the jobs'
 * own steps make the room (room_trim()), and it is refused until then. */
static enum ergon_error make_room(struct jobs *jobs, uint32_t tasks, size_t weight, char *text,
                                  size_t size)
{
    struct scheduler *s = jobs_scheduler(jobs);
    const struct job_table *table = s->table;
    uint64_t most = s->settings->limits.max, bytes_most = s->settings->limits.bytes;
    for (uint32_t gone = 0;
         (tasks > 0 && table->count >= most) || table->bytes + weight > bytes_most; gone++) {
        jobs_worked(jobs, EVICT_WORK);
        s->wanted = gone == EVICT_MAX ? weight : s->wanted;
        if (gone == EVICT_MAX || !retention_evict(s))
            return tasks > 0 && table->count >= most
                       ? too_many(table->count, text, size)
                       : too_much("", table->bytes, bytes_most, text, size);
    }
    return ERGON_OK;
}

static enum ergon_error make(struct jobs *jobs, struct span tenant, uint32_t tasks, size_t weight,
                             char *text, size_t size)
{
    const struct job_table *table = jobs_table(jobs);
    uint64_t bytes_most = open_bytes_max(jobs);
    if (weight > bytes_most) {
        snprintf(text, size,
                 "it takes %zu bytes, and all open tasks together may take %" PRIu64
                 " (tasks.bytes, without what is left to tasks that have ended)",
                 weight, bytes_most);
        return ERGON_E_TOO_LARGE;
    }
    enum ergon_error wrong = check_share(jobs, tenant, tasks, weight, text, size);
    if (wrong != ERGON_OK)
        return wrong;
    if (tasks > 0 && table->open >= open_max(jobs))
        return too_many(table->open, text, size);
    if (needed(table) + weight > bytes_most)
        return too_much("open ", needed(table), bytes_most, text, size);
    return make_room(jobs, tasks, weight, text, size);
}

enum ergon_error room_make(struct jobs *jobs, const struct job_spec *spec, char *text, size_t size)
{
    return make(jobs, spec->tenant, 1, weight_of(spec), text, size);
}

enum ergon_error room_make_bytes(struct jobs *jobs, struct span tenant, size_t bytes, char *text,
                                 size_t size)
{
    return bytes > 0 ? make(jobs, tenant, 0, bytes, text, size) : ERGON_OK;
}

bool room_trim(struct jobs *jobs)
{
    struct scheduler *s = jobs_scheduler(jobs);
    const struct jobs_limits *limits = &s->settings->limits;
    uint64_t bytes = limits->bytes > s->wanted ? limits->bytes - s->wanted : 0;
    bool done = retention_trim(s, limits->max, bytes);
    if (done)
        s->wanted = 0;
    return done;
}
