#include "server/jobs/sched/numbers.h"

#include "server/jobs/core/names.h"

struct job_spec numbers_in_force(const struct scheduler *s, const struct job *job,
                                 const struct job_spec *spec)
{
    struct job_spec is = *spec;
    const struct limit *limit = limit_find(s->limits, job->tenant, spec->limit_key);
    const struct rate *r = rate_find(s->limits, job->tenant, spec->rate_key);
    if (limit && job->created <= limit->row_at)
        is.limit = limit->max;
    if (r && job->created <= r->note.row_at) {
        is.rate = r->of.max;
        is.rate_per = r->of.per;
    }
    return is;
}

void numbers_note_limit(struct scheduler *s, struct limit *limit)
{
    if (s->keeps_rates && limit->moved && limit->durable != DURABLE_NONE)
        limit_note(s->limits, limit);
}

static bool is_awaited(uint8_t of, const struct job *job)
{
    return durable_is_awaited(of) && !durable_is_awaited(job->durable);
}

bool numbers_wait(const struct job *job)
{
    const struct line *line = job->more ? job->more->claim.line : NULL;
    if (!line)
        return false;
    bool limit = line->limit && line->limit->listed && is_awaited(line->limit->durable, job);
    bool rate = line->rate && line->rate->untold && is_awaited(line->rate->durable, job);
    return limit || rate;
}

void numbers_drop_limit(struct scheduler *s, struct limit *limit)
{
    struct tenant *tenant = limit->row > 0 ? limit->key.tenant : NULL;
    limit_drop(s->limits, limit);
    if (tenant)
        table_tenant_unref(s->table, tenant);
}
