#include "server/jobs/service/spec_options.h"

#include "base/instant.h"
#include "base/utf8.h"
#include "server/jobs/core/ids.h"

bool option_duration(struct reader *r, void *out)
{
    return read_duration(r, out);
}

bool option_flag(struct reader *r, void *out)
{
    return read_bool(r, out);
}

static bool read_small(struct reader *r, uint32_t least, uint32_t most, uint32_t *out)
{
    struct reader before = *r;
    uint64_t v;

    if (!read_uint(r, &v))
        return false;
    if (v < least || v > most) {
        *r = before;
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

bool option_count(struct reader *r, void *out)
{
    return read_small(r, 1, UINT32_MAX, out);
}

bool option_name(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span *name = out;

    if (!read_text(r, name))
        return false;
    if (name->len > 0 && name->len <= SPEC_NAME_MAX && utf8_valid(*name))
        return true;
    *r = before;
    return false;
}

static bool read_priority(struct reader *r, void *out)
{
    uint32_t v;
    return read_small(r, 0, SPEC_PRIORITY_MAX, &v) && (*(uint8_t *)out = (uint8_t)v, true);
}

static bool read_jitter(struct reader *r, void *out)
{
    uint32_t v;
    return read_small(r, 0, 100, &v) && (*(uint8_t *)out = (uint8_t)v, true);
}

static bool read_retries(struct reader *r, void *out)
{
    return read_small(r, 0, UINT32_MAX, out);
}

static bool read_bytes(struct reader *r, void *out)
{
    return read_size(r, out);
}

/* Unix milliseconds, or RFC 3339. */
static bool read_instant(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span text;
    uint64_t ms, *at = out;

    if (read_uint(r, &ms) && ms < UINT64_MAX / AO_MS(1)) {
        *at = ms * AO_MS(1);
        return true;
    }
    *r = before;
    if (read_text(r, &text) && instant_parse(text, at))
        return true;
    *r = before;
    return false;
}

static bool read_durable(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span name;
    uint8_t *durable = out;

    if (!read_text(r, &name))
        return false;
    for (uint8_t i = DURABLE_FSYNC + 1; i-- > DURABLE_NONE;)
        if (span_is(name, job_durable_names[i])) {
            *durable = i;
            return true;
        }
    *r = before;
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

/* A map with exactly these parts. */
static bool read_parts(struct reader *r, const struct part *parts, uint32_t count)
{
    struct reader before = *r;
    uint32_t pairs, seen = 0;
    bool good = read_map(r, &pairs) && pairs == count;

    for (uint32_t i = 0; good && i < pairs; i++)
        good = take_part(r, parts, count, &seen);
    if (!good)
        *r = before;
    return good;
}

static bool read_limit(struct reader *r, void *out)
{
    struct job_spec *spec = out;
    const struct part parts[] = {{"key", option_name, &spec->limit_key},
                                 {"max", option_count, &spec->limit}};
    return read_parts(r, parts, 2);
}

static bool read_positive(struct reader *r, void *out)
{
    uint64_t *ns = out;
    return read_duration(r, ns) && *ns > 0;
}

static bool read_rate(struct reader *r, void *out)
{
    struct job_spec *spec = out;
    const struct part parts[] = {{"key", option_name, &spec->rate_key},
                                 {"max", option_count, &spec->rate},
                                 {"per", read_positive, &spec->rate_per}};
    return read_parts(r, parts, 3);
}

struct after_out {
    uint64_t **ids; /* room that is left */
    struct job_spec *spec;
};

static bool read_after_id(struct reader *r, const struct after_out *out)
{
    struct span text;
    if (!read_text(r, &text) || !id_parse(text, *out->ids))
        return false;
    ++*out->ids;
    out->spec->after_count++;
    return true;
}

static bool read_after(struct reader *r, void *arg)
{
    const struct after_out *out = arg;
    struct reader before = *r;
    uint32_t count = 1;
    bool list = read_array(r, &count), good = *out->ids && (!list || count <= SPEC_AFTER_MAX);

    out->spec->after = *out->ids;
    out->spec->after_count = 0;
    for (uint32_t i = 0; good && i < count; i++)
        good = read_after_id(r, out);
    if (!good)
        *r = before;
    return good;
}

/* An option of every order: where in it the value goes. */
struct known {
    const char *name;
    bool (*read)(struct reader *r, void *out);
    size_t at; /* bytes from its begin */
    const char *expects;
};

#define AT(field) offsetof(struct job_spec, field)
enum { WHOLE = 0 /* the reader fills several fields */ };

/* Looked through in this order: what is given most stands first. */
static const struct known known[] = {
    {"durable", read_durable, AT(durable), "\"none\", \"async\" or \"fsync\""},
    {"priority", read_priority, AT(priority), "a number from 0 to 9; 9 goes first"},
    {"delay", option_duration, AT(delay), EXPECTS_DURATION},
    {"at", read_instant, AT(at), "Unix milliseconds, or RFC 3339 text with an offset"},
    {"timeout", read_positive, AT(timeout), EXPECTS_DURATION ", more than 0"},
    {"deadline", option_duration, AT(deadline), EXPECTS_DURATION},
    {"retries", read_retries, AT(retries), "a number from 0 to 4294967295"},
    {"backoff", option_duration, AT(backoff), EXPECTS_DURATION},
    {"backoff_max", option_duration, AT(backoff_max), EXPECTS_DURATION},
    {"backoff_jitter", read_jitter, AT(jitter), "a number from 0 to 100: percent of the back-off"},
    {"key", option_name, AT(key), EXPECTS_NAME},
    {"coalesce", option_name, AT(coalesce), EXPECTS_NAME},
    {"limit", read_limit, WHOLE,
     "a map of {key: string of 1 to 256 bytes of UTF-8, max: number from 1}, no more"},
    {"rate", read_rate, WHOLE,
     "a map of {key: string of 1 to 256 bytes of UTF-8, max: number from 1, per: duration}, no "
     "more"},
    {"tenant", option_name, AT(tenant), EXPECTS_NAME},
    {"after", read_after, WHOLE, "an id of a task, or a list of at most 1024"},
    {"keep", option_duration, AT(keep), EXPECTS_DURATION},
    {"keep_size", read_bytes, AT(keep_size), "a size: bytes, or text such as \"64k\""},
};
enum { KNOWN = sizeof known / sizeof known[0] };

struct reading {
    struct after_out after;
    const struct spec_extra *more;
};

static bool is_named(struct span name, const char *known_name)
{
    return name.len > 0 && name.at[0] == (uint8_t)known_name[0] && span_is(name, known_name);
}

static int find_more(const struct spec_extra *more, struct span name, struct option *out)
{
    for (uint32_t i = 0; more && i < more->count; i++)
        if (is_named(name, more->at[i].name)) {
            *out = more->at[i];
            return (int)(KNOWN + i);
        }
    return -1;
}

static int find_option(void *arg, struct span name, struct option *out)
{
    struct reading *reading = arg;

    for (int i = 0; i < KNOWN; i++)
        if (is_named(name, known[i].name)) {
            void *value = (uint8_t *)reading->after.spec + known[i].at;
            bool after = known[i].read == read_after;
            *out = (struct option){.name = known[i].name,
                                   .read = known[i].read,
                                   .out = after ? &reading->after : value,
                                   .expects = known[i].expects};
            return i;
        }
    return find_more(reading->more, name, out);
}

bool spec_read_options(struct reader *r, struct job_spec *spec, uint64_t **ids,
                       const struct spec_extra *more, char *error, size_t size)
{
    struct reading reading = {.after = {ids, spec}, .more = more};
    return options_take_by(r, find_option, &reading, error, size);
}
