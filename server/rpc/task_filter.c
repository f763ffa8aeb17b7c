#include "server/rpc/task_filter.h"

#include "proto/job_options.h"

#define EXPECTS_STATE                                                                              \
    "queued, delayed, waiting, assigned, running, parked, done, failed, cancelled, expired or "    \
    "dead"

enum { OWN_MAX = 4 };

static bool read_state(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span name;

    if (!read_text(r, &name))
        return false;
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        if (span_is(name, job_state_names[s])) {
            *(int *)out = s;
            return true;
        }
    *r = before;
    return false;
}

/* 0 is a word, and not that none was said: nothing is as new as that. */
static bool read_newer(struct reader *r, void *out)
{
    ao_time *newer = out;

    if (!option_duration(r, newer))
        return false;
    *newer += *newer == 0;
    return true;
}

bool task_filter_read(struct job_request *jr, struct task_filter *filter, const struct option *own,
                      uint32_t own_count)
{
    struct option options[TASK_FILTER_OPTIONS + OWN_MAX] = {
        {"state", read_state, &filter->state, EXPECTS_STATE},
        {"method", option_name, &filter->method, JOB_EXPECTS_NAME},
        {"tenant", option_name, &filter->tenant, JOB_EXPECTS_NAME},
        {"key", option_name, &filter->key, JOB_EXPECTS_NAME},
        {"actor", option_name, &filter->actor, JOB_EXPECTS_NAME},
        {"batch", option_batch, &filter->batch, "the id of a batch"},
        {"older", option_duration, &filter->older, JOB_EXPECTS_DURATION},
        {"newer", read_newer, &filter->newer, JOB_EXPECTS_DURATION},
    };
    memcpy(options + TASK_FILTER_OPTIONS, own, own_count * sizeof *own);
    job_request_keep(jr, &filter->method);
    job_request_keep(jr, &filter->tenant);
    job_request_keep(jr, &filter->key);
    job_request_keep(jr, &filter->actor);
    return rpc_read_options(jr->rq, &jr->r, options, TASK_FILTER_OPTIONS + own_count);
}

static bool is_map(const struct rpc_request *rq)
{
    struct reader r;
    uint32_t count, pairs;
    read_params(rq->params, &r, &count);
    return count > 0 && read_map(&r, &pairs);
}

static bool means_something(const struct task_filter *f)
{
    return f->state >= 0 || f->method.len > 0 || f->tenant.len > 0 || f->key.len > 0 ||
           f->actor.len > 0 || f->batch > 0 || f->older > 0 || f->newer > 0;
}

/* A client that wants all of them must say so: an empty filter may be a mistake. */
static bool read_all(struct job_request *jr)
{
    struct sweep_arguments *sweep = &jr->op->sweep;
    bool all = false;
    const struct option own[] = {{"all", option_flag, &all, "true or false"},
                                 {"dry_run", option_flag, &sweep->dry_run, "true or false"}};
    sweep->filter.state = -1;
    if (jr->count > 1) {
        rpc_refuse_params(jr->rq, "");
        return false;
    }
    if (!task_filter_read(jr, &sweep->filter, own, 2))
        return false;
    if (all || means_something(&sweep->filter))
        return true;
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS,
               "the filter is empty; to select all tasks, pass all: true");
    return false;
}

void task_filter_or_id(struct rpc_request *rq)
{
    struct job_request jr;

    if (!is_map(rq))
        job_request_id(rq);
    else if (job_request_begin(&jr, rq, rq->loop->recent_own->matching, 0)) {
        if (read_all(&jr))
            job_request_send(&jr, false);
        else
            job_request_abort(&jr);
    }
}
