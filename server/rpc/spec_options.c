#include "server/rpc/spec_options.h"

#include <stdio.h>

#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/core/ids.h"

/* --- Values --- */

static bool read_within(struct reader *r, uint64_t least, uint64_t most, uint64_t *v)
{
    return read_uint(r, v) && *v >= least && *v <= most;
}

bool option_duration(struct reader *r, void *out)
{
    return read_duration(r, out);
}

bool option_flag(struct reader *r, void *out)
{
    return read_bool(r, out);
}

bool option_count(struct reader *r, void *out)
{
    uint64_t v;
    return read_within(r, 1, UINT32_MAX, &v) && (*(uint32_t *)out = (uint32_t)v, true);
}

bool option_name(struct reader *r, void *out)
{
    struct span *name = out;
    return read_text(r, name) && utf8_is_name(*name, JOB_NAME_MAX);
}

static bool read_positive(struct reader *r, void *out)
{
    uint64_t *ns = out;
    return read_duration(r, ns) && *ns > 0;
}

bool option_moment(struct reader *r, void *out)
{
    return read_moment(r, out);
}

bool option_traceparent(struct reader *r, void *out)
{
    struct span text;
    return read_text(r, &text) && traceparent_parse(text, out);
}

bool option_tracestate(struct reader *r, void *out)
{
    struct span *state = out;
    return read_text(r, state) && tracestate_valid(*state);
}

bool option_batch(struct reader *r, void *out)
{
    struct span text;
    return read_text(r, &text) && id_batch_parse(text, out);
}

bool option_priority(struct reader *r, void *out)
{
    uint64_t v;
    if (!read_within(r, 0, SPEC_PRIORITY_MAX, &v))
        return false;
    *(uint8_t *)out = (uint8_t)v;
    return true;
}

static bool read_word(struct reader *r, const char *const *words, uint8_t count, uint8_t *out)
{
    struct span name;
    if (!read_text(r, &name))
        return false;
    for (uint8_t i = count; i-- > 0;)
        if (span_is(name, words[i])) {
            *out = i;
            return true;
        }
    return false;
}

struct part {
    const char *name;
    bool (*read)(struct reader *r, void *out);
    void *out;
};

static bool take_part(struct reader *r, const struct part *parts, uint32_t count, uint32_t *seen)
{
    struct span name;
    if (!read_text(r, &name))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (span_is(name, parts[i].name) && !(*seen & 1u << i)) {
            *seen |= 1u << i;
            return parts[i].read(r, parts[i].out);
        }
    return false;
}

/* A map of these parts and no more, of which the first so many have to be there. */
static bool read_parts(struct reader *r, const struct part *parts, uint32_t count, uint32_t needed)
{
    uint32_t pairs, seen = 0, all = (1u << needed) - 1;
    bool good = read_map(r, &pairs) && pairs <= count;
    for (uint32_t i = 0; good && i < pairs; i++)
        good = take_part(r, parts, count, &seen);
    return good && (seen & all) == all;
}

static bool read_limit(struct reader *r, struct job_spec *spec)
{
    const struct part parts[] = {{"key", option_name, &spec->limit_key},
                                 {"max", option_count, &spec->limit},
                                 {"take", option_count, &spec->take}};
    return read_parts(r, parts, 3, 2) && spec->take <= spec->limit;
}

static bool read_rate(struct reader *r, struct job_spec *spec)
{
    const struct part parts[] = {{"key", option_name, &spec->rate_key},
                                 {"max", option_count, &spec->rate},
                                 {"per", read_positive, &spec->rate_per}};
    return read_parts(r, parts, 3, 3);
}

static bool read_ids(struct reader *r, uint64_t **room, const uint64_t **ids, uint32_t *read)
{
    uint32_t count = 1;
    struct span text;
    if (read_array(r, &count) && count > JOB_AFTER_MAX)
        return false;
    *ids = *room;
    *read = 0;
    for (uint32_t i = 0; i < count; i++, ++*room, ++*read)
        if (!*room || !read_text(r, &text) || !id_parse(text, *room))
            return false;
    return *room != NULL;
}

/* --- The options of a job --- */

/* Where in a spec the value goes; of a limit and a rate others go with it. */
struct place {
    uint16_t at, size; /* bytes */
};

#define X(name, ...) {offsetof(struct job_spec, name), sizeof((struct job_spec *)0)->name},
static const struct place places[JOB_OPTION_COUNT] = {JOB_OPTIONS(X)};
#undef X

struct reading {
    struct job_spec *spec;
    uint64_t **ids; /* room that is left */
    const struct spec_extra *extra;
    enum job_option_id option; /* that is being read */
};

static bool read_number_into(struct reader *r, const struct job_option *o, void *value)
{
    uint64_t v;
    if (!read_within(r, o->least, o->most, &v))
        return false;
    if (places[o - job_options].size == 1)
        *(uint8_t *)value = (uint8_t)v;
    else
        *(uint32_t *)value = (uint32_t)v;
    return true;
}

