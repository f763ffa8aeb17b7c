#include "server/jobs/life/room.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/core/names.h"
#include "server/jobs/life/retention.h"

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
    uint64_t most = jobs->options.settings.limits.bytes;
    return most - retention_reserve(&jobs->sched, most);
}

/* In the same proportion, rounded up. */
static uint64_t open_max(const struct jobs *jobs)
{
    unsigned __int128 part =
        (unsigned __int128)jobs->options.settings.limits.max * open_bytes_max(jobs);
    uint64_t most = jobs->options.settings.limits.bytes;
    return most > 0 ? (uint64_t)((part + most - 1) / most) : 0;
}

static uint64_t left_of(uint64_t most, uint64_t taken)
{
    return taken < most ? most - taken : 0;
}

/* --- The share of a tenant --- */

bool room_is_shared(const struct jobs *jobs, uint64_t held, uint64_t free)
{
    uint32_t share = jobs->options.settings.limits.tenant_share;
    return share == 0 || share >= 100 ||
           (unsigned __int128)held * (100 - share) <= (unsigned __int128)free * share;
}

/* What has ended does not count, since it makes room for what is new. */
static enum ergon_error check_share(struct jobs *jobs, struct span tenant, uint32_t tasks,
                                    size_t weight, char *text, size_t size)
{
    const struct job_table *table = &jobs->table;
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    uint64_t bytes = t ? t->open_bytes : 0, count = t ? t->open : 0;
    uint64_t free = left_of(open_max(jobs), table->open + tasks),
             free_bytes = left_of(open_bytes_max(jobs), table->open_bytes + weight);
    const char *limit = tasks > 0 && !room_is_shared(jobs, count + tasks, free) ? "tasks.max"
                        : !room_is_shared(jobs, bytes + weight, free_bytes)     ? "tasks.bytes"
                                                                                : NULL;
    if (!limit)
        return ERGON_OK;
    snprintf(text, size,
             "tenant \"%.*s\" has %" PRIu64 " open tasks, and with its rates and crons %" PRIu64
             " bytes, which is its share of %s (tasks.tenant_share: %" PRIu32
             " %%); let some end, or cancel some",
             (int)(tenant.len < 64 ? tenant.len : 64), (const char *)tenant.at, count, bytes, limit,
             jobs->options.settings.limits.tenant_share);
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
static enum ergon_error evict(struct jobs *jobs, uint32_t tasks, size_t weight, char *text,
                              size_t size)
{
    const struct job_table *table = &jobs->table;
    uint64_t most = jobs->options.settings.limits.max,
             bytes_most = jobs->options.settings.limits.bytes;
    for (uint32_t gone = 0;
         (tasks > 0 && table->count >= most) || table->bytes + weight > bytes_most; gone++) {
        jobs_worked(jobs, EVICT_WORK);
        jobs->wanted = gone == EVICT_MAX ? weight : jobs->wanted;
        if (gone == EVICT_MAX || !retention_evict(&jobs->sched))
            return tasks > 0 && table->count >= most
                       ? too_many(table->count, text, size)
                       : too_much("", table->bytes, bytes_most, text, size);
    }
    return ERGON_OK;
}

static enum ergon_error make(struct jobs *jobs, struct span tenant, uint32_t tasks, size_t weight,
                             char *text, size_t size)
{
    const struct job_table *table = &jobs->table;
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
    if (table->open_bytes + weight > bytes_most)
        return too_much("open ", table->open_bytes, bytes_most, text, size);
    return evict(jobs, tasks, weight, text, size);
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
    const struct jobs_limits *limits = &jobs->options.settings.limits;
    uint64_t bytes = limits->bytes > jobs->wanted ? limits->bytes - jobs->wanted : 0;
    bool done = retention_trim(&jobs->sched, limits->max, bytes);
    if (done)
        jobs->wanted = 0;
    return done;
}
