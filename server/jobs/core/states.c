#include "server/jobs/core/states.h"

const char *const job_state_names[JOB_STATE_COUNT] = {
#define X(name, text, open) [JOB_##name] = text,
    JOB_STATES(X)
#undef X
};

const char *const job_durable_names[] = {[DURABLE_NONE] = "none",
                                         [DURABLE_ASYNC] = "async",
                                         [DURABLE_FSYNC] = "fsync",
                                         [DURABLE_REPLICATED] = "replicated"};

const char *job_reason_name(enum job_reason r)
{
    static const char *const names[JOB_REASON_COUNT] = {
#define X(name, text, meaning) [JOB_WHY_##name] = text,
        JOB_REASONS(X)
#undef X
    };
    return names[r];
}

const char *job_reason_meaning(enum job_reason r)
{
    static const char *const meanings[JOB_REASON_COUNT] = {
#define X(name, text, meaning) [JOB_WHY_##name] = meaning,
        JOB_REASONS(X)
#undef X
    };
    return meanings[r];
}

const char *job_event_name(enum job_event job)
{
    static const char *const names[JOB_EVENT_COUNT] = {
#define X(name, text) [JOB_EVENT_##name] = text,
        JOB_EVENTS(X)
#undef X
    };
    return names[job];
}

enum job_event job_event_of_end(enum job_state state)
{
    static const enum job_event events[JOB_STATE_COUNT] = {
        [JOB_DONE] = JOB_EVENT_DONE,           [JOB_FAILED] = JOB_EVENT_FAILED,
        [JOB_CANCELLED] = JOB_EVENT_CANCELLED, [JOB_EXPIRED] = JOB_EVENT_EXPIRED,
        [JOB_DEAD] = JOB_EVENT_DEAD,
    };
    return job_state_open(state) ? JOB_EVENT_COUNT : events[state];
}
