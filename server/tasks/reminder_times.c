#include "server/tasks/reminder_times.h"

#include <stdio.h>

#include "base/instant.h"
#include "base/utf8.h"
#include "proto/job_options.h"
#include "proto/options.h"

struct said {
    struct reminder_times times;
    bool in, at;
};

static bool read_in(struct reader *r, void *out)
{
    struct said *said = out;
    said->in = true;
    return read_duration(r, &said->times.in) && said->times.in < AO_NEVER;
}

static bool read_at(struct reader *r, void *out)
{
    struct said *said = out;
    said->at = true;
    return read_moment(r, &said->times.at);
}

static bool read_every(struct reader *r, void *out)
{
    struct said *said = out;
    return read_duration(r, &said->times.every) && said->times.every >= AO_MS(1) &&
           said->times.every < AO_NEVER;
}

static bool read_tenant(struct reader *r, void *out)
{
    struct span *name = out;
    return read_text(r, name) && utf8_is_name(*name, JOB_NAME_MAX);
}

const char *reminder_times_set(struct reminder_times *times, bool says_in, bool says_at)
{
    if (says_in && says_at)
        return "`in` and `at` exclude each other";
    if (!says_in && !says_at && times->every == 0)
        return "a reminder needs a time: `in`, `at` or `every`";
    if (!says_in && !says_at)
        times->in = times->every;
    return NULL;
}

bool reminder_times_read(struct reader *r, struct reminder_times *times, struct span *tenant,
                         char *error, size_t size)
{
    struct said said = {0};
    const struct option options[] = {
        {"in", read_in, &said, "a duration, as in \"30m\" or 250 (ms)"},
        {"at", read_at, &said, "a time: Unix milliseconds, or text as RFC 3339 has it"},
        {"every", read_every, &said, "a duration of at least 1ms"},
        {"tenant", read_tenant, tenant, "its owner: the name of a tenant"},
    };
    const uint32_t count = sizeof options / sizeof *options - (tenant == NULL);
    if (!options_take(r, options, count, error, size))
        return false;
    const char *wrong = reminder_times_set(&said.times, said.in, said.at);
    *times = said.times;
    if (wrong)
        snprintf(error, size, "%s", wrong);
    return !wrong;
}
