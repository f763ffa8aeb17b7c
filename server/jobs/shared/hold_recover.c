#include "server/jobs/shared/hold_recover.h"

#include "server/jobs/jobs_parts.h"
#include "server/jobs/shared/holds.h"
#include "server/jobs/shared/shared.h"

static struct semaphore *recover(struct jobs *jobs, struct span tenant, struct span name,
                                 uint32_t permits)
{
    struct semaphore *s = semaphore_recover(jobs, tenant, name, permits);
    if (s)
        s->durable = true;
    return s;
}

/* So many permits there are, whatever tasks say that came before. */
static void row_says(const struct semaphore *s, uint32_t permits, uint64_t at)
{
    struct limit *limit = semaphore_limit(s);
    limit->max = limit->row_max = permits;
    limit->row_at = at;
}

bool semaphore_rows_recover(struct jobs *jobs, const struct store_semaphore *row)
{
    struct semaphore *s = recover(jobs, row->tenant, row->name, row->permits);
    if (!s)
        return false;
    semaphore_limit(s)->kept = true;
    s->row = row->id;
    row_says(s, row->permits, UINT64_MAX);
    shared_number_past(jobs, row->id);
    return true;
}

bool hold_rows_recover(struct jobs *jobs, const struct store_hold *row)
{
    struct semaphore *s = recover(jobs, row->tenant, row->name, row->of);
    const struct hold_wish wish = {.secret = row->secret.at,
                                   .permits = row->permits,
                                   .ttl = row->ttl > 0 ? row->ttl : AO_NEVER,
                                   .grace = row->grace,
                                   .who = row->principal};
    struct hold *h = s ? hold_recover(jobs, s, &wish, row->id) : NULL;
    if (!h)
        return false;
    if (s->row == 0)
        row_says(s, row->of, row->since_at);
    h->since = row->since_at;
    h->ends = row->ends_at > 0 ? table_time_of(&jobs->table, row->ends_at) : AO_NEVER;
    shared_number_past(jobs, row->id);
    return true;
}
