/* Limits, rates and lines, and the tables that they are found in. */
#include "server/jobs/sched/limits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/siphash.h"
#include "server/jobs/core/table.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/fair_queue.h"

/* A step of priority where waiting counts for nothing: longer than any wait, and 9 of them are
 * still a time. */
#define STEP_MAX ((ao_time)1 << 59)

enum { SIDE_NONE = UINT32_MAX };

struct limit_table {
    struct hash_table limits, rates, lines;
    struct row_notes *notes;
    uint64_t seed[2];
    ao_time step;
    struct pool_calls **pools; /* by index */
    uint32_t pool_room;
    uint32_t workers_from;    /* the first pool of workers */
    struct pool_calls beside; /* of holds, and of jobs that have no pool yet */
};

/* --- The tables --- */

struct limit_table *limit_table_new(const uint64_t seed[2], ao_time ageing, uint32_t workers_from,
                                    struct row_notes *notes)
{
    struct limit_table *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (struct limit_table){.seed = {seed[0], seed[1]},
                              .workers_from = workers_from,
                              .notes = notes,
                              .step = ageing > 0 && ageing < STEP_MAX ? ageing : STEP_MAX};
    hash_table_init(&t->limits);
    hash_table_init(&t->rates);
    hash_table_init(&t->lines);
    return t;
}

void limit_table_free(struct limit_table *t)
{
    if (!t)
        return;
    assert(t->limits.count == 0 && t->rates.count == 0 && t->lines.count == 0);
    hash_table_fini(&t->limits);
    hash_table_fini(&t->rates);
    hash_table_fini(&t->lines);
    for (uint32_t i = 0; i < t->pool_room; i++)
        free(t->pools[i]);
    free(t->pools);
    free(t);
}

struct pool_calls *limits_pool_calls(struct limit_table *t, uint32_t pool)
{
    if (pool == POOL_OF_HOLDS || pool == POOL_NONE)
        return &t->beside;
    struct pool_calls **grown = grow_array(t->pools, &t->pool_room, pool, sizeof *grown);
    if (!grown)
        return NULL;
    t->pools = grown;
    if (!t->pools[pool] && (t->pools[pool] = calloc(1, sizeof **grown)))
        t->pools[pool]->idle = pool >= t->workers_from;
    return t->pools[pool];
}

struct rate *limit_table_rate(const struct limit_table *t, const struct rate *behind)
{
    struct hash_link **at = t->rates.buckets, **end = at + t->rates.size;
    if (behind && behind->key.link.next)
        return (struct rate *)behind->key.link.next;
    if (behind)
        at = hash_bucket(&t->rates, behind->key.link.hash) + 1;
    while (at < end && !*at)
        at++;
    return at < end ? (struct rate *)*at : NULL;
}

static uint64_t hash_of_name(const struct limit_table *t, const struct tenant *tenant,
                             struct span name)
{
    const uint64_t seed[2] = {t->seed[0] ^ (uintptr_t)tenant, t->seed[1]};
    return siphash(seed, name);
}

static struct limit_key *find(const struct hash_table *names, const struct tenant *tenant,
                              struct span name, uint64_t hash)
{
    for (struct hash_link *link = hash_first(names, hash); link; link = hash_next(link)) {
        struct limit_key *key = (struct limit_key *)link;
        if (key->tenant == tenant && span_equal(key->name, name))
            return key;
    }
    return NULL;
}

/* What has this name, made with `bytes`, zeroed but for its key, when it is new; NULL without
 * memory. */
static void *get(struct limit_table *t, struct hash_table *names, size_t bytes,
                 struct tenant *tenant, struct span name)
{
    uint64_t hash = hash_of_name(t, tenant, name);
    struct limit_key *key = find(names, tenant, name, hash);
    if (key)
        return key;
    key = calloc(1, bytes + name.len);
    if (!key)
        return NULL;
    uint8_t *copy = (uint8_t *)key + bytes;
    memcpy(copy, name.at, name.len);
    *key = (struct limit_key){.link.hash = hash, .name = span_of(copy, name.len), .tenant = tenant};
    hash_add(names, &key->link);
    return key;
}

static void drop(struct hash_table *names, struct limit_key *key)
{
    hash_remove(names, &key->link);
    free(key);
}

/* --- Gates --- */

static void gate_init(struct gate *g, struct limit *limit, struct rate *rate)
{
    g->limit = limit;
    g->rate = rate;
    g->sides = g->few;
    g->side_room = sizeof g->few / sizeof g->few[0];
}

