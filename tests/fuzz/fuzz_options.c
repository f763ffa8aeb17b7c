/* The options of a task, of a cron, and of any other map.  An input is a byte that says whose, and
 * a MessagePack value.
 *
 * What is accepted is within the bounds that proto/job_options.h declares, packs into a map that
 * says the same in other words, and that is read back as the same; what is refused says why. */
#include "proto/job_options.h"
#include "proto/pack.h"
#include "proto/scanner.h"
#include "server/jobs/core/ids.h"
#include "server/rpc/spec_options.h"
#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

enum { MESSAGE_MAX = 8192, IDS_MAX = MESSAGE_MAX / (ID_TEXT_LEN + 1) + 2 };

/* --- Bounds --- */

static bool is_name(struct span name)
{
    return name.len == 0 || utf8_is_name(name, JOB_NAME_MAX);
}

static void check_ids(const uint64_t *ids, uint32_t count, const uint64_t *room)
{
    CHECK(count <= JOB_AFTER_MAX);
    CHECK(count == 0 || (ids >= room && ids + count <= room + IDS_MAX));
}

static void check_bounds(const struct job_spec *s, const uint64_t *room)
{
    CHECK(is_name(s->tenant) && is_name(s->key) && is_name(s->coalesce));
    CHECK(is_name(s->limit_key) && is_name(s->rate_key));
    CHECK((s->limit_key.len > 0) == (s->limit > 0));
    CHECK((s->rate_key.len > 0) == (s->rate > 0) && (s->rate > 0) == (s->rate_per > 0));
    CHECK(s->timeout > 0);
    CHECK(s->tracestate.len == 0 || tracestate_valid(s->tracestate));
    CHECK(s->priority <= SPEC_PRIORITY_MAX && s->backoff_jitter <= 100);
    CHECK(s->durable <= DURABLE_FSYNC);
    check_ids(s->after, s->after_count, room);
    check_ids(s->after_any, s->after_any_count, room);
}

/* --- Packed in other words --- */

struct packing {
    struct pack values;
    size_t pairs;
};

static void name_of(struct packing *p, const char *name)
{
    pack_str(&p->values, name);
    p->pairs++;
}

/* As text, whose units are exact. */
static void put_duration(struct packing *p, const char *name, ao_time ns)
{
    char text[32];

    name_of(p, name);
    snprintf(text, sizeof text, "%" PRIu64 "ns", ns);
    pack_str(&p->values, text);
}

static void put_number(struct packing *p, const char *name, uint64_t v)
{
    name_of(p, name);
    pack_uint(&p->values, v);
}

static void put_name(struct packing *p, const char *name, struct span text)
{
    if (text.len == 0)
        return;
    name_of(p, name);
    pack_span(&p->values, text);
}

static void put_limit(struct packing *p, const struct job_spec *s)
{
    if (s->limit == 0)
        return;
    name_of(p, "limit");
    pack_map(&p->values, 2);
    pack_key_uint(&p->values, "max", s->limit);
    pack_key_span(&p->values, "key", s->limit_key);
}

static void put_rate(struct packing *p, const struct job_spec *s)
{
    char text[32];

    if (s->rate == 0)
        return;
    name_of(p, "rate");
    pack_map(&p->values, 3);
    snprintf(text, sizeof text, "%" PRIu64 "ns", s->rate_per);
    pack_key_str(&p->values, "per", text);
    pack_key_uint(&p->values, "max", s->rate);
    pack_key_span(&p->values, "key", s->rate_key);
}

static void put_ids(struct packing *p, const char *name, const uint64_t *ids, uint32_t count)
{
    char text[ID_TEXT_SIZE];

    if (count == 0)
        return;
    name_of(p, name);
    pack_array(&p->values, count);
    for (uint32_t i = 0; i < count; i++)
        pack_str(&p->values, id_text(ids[i], text));
}

static void put_trace(struct packing *p, const struct job_spec *s)
{
    char text[TRACEPARENT_SIZE];

    put_name(p, "tracestate", s->tracestate);
    if (!trace_context_is(&s->traceparent))
        return;
    name_of(p, "traceparent");
    pack_str(&p->values, traceparent_text(&s->traceparent, text));
}

/* Those of a task that is submitted once; `at` in whole milliseconds alone, as numbers have it. */
static void put_once(struct packing *p, const struct job_spec *s)
{
    put_duration(p, "delay", s->delay);
    put_number(p, "at", s->at / AO_MS(1));
    put_name(p, "key", s->key);
    put_trace(p, s);
    put_ids(p, "after_any", s->after_any, s->after_any_count);
    put_ids(p, "after", s->after, s->after_count);
}

static void put_each(struct packing *p, const struct job_spec *s)
{
    static const char *const levels[] = {"none", "async", "fsync"};

    name_of(p, "durable");
    pack_str(&p->values, levels[s->durable]);
    put_number(p, "keep_size", s->keep_size);
    put_duration(p, "keep", s->keep);
    put_name(p, "tenant", s->tenant);
    put_rate(p, s);
    put_limit(p, s);
    put_name(p, "coalesce", s->coalesce);
    put_number(p, "backoff_jitter", s->backoff_jitter);
    put_duration(p, "backoff_max", s->backoff_max);
    put_duration(p, "backoff", s->backoff);
    put_number(p, "retries", s->retries);
    put_duration(p, "deadline", s->deadline);
    put_duration(p, "timeout", s->timeout);
    put_number(p, "priority", s->priority);
}

