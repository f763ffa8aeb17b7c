#include "server/jobs/sched/line_place.h"

static const struct line *line_at(const struct pairing_node *node)
{
    return ao_of((struct pairing_node *)(uintptr_t)node, struct line, place);
}

static bool waits(const struct job *job)
{
    return job->more && job->more->stands == STANDS_IN_LINE;
}

enum job_reason limits_reason(const struct job *job)
{
    if (!waits(job))
        return (enum job_reason)job->reason;
    return job->more->line->at->limit ? JOB_WHY_LIMIT : JOB_WHY_RATE;
}

uint32_t limits_before(const struct job *job, uint32_t *looks)
{
    uint32_t count = 0;
    const struct gate *g = waits(job) ? job->more->line->at : NULL;
    for (uint32_t i = 0; g && i < g->side_count; i++)
        for (const struct pairing_node *at = g->sides[i].lines.root; at && *looks > 0;
             at = pairing_next(at)) {
            --*looks;
            count += pairing_before(&line_at(at)->jobs, &job->more->in_line, looks);
        }
    return count;
}

ao_time limits_token_at(const struct job *job, uint32_t before, ao_time now)
{
    const struct rate *r = job->more->line->rate;
    uint32_t called = gate_called(&r->gate);
    return start_window_opens(&r->starts, r->of, (uint64_t)r->held + called, before, now);
}