static void gate_fini(struct gate *g)
{
    if (g->sides != g->few)
        free(g->sides);
}

static bool grow_sides(struct gate *g)
{
    uint32_t room = 2 * g->side_room;
    struct gate_side *sides = realloc(g->sides == g->few ? NULL : g->sides, room * sizeof *sides);
    if (!sides)
        return false;
    if (g->sides == g->few)
        memcpy(sides, g->few, sizeof g->few);
    g->sides = sides;
    g->side_room = room;
    return true;
}

/* The number of the pool's side, made if there is none; SIDE_NONE without memory. */
static uint32_t side_of(struct gate *g, uint32_t pool, const struct pool_calls *calls)
{
    uint32_t i = 0;
    while (i < g->side_count && g->sides[i].pool != pool)
        i++;
    if (i < g->side_count)
        return i;
    if (i == g->side_room && !grow_sides(g))
        return SIDE_NONE;
    struct gate_side *side = &g->sides[g->side_count++];
    *side = (struct gate_side){.pool = pool, .calls = calls};
    pairing_init(&side->lines, line_goes_before);
    return i;
}

/* --- Made and dropped --- */

static struct limit *limit_named(struct limit_table *t, struct tenant *tenant, struct span name)
{
    struct limit *limit = get(t, &t->limits, sizeof *limit, tenant, name);
    if (limit && !limit->gate.sides) {
        gate_init(&limit->gate, limit, NULL);
        tenant->limits++;
    }
    return limit;
}

static void set_max(struct limit *limit, uint32_t max)
{
    assert(max > 0);
    limit->moved |= limit->max != 0 && limit->max != max;
    limit->max = max;
}

struct limit *limit_get(struct limit_table *t, struct tenant *tenant, struct span name,
                        uint32_t max)
{
    struct limit *limit = limit_named(t, tenant, name);
    if (limit)
        set_max(limit, max);
    return limit;
}

void limit_note(struct limit_table *t, struct limit *limit)
{
    if (!limit->listed)
        LIST_INSERT_HEAD(&t->notes->limits, limit, to_note);
    limit->listed = t->notes->any = true;
}

struct limit *limit_next_to_note(struct row_notes *notes)
{
    struct limit *limit = LIST_FIRST(&notes->limits);
    if (!limit)
        return NULL;
    LIST_REMOVE(limit, to_note);
    limit->listed = false;
    return limit;
}

static struct rate *rate_named(struct limit_table *t, struct tenant *tenant, struct span name)
{
    struct rate *r = get(t, &t->rates, sizeof *r, tenant, name);
    if (r && !r->starts.marks) {
        gate_init(&r->gate, NULL, r);
        start_window_init(&r->starts);
        tenant->rates++;
    }
    return r;
}

static void set_rate(struct rate *r, struct start_rate of, ao_time now)
{
    of.max = of.max > 0 ? of.max : 1;
    of.per = of.per > 0 ? of.per : 1;
    if (r->of.max > 0 && (r->of.max != of.max || r->of.per != of.per))
        r->moved = r->untold = true;
    r->of = of;
    start_window_pass(&r->starts, r->of, now);
}

struct rate *rate_get(struct limit_table *t, struct tenant *tenant, struct span name,
                      struct start_rate of, ao_time now)
{
    struct rate *r = rate_named(t, tenant, name);
    if (r)
        set_rate(r, of, now);
    return r;
}

void limit_drop(struct limit_table *t, struct limit *limit)
{
    assert(limit->refs == 0);
    if (limit->listed)
        LIST_REMOVE(limit, to_note);
    gate_fini(&limit->gate);
    limit->key.tenant->limits--;
    drop(&t->limits, &limit->key);
}

/* One with a row goes when that is gone. */
static void drop_limit(struct limit_table *t, struct limit *limit)
{
    if (!limit || limit->refs > 0)
        return;
    if (limit->row > 0)
        limit_note(t, limit);
    else
        limit_drop(t, limit);
}

void rate_drop(struct limit_table *t, struct rate *r)
{
    assert(r->refs == 0 && r->held == 0);
    r->key.tenant->rates--;
    hash_remove(&t->rates, &r->key.link);
}

size_t rate_bytes(const struct rate *r)
{
    bool few = r->starts.marks == r->starts.few;
    size_t sides = r->gate.sides == r->gate.few ? 0 : r->gate.side_room * sizeof(struct gate_side);
    size_t marks = few ? 0 : r->starts.room * sizeof(struct start_mark);
    return sizeof *r + r->key.name.len + marks + sides;
}

