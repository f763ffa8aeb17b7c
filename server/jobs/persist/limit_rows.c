#include "server/jobs/persist/limit_rows.h"

#include <assert.h>

#include "server/jobs/accessors.h"
#include "server/jobs/core/names.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/numbers.h"

/* What could not be written is written when the store works again. */
static void told(struct jobs *jobs, struct store_op *write)
{
    const struct store_rate *row = (const struct store_rate *)write->row;
    const struct tenant *tenant = table_tenant_find(jobs_table(jobs), row->tenant);
    struct limit *limit =
        tenant ? limit_find(jobs_scheduler(jobs)->limits, tenant, row->key) : NULL;
    journal_notice(jobs, write);
    if (write->error != STORE_OK && write->error != STORE_REFUSED && limit && limit->row == row->id)
        limit_note(jobs_scheduler(jobs)->limits, limit);
}

/* Without memory the row stays: the next start finds that nothing uses it. */
static void remove_row(struct jobs *jobs, const struct limit *limit)
{
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_rates, 0, journal_notice);
    if (!write)
        return;
    ((struct store_rate *)write->row)->id = limit->row;
    store_push(jobs_store(jobs), write);
}

uint64_t limit_rows_time(const struct jobs *jobs)
{
    uint64_t now = table_wall(jobs_table(jobs));
    return now > jobs_table(jobs)->created ? now : jobs_table(jobs)->created;
}

/* Without memory the row says the old size until the next change. */
static void put(struct jobs *jobs, struct limit *limit)
{
    struct span tenant = limit->key.tenant->name;
    struct store_op *write =
        codec_row_new(jobs, STORE_ROW_PUT, &store_rates, tenant.len + limit->key.name.len, told);
    if (!write)
        return;
    if (limit->row == 0) {
        limit->row = ++jobs_journal(jobs)->last_rate;
        limit->key.tenant->jobs++; /* as a rate: it counts as one of its tenant */
    }
    uint8_t *at = (uint8_t *)(write + 1);
    *(struct store_rate *)write->row = (struct store_rate){.id = limit->row,
                                                           .tenant = span_put(tenant, &at),
                                                           .key = span_put(limit->key.name, &at),
                                                           .max = limit->max,
                                                           .per = LIMIT_ROW_PER,
                                                           .noted_at = limit_rows_time(jobs)};
    store_push(jobs_store(jobs), write);
}

void limit_rows_write(struct jobs *jobs)
{
    struct limit *limit;
    while (jobs_store_usable(jobs) && (limit = limit_next_to_note(&jobs_scheduler(jobs)->notes)))
        if (limit->refs > 0) {
            put(jobs, limit);
        } else {
            remove_row(jobs, limit);
            numbers_drop_limit(jobs_scheduler(jobs), limit);
        }
}

bool limit_rows_recover(struct jobs *jobs, const struct store_rate *row)
{
    struct tenant *tenant = table_tenant(jobs_table(jobs), row->tenant);
    struct limit *limit =
        tenant ? limit_get(jobs_scheduler(jobs)->limits, tenant, row->key, row->max) : NULL;
    if (!limit)
        return false;
    if (limit->row == 0)
        tenant->jobs++;
    assert(jobs_table(jobs)->recovering && row->id > 0);
    limit->row = row->id;
    limit->row_at = row->noted_at;
    limit->moved = true;
    limit->durable = DURABLE_ASYNC; /* at least */
    limit_note(jobs_scheduler(jobs)->limits, limit);
    return true;
}