static bool read_option(struct reader *r, void *arg)
{
    const struct reading *reading = arg;
    const struct job_option *o = &job_options[reading->option];
    void *value = (uint8_t *)reading->spec + places[reading->option].at;
    reading->spec->said |= 1u << reading->option;
    switch (o->type) {
    case JOB_OPTION_NUMBER:
        return read_number_into(r, o, value);
    case JOB_OPTION_DURATION:
        return o->least > 0 ? read_positive(r, value) : read_duration(r, value);
    case JOB_OPTION_SIZE:
        return read_size(r, value);
    case JOB_OPTION_MOMENT:
        return option_moment(r, value);
    case JOB_OPTION_NAME:
        return option_name(r, value);
    case JOB_OPTION_LEVEL:
        return read_word(r, job_durable_names, DURABLE_COUNT, value);
    case JOB_OPTION_LIMIT:
        return read_limit(r, reading->spec);
    case JOB_OPTION_RATE:
        return read_rate(r, reading->spec);
    case JOB_OPTION_TRACE:
        return option_traceparent(r, value);
    case JOB_OPTION_STATE:
        return option_tracestate(r, value);
    case JOB_OPTION_BATCH:
        return option_batch(r, value);
    case JOB_OPTION_IDS:
        return read_ids(r, reading->ids, value,
                        reading->option == JOB_OPTION_after ? &reading->spec->after_count
                                                            : &reading->spec->after_any_count);
    }
    return false;
}

static bool is_named(struct span name, const char *known)
{
    return name.len > 0 && name.at[0] == (uint8_t)known[0] && span_is(name, known);
}

static int find_extra(const struct spec_extra *extra, struct span name, struct option *out)
{
    for (uint32_t i = 0; extra && i < extra->count; i++)
        if (is_named(name, extra->at[i].name)) {
            *out = extra->at[i];
            return (int)(JOB_OPTION_COUNT + i);
        }
    return -1;
}

static int find_option(void *arg, struct span name, struct option *out)
{
    struct reading *reading = arg;
    /* The most common ones first: those that any task may have. */
    for (unsigned n = 0; n < JOB_OPTION_COUNT; n++) {
        unsigned i = (JOB_OPTION_durable + n) % JOB_OPTION_COUNT;
        const struct job_option *o = &job_options[i];
        if (!is_named(name, o->name))
            continue;
        reading->option = i;
        *out = (struct option){
            .name = o->name, .read = read_option, .out = reading, .expects = o->expects};
        return (int)i;
    }
    return find_extra(reading->extra, name, out);
}

bool spec_read_options(struct reader *r, struct job_spec *spec, uint64_t **ids,
                       const struct spec_extra *extra, char *error, size_t size)
{
    struct reading reading = {.spec = spec, .ids = ids, .extra = extra};
    return options_take_by(r, find_option, &reading, error, size);
}

/* --- Those of what a turn sends --- */

/* It waits for no other task: that may be gone when the turn is tried again. */
static const uint32_t never_in_a_turn = 1u << JOB_OPTION_after | 1u << JOB_OPTION_after_any;

bool spec_read_turn_options(struct span options, struct job_spec *spec, char *error, size_t size)
{
    struct reader r = reader_of(options);
    uint64_t *none = NULL;
    struct span to = spec->actor;
    bool good = options.len == 0 || spec_read_options(&r, spec, &none, NULL, error, size);
    if (spec->said & never_in_a_turn)
        snprintf(error, size, "what a turn sends cannot have the options after and after_any");
    else if (good && spec->actor.at != to.at && to.len > 0)
        snprintf(error, size, "the actor is named twice");
    else
        return good;
    return false;
}

/* --- The options of a cron --- */

static bool read_overlap(struct reader *r, void *out)
{
    static const char *const words[] = {
        [CRON_SKIP] = "skip", [CRON_ALLOW] = "allow", [CRON_REPLACE] = "replace"};
    return read_word(r, words, 3, out);
}

static bool read_catch_up(struct reader *r, void *out)
{
    static const char *const words[] = {
        [CRON_CATCH_NONE] = "none", [CRON_CATCH_ONE] = "one", [CRON_CATCH_ALL] = "all"};
    return read_word(r, words, 3, out);
}

bool spec_read_cron_options(struct reader *r, struct cron_spec *spec, char *error, size_t size)
{
    const struct option own[] = {
        {"zone", option_name, &spec->zone, "a name of the time zone database: \"Europe/Berlin\""},
        {"jitter", option_duration, &spec->jitter, JOB_EXPECTS_DURATION},
        {"catch_up", read_catch_up, &spec->catch_up, "\"none\", \"one\" or \"all\""},
        {"overlap", read_overlap, &spec->overlap, "\"skip\", \"allow\" or \"replace\""},
    };
    const struct spec_extra extra = {own, sizeof own / sizeof own[0]};
    uint64_t *none = NULL;
    struct reader before = *r;
    const struct job_spec *task = &spec->task;
    if (!spec_read_options(r, &spec->task, &none, &extra, error, size))
        return false;
    spec->options = span_of(before.at, (size_t)(r->at - before.at));
    if (task->actor.len > 0 && !(task->said & 1u << JOB_OPTION_durable))
        spec->task.durable = DURABLE_NONE; /* actors are kept in memory */
    if (task->delay == 0 && task->at == 0 && task->key.len == 0 && task->tracestate.len == 0 &&
        !trace_context_is(&task->traceparent) && task->batch == 0)
        return true;
    snprintf(error, size,
             "the tasks of a cron cannot have the options delay, at, key, after, after_any, "
             "traceparent, tracestate and batch");
    return false;
}

bool spec_reread_cron_options(struct span options, struct cron_spec *spec)
{
    struct reader r = reader_of(options);
    char error[200];
    return spec_read_cron_options(&r, spec, error, sizeof error);
}