void rate_free(struct rate *r)
{
    start_window_fini(&r->starts);
    gate_fini(&r->gate);
    free(r);
}

static uint64_t hash_of(const struct limit *limit, const struct rate *rate, uint32_t pool)
{
    uint64_t mixed = ((uintptr_t)limit >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ ((uintptr_t)rate >> 4)) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 32) + pool;
}

static struct line *find_line(struct limit_table *t, const struct limit *limit,
                              const struct rate *rate, uint32_t pool)
{
    struct hash_link *link = hash_first(&t->lines, hash_of(limit, rate, pool));
    for (; link; link = hash_next(link)) {
        struct line *line = (struct line *)link;
        if (line->limit == limit && line->rate == rate && line->pool == pool)
            return line;
    }
    return NULL;
}

static struct line *make_line(struct limit_table *t, struct limit *limit, struct rate *rate,
                              uint32_t pool)
{
    struct pool_calls *calls = limits_pool_calls(t, pool);
    if (!calls)
        return NULL;
    uint32_t limit_side = limit ? side_of(&limit->gate, pool, calls) : 0;
    uint32_t rate_side = rate ? side_of(&rate->gate, pool, calls) : 0;
    bool sides = limit_side != SIDE_NONE && rate_side != SIDE_NONE;
    struct line *line = sides ? calloc(1, sizeof *line) : NULL;
    if (!line)
        return NULL;
    line->link.hash = hash_of(limit, rate, pool);
    line->limit = limit;
    line->rate = rate;
    line->pool = pool;
    line->calls = calls;
    line->limit_side = limit_side;
    line->rate_side = rate_side;
    line->step = t->step;
    pairing_init(&line->claims, claim_goes_before);
    hash_add(&t->lines, &line->link);
    if (limit)
        limit->refs++;
    if (rate)
        rate->refs++;
    return line;
}

struct line *line_get(struct limit_table *t, struct tenant *tenant, const struct job_spec *spec,
                      uint32_t pool, ao_time now)
{
    bool limited = spec->limit_key.len > 0, rated = spec->rate_key.len > 0;
    struct limit *limit = limited ? limit_named(t, tenant, spec->limit_key) : NULL;
    if (limited && !limit)
        return NULL;
    struct rate *rate = rated ? rate_named(t, tenant, spec->rate_key) : NULL;
    struct line *line = rated && !rate ? NULL : find_line(t, limit, rate, pool);
    if (!line && (rate || !rated))
        line = make_line(t, limit, rate, pool);
    if (line) {
        if (limit)
            set_max(limit, spec->limit);
        if (rate)
            set_rate(rate, (struct start_rate){spec->rate, spec->rate_per}, now);
        line->refs++;
        return line;
    }
    drop_limit(t, limit);
    if (rate && !rate->scheduler) {
        rate_drop(t, rate);
        rate_free(rate);
    }
    return NULL;
}

struct rate *rate_find(const struct limit_table *t, const struct tenant *tenant, struct span name)
{
    return (struct rate *)find(&t->rates, tenant, name, hash_of_name(t, tenant, name));
}

struct limit *limit_find(const struct limit_table *t, const struct tenant *tenant, struct span name)
{
    return (struct limit *)find(&t->limits, tenant, name, hash_of_name(t, tenant, name));
}

struct line *line_of_holds(struct limit_table *t, struct tenant *tenant, struct span name,
                           uint32_t max)
{
    struct limit *limit = limit_get(t, tenant, name, max);
    struct line *line = limit ? find_line(t, limit, NULL, POOL_OF_HOLDS) : NULL;
    if (!line && limit)
        line = make_line(t, limit, NULL, POOL_OF_HOLDS);
    if (line)
        line->refs++;
    else
        drop_limit(t, limit);
    return line;
}

struct line *line_of_pool(struct limit_table *t, const struct line *line, uint32_t pool)
{
    struct line *other = find_line(t, line->limit, line->rate, pool);
    if (!other)
        other = make_line(t, line->limit, line->rate, pool);
    if (other)
        other->refs++;
    return other;
}

void line_unref(struct limit_table *t, struct line *line)
{
    assert(line->refs > 0);
    if (--line->refs > 0)
        return;
    assert(!line->at && !line->claims.root && line->called == 0);
    if (line->limit)
        line->limit->refs--;
    if (line->rate)
        line->rate->refs--;
    drop_limit(t, line->limit);
    hash_remove(&t->lines, &line->link);
    free(line);
}
