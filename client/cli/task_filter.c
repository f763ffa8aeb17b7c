#include "client/cli/task_filter.h"

const struct option_spec FILTER_OPTIONS[] = {
    {0, "state", "STATE", "queued, delayed, waiting, running, done, failed, dead...", OPTION_TEXT,
     offsetof(struct filter_options, state)},
    {0, "method", "NAME", "of this method", OPTION_TEXT, offsetof(struct filter_options, method)},
    {0, "tenant", "NAME", "of this tenant", OPTION_TEXT, offsetof(struct filter_options, tenant)},
    {0, "task-key", "KEY", "of this key", OPTION_TEXT, offsetof(struct filter_options, key)},
    {0, "actor", "TYPE/KEY", "messages to this actor", OPTION_TEXT,
     offsetof(struct filter_options, actor)},
    {0, "batch", "ID", "members of this batch", OPTION_TEXT,
     offsetof(struct filter_options, batch)},
    {0, "older", "TIME", "submitted at least so long ago", OPTION_DURATION,
     offsetof(struct filter_options, older_ns)},
    {0, "newer", "TIME", "submitted at most so long ago", OPTION_DURATION,
     offsetof(struct filter_options, newer_ns)},
    {0},
};

static uint64_t whole_ms(uint64_t ns)
{
    return (ns + 999999) / 1000000;
}

struct ergon_task_filter filter_of(const struct filter_options *o)
{
    return (struct ergon_task_filter){
        .size = sizeof(struct ergon_task_filter),
        .state = o->state,
        .method = o->method,
        .tenant = o->tenant,
        .key = o->key,
        .actor = o->actor,
        .batch = o->batch,
        .older_ms = whole_ms(o->older_ns),
        .newer_ms = whole_ms(o->newer_ns),
    };
}

bool filter_is_empty(const struct filter_options *o)
{
    return o->state == NULL && o->method == NULL && o->tenant == NULL && o->key == NULL &&
           o->actor == NULL && o->batch == NULL && o->older_ns == 0 && o->newer_ns == 0;
}
