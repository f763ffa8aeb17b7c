#include "server/jobs/sched/wait_position.h"

#include "server/jobs/core/names.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/out.h"

static bool waits(const struct job *job)
{
    return job->more && job->more->claim.stands == STANDS_IN_LINE;
}

enum job_reason limits_reason(const struct job *job)
{
    if (waits(job))
        return job->more->claim.line->at->limit ? JOB_WHY_LIMIT : JOB_WHY_RATE;
    if (job->reason == JOB_WHY_TURN && !queue_is_served(job->queue))
        return JOB_WHY_NO_EXECUTOR;
    return (enum job_reason)job->reason;
}

uint32_t limits_before(const struct job *job, uint32_t *looks)
{
    uint32_t count = 0;
    const struct gate *g = waits(job) ? job->more->claim.line->at : NULL;
    for (uint32_t i = 0; g && i < g->side_count; i++)
        for (const struct pairing_node *at = g->sides[i].lines.root; at && *looks > 0;
             at = pairing_next(at)) {
            --*looks;
            count += pairing_before(&line_of_place(at)->claims, &job->more->claim.in_line, looks);
        }
    return count;
}

ao_time limits_token_at(const struct job *job, uint32_t before, ao_time now)
{
    const struct rate *r = job->more->claim.line->rate;
    return start_window_opens(&r->starts, r->of, (uint64_t)r->held + r->gate.called, before, now);
}

/* --- All of a limit --- */

uint64_t limits_waiting(const struct limit *limit)
{
    uint64_t count = 0;
    const struct gate *g = &limit->gate;
    for (uint32_t i = 0; i < g->side_count; i++)
        for (const struct pairing_node *at = g->sides[i].lines.root; at; at = pairing_next(at))
            count += line_of_place(at)->count;
    return count;
}

struct best {
    const struct claim **at; /* sorted, at most `max` */
    uint32_t count, max;
};

static void take_in(struct best *b, const struct claim *c)
{
    uint32_t at = b->count;
    while (at > 0 && claim_goes_before(&c->in_line, &b->at[at - 1]->in_line))
        at--;
    if (at == b->max)
        return;
    b->count += b->count < b->max;
    for (uint32_t i = b->count - 1; i > at; i--)
        b->at[i] = b->at[i - 1];
    b->at[at] = c;
}

uint32_t limits_first(const struct limit *limit, const struct claim **first, uint32_t max,
                      uint32_t *looks)
{
    struct best b = {.at = first, .max = max};
    const struct gate *g = &limit->gate;
    for (uint32_t i = 0; i < g->side_count; i++)
        for (const struct pairing_node *l = g->sides[i].lines.root; l; l = pairing_next(l))
            for (const struct pairing_node *at = line_of_place(l)->claims.root; at && *looks > 0;
                 at = pairing_next(at), --*looks)
                take_in(&b, ao_of((struct pairing_node *)(uintptr_t)at, struct claim, in_line));
    return b.count;
}

struct found_jobs {
    const struct job **at;
    uint32_t count, max;
};

static void take_jobs(const struct limit *limit, const struct job *first, struct found_jobs *b,
                      uint32_t *looks)
{
    for (const struct job *job = first; job && b->count<b->max && * looks> 0; job = job->next) {
        --*looks;
        if (job_is(job, JOB_HAS_PERMIT) && job->more->claim.line->limit == limit)
            b->at[b->count++] = job;
    }
}

uint32_t limit_jobs(const struct scheduler *s, const struct limit *limit, const struct job **jobs,
                    uint32_t max, uint32_t *looks)
{
    struct found_jobs b = {.at = jobs, .max = max};
    const struct job_more *late;
    LIST_FOREACH(late, &limit->late, late)
    {
        const struct job *job = claim_job(&late->claim);
        if (b.count<b.max && * looks> 0 && !job_is(job, JOB_HAS_PERMIT)) {
            --*looks;
            b.at[b.count++] = job;
        }
    }
    take_jobs(limit, s->running.first, &b, looks);
    for (uint32_t i = 0; i < s->pools.room; i++)
        take_jobs(limit, out_first_assigned(s, i), &b, looks);
    return b.count;
}
