/* The subsystem of semaphores: its rows read back, its figures, what it does at which moment. */
#include <stdlib.h>

#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/semaphores/holds.h"
#include "server/jobs/semaphores/operations.h"
#include "server/jobs/semaphores/rows.h"
#include "server/jobs/persist/codec.h"

/* --- Read back --- */

/* A limit or a semaphore that has a row is as large as that says.  Else there are so many permits,
 * whatever tasks say that came before `at`. */
static struct semaphore *recover(struct jobs *jobs, struct span tenant, struct span name,
                                 uint32_t permits, uint64_t at)
{
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    struct limit *limit = t ? limit_find(jobs->sched.limits, t, name) : NULL;
    bool has_row = limit && (limit->row > 0 || (limit->semaphore && limit->semaphore->row > 0));
    struct semaphore *s = semaphore_recover(jobs, tenant, name, has_row ? limit->max : permits);
    if (!s)
        return NULL;
    limit = semaphore_limit(s);
    semaphore_set_durable(s, true);
    limit->max = has_row ? limit->max : permits;
    if (limit->row_at < at)
        limit->row_at = at;
    return s;
}

static bool recover_semaphore(struct jobs *jobs, const void *from, const char **fault)
{
    const struct store_semaphore *row = from;
    *fault = row_check_semaphore(row);
    if (*fault)
        return false;
    struct semaphore *s = recover(jobs, row->tenant, row->name, row->permits, UINT64_MAX);
    if (!s)
        return false;
    semaphore_limit(s)->kept = true;
    s->row = row->id;
    stamp_past(&jobs->table.last_stamp, row->id);
    return true;
}

/* Becomes a hold without a connection. */
static bool recover_hold(struct jobs *jobs, const void *from, const char **fault)
{
    const struct store_hold *row = from;
    *fault = row->id <= jobs->semaphores->last_fence
                 ? row_check_hold(row)
                 : "its fence is higher than any that was given out";
    if (*fault)
        return false;
    struct semaphore *s = recover(jobs, row->tenant, row->name, row->of, row->since_at);
    const struct hold_wish wish = {.secret = row->secret.at,
                                   .permits = row->permits,
                                   .ttl = row->ttl > 0 ? row->ttl : AO_NEVER,
                                   .grace = row->grace,
                                   .who = row->principal};
    struct hold *h = s ? hold_recover(jobs, s, &wish, row->id) : NULL;
    if (!h)
        return false;
    h->since = row->since_at;
    h->ends = row->ends_at > 0 ? table_time_of(&jobs->table, row->ends_at) : AO_NEVER;
    stamp_past(&jobs->table.last_stamp, row->id);
    return true;
}

static const struct subsystem_rows rows[] = {{&store_semaphores, recover_semaphore},
                                             {&store_holds, recover_hold}};

/* --- The subsystem --- */

static bool init(struct jobs *jobs, char *error, size_t size)
{
    struct semaphores *all = calloc(1, sizeof *all);
    (void)error;
    (void)size;
    jobs->semaphores = all;
    if (!all)
        return false;
    hash_table_init(&all->secrets);
    hash_table_init(&all->fences);
    hash_table_init(&all->holders);
    all->suspended = jobs->options.suspended(jobs->options.wall_arg);
    if (jobs->options.cluster) {
        all->last_fence = STORE_FENCE_MAX; /* the marks come with the rows */
        return true;
    }
    all->last_fence = jobs->store ? store_last_fence(jobs->store) : 0;
    stamp_past(&jobs->table.last_stamp, all->last_fence);
    return true;
}

static void fini(struct jobs *jobs)
{
    struct semaphores *all = jobs->semaphores;
    if (!all)
        return;
    holds_free(jobs);
    hash_table_fini(&all->secrets);
    hash_table_fini(&all->fences);
    hash_table_fini(&all->holders);
    free(all);
}

static void clock_leapt(struct jobs *jobs, int64_t by)
{
    (void)by;
    holds_look(jobs);
}

static void show(const struct jobs *jobs, struct jobs_info *out)
{
    out->semaphores = counter_read(&jobs->semaphores->shown);
    out->held = counter_read(&jobs->semaphores->shown_held);
    out->waiting = counter_read(&jobs->semaphores->shown_waiting);
}

#define AT(member) FIGURE_AT(struct jobs_info, member)

/* clang-format off */
static const struct figure figures[] = {
    {"shared", AT(semaphores), "semaphores",
     "ergon_semaphores", false, NULL, "Semaphores."},
    {"shared", AT(held), "held",
     "ergon_semaphore_holds", false, NULL, "Holds of semaphores by clients."},
    {"shared", AT(waiting), "waiting",
     "ergon_semaphore_waiting", false, NULL, "Clients that wait for a permit."},
};
/* clang-format on */

const struct subsystem subsystem_semaphores = {.init = init,
                                               .fini = fini,
                                               .rows = rows,
                                               .row_tables = sizeof rows / sizeof *rows,
                                               .start = holds_start,
                                               .step = holds_go_on,
                                               .save = semaphores_save,
                                               .flush = semaphores_flush,
                                               .follows_wall = holds_follow_wall,
                                               .clock_leapt = clock_leapt,
                                               .clock_watched = holds_look,
                                               .stop = semaphores_stop,
                                               .dismiss = semaphores_dismiss,
                                               .show = show,
                                               .figures = figures,
                                               .figure_count = sizeof figures / sizeof *figures};