/* The map of what was packed. */
static void finish(struct packing *p, struct pack *map)
{
    pack_init(map);
    pack_map(map, p->pairs);
    pack_raw(map, pack_bytes(&p->values));
    CHECK(!p->values.failed && !map->failed);
    pack_fini(&p->values);
}

/* --- The same --- */

static bool same_ids(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

static void check_same(const struct job_spec *a, const struct job_spec *b)
{
    CHECK(a->delay == b->delay && a->at / AO_MS(1) == b->at / AO_MS(1));
    CHECK(memcmp(&a->traceparent, &b->traceparent, sizeof a->traceparent) == 0);
    CHECK(span_equal(a->tracestate, b->tracestate));
    CHECK(span_equal(a->key, b->key) && span_equal(a->tenant, b->tenant));
    CHECK(same_ids(a->after, a->after_count, b->after, b->after_count));
    CHECK(same_ids(a->after_any, a->after_any_count, b->after_any, b->after_any_count));
    CHECK(a->priority == b->priority && a->durable == b->durable);
    CHECK(a->timeout == b->timeout && a->deadline == b->deadline && a->retries == b->retries);
    CHECK(a->backoff == b->backoff && a->backoff_max == b->backoff_max);
    CHECK(a->backoff_jitter == b->backoff_jitter && span_equal(a->coalesce, b->coalesce));
    CHECK(span_equal(a->limit_key, b->limit_key) && a->limit == b->limit);
    CHECK(span_equal(a->rate_key, b->rate_key) && a->rate == b->rate);
    CHECK(a->rate_per == b->rate_per && a->keep == b->keep && a->keep_size == b->keep_size);
}

/* --- The two maps --- */

static void check_task(struct span value)
{
    static uint64_t room[IDS_MAX], again_room[IDS_MAX];
    uint64_t *ids = room, *again_ids = again_room;
    struct reader r = reader_of(value);
    struct packing p = {.pairs = 0};
    struct job_spec s, again;
    char error[200] = "";
    struct pack map;

    job_spec_init(&s);
    if (!spec_read_options(&r, &s, &ids, NULL, error, sizeof error)) {
        CHECK(error[0] != '\0');
        return;
    }
    CHECK(reader_at_end(&r));
    check_bounds(&s, room);
    pack_init(&p.values);
    put_once(&p, &s);
    put_each(&p, &s);
    finish(&p, &map);
    r = reader_of(pack_bytes(&map));
    job_spec_init(&again);
    CHECK(spec_read_options(&r, &again, &again_ids, NULL, error, sizeof error));
    check_same(&s, &again);
    pack_fini(&map);
}

static void put_cron(struct packing *p, const struct cron_spec *s)
{
    static const char *const overlap[] = {"skip", "allow", "replace"};
    static const char *const catch_up[] = {"none", "one", "all"};

    pack_init(&p->values);
    put_each(p, &s->task);
    put_name(p, "zone", s->zone);
    put_duration(p, "jitter", s->jitter);
    name_of(p, "overlap");
    pack_str(&p->values, overlap[s->overlap]);
    name_of(p, "catch_up");
    pack_str(&p->values, catch_up[s->catch_up]);
}

/* Before it is given back the map stands in the store, so it is read a second time as it is, too.
 */
static void check_cron(struct span value)
{
    struct reader r = reader_of(value);
    struct cron_spec s = {.jitter = 0}, stored = s, again = s;
    struct packing p = {.pairs = 0};
    char error[200] = "";
    struct pack map;

    job_spec_init(&s.task);
    job_spec_init(&stored.task);
    job_spec_init(&again.task);
    if (!spec_read_cron_options(&r, &s, error, sizeof error)) {
        CHECK(error[0] != '\0');
        return;
    }
    CHECK(span_equal(s.options, value));
    CHECK(s.task.delay == 0 && s.task.at == 0 && s.task.key.len == 0);
    CHECK(s.task.after_count == 0 && s.task.after_any_count == 0);
    check_bounds(&s.task, NULL);
    CHECK(spec_reread_cron_options(s.options, &stored));
    check_same(&s.task, &stored.task);
    put_cron(&p, &s);
    finish(&p, &map);
    CHECK(spec_reread_cron_options(pack_bytes(&map), &again));
    check_same(&s.task, &again.task);
    CHECK(span_equal(s.zone, again.zone) && s.jitter == again.jitter);
    CHECK(s.overlap == again.overlap && s.catch_up == again.catch_up);
    pack_fini(&map);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static const struct scan_limits limits = {.message_max = MESSAGE_MAX, .depth_max = 30};
    struct scanner s;

    if (size < 2)
        return;
    scanner_init(&s);
    if (scanner_run(&s, &limits, span_of(data + 1, size - 1)) != SCAN_WHOLE)
        return;
    if (data[0] % 2 == 0)
        check_task(span_of(data + 1, s.done));
    else
        check_cron(span_of(data + 1, s.done));
}
