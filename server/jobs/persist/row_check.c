#include "server/jobs/persist/row_check.h"

#include "proto/job_options.h"
#include "proto/scanner.h"
#include "proto/traceparent.h"
#include "server/jobs/core/job_spec.h"
#include "server/jobs/core/states.h"

enum { JITTER_MAX = 100 };

/* Nothing, or one value and no byte more: it goes to handlers and peers as it is. */
static bool is_value(struct span raw)
{
    return raw.len == 0 || value_length(raw) == raw.len;
}

static bool are_earlier(struct span ids, uint64_t id)
{
    for (size_t at = 0; at < ids.len; at += sizeof(uint64_t)) {
        uint64_t on = 0;
        for (unsigned byte = 0; byte < sizeof on; byte++)
            on = on << 8 | ids.at[at + byte];
        if (on == 0 || on >= id)
            return false;
    }
    return true;
}

static bool is_after(struct span ids, uint64_t id)
{
    return ids.len % sizeof(uint64_t) == 0 && ids.len <= JOB_AFTER_MAX * sizeof(uint64_t) &&
           are_earlier(ids, id);
}

static const char *check_options(const struct store_task *row)
{
    if (row->priority > SPEC_PRIORITY_MAX)
        return "its priority is none";
    if (row->backoff_jitter > JITTER_MAX)
        return "its jitter is more than all of the back-off";
    if ((row->limit_key.len > 0) != (row->limit > 0))
        return "its limit has no key, or its key no limit";
    if (row->take > 0 && (row->limit == 0 || row->take > row->limit))
        return "it takes more of its limit than there is";
    if ((row->rate_key.len > 0) != (row->rate > 0) || (row->rate > 0) != (row->rate_per > 0))
        return "its rate has no key, no number, or no time";
    if (!is_after(row->after, row->id) || !is_after(row->after_any, row->id))
        return "what it is to wait for are no tasks before it";
    struct trace_context trace;
    if (row->traceparent.len > 0 && !traceparent_parse(row->traceparent, &trace))
        return "its traceparent is none";
    if (row->tracestate.len > 0 &&
        (row->traceparent.len == 0 || !tracestate_valid(row->tracestate)))
        return "its tracestate is none, or has no traceparent";
    return NULL;
}

const char *row_check_task(const struct store_task *row)
{
    if (row->method.len == 0)
        return "it has no method";
    if (row->state >= JOB_STATE_COUNT)
        return "its state is none";
    if (row->durable == DURABLE_NONE)
        return "it is in the file, and its durability says that it is not";
    if (row->attempt > JOB_COUNT_MAX || row->failures > JOB_COUNT_MAX ||
        row->crashes > JOB_COUNT_MAX || row->losses > JOB_COUNT_MAX || row->lost > JOB_COUNT_MAX)
        return "it counts more attempts, failures, crashes or losses than there can be";
    if (!is_value(row->params))
        return "its parameters are no MessagePack";
    if (!is_value(row->result))
        return "its result is no MessagePack";
    return row->has_options ? check_options(row) : NULL;
}

const char *row_check_event(const struct store_event *row)
{
    if (row->seq == 0 || row->seq > JOB_COUNT_MAX || row->attempt > JOB_COUNT_MAX)
        return "its number is none";
    if (!is_value(row->data))
        return "its data are no MessagePack";
    for (int what = 0; what < JOB_EVENT_COUNT; what++)
        if (span_is(row->what, job_event_name((enum job_event)what)))
            return NULL;
    return "it is none that can happen";
}

const char *row_check_rate(const struct store_rate *row)
{
    enum { PAIR = 2 * sizeof(uint64_t) };
    if (row->id == 0 || row->id > INT64_MAX / 2)
        return "its number is none";
    if (row->key.len == 0)
        return "it has no key";
    if (row->max == 0 || row->per == 0)
        return "it has no number, or no time";
    return row->starts.len % PAIR == 0 ? NULL : "its starts are no pairs";
}

/* Its options are read when the store is, and its parameters go to handlers. */
const char *row_check_cron(const struct store_cron *row)
{
    if (row->name.len == 0)
        return "it has no name";
    if (row->method.len == 0)
        return "it has no method";
    if (!is_value(row->params))
        return "its parameters are no MessagePack";
    return is_value(row->options) ? NULL : "its options are no MessagePack";
}

const char *row_check_semaphore(const struct store_semaphore *row)
{
    if (row->id == 0 || row->id > STORE_FENCE_MAX)
        return "its number is none";
    if (row->name.len == 0)
        return "it has no name";
    return row->permits == 0 ? "it has no permits" : NULL;
}

const char *row_check_hold(const struct store_hold *row)
{
    if (row->id == 0 || row->id > STORE_FENCE_MAX)
        return "its fence is none";
    if (row->name.len == 0)
        return "it has no name";
    if (row->permits == 0 || row->of == 0)
        return "it has no permits, or its semaphore none";
    return row->secret.len == STORE_SECRET ? NULL : "its secret is none";
}
