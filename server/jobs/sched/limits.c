/* Limits, rates and lines, and the tables that they are found in. */
#include "server/jobs/sched/limits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"

/* A step of priority where waiting counts for nothing: longer than any wait, and 9 of them are
 * still a time. */
#define STEP_MAX ((ao_time)1 << 59)

/* Of `max` starts the part that is promised beyond those that wait: so where many start, not each
 * waits for the disk. */
enum { START_AHEAD = 32 };

enum { SIDE_NONE = UINT32_MAX };

struct limit_table {
    struct hash_table limits, rates, lines;
    uint64_t seed[2];
    ao_time step;
};

/* --- The tables --- */

struct limit_table *limit_table_new(const uint64_t seed[2], ao_time ageing)
{
    struct limit_table *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (struct limit_table){.seed = {seed[0], seed[1]},
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
    free(t);
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

/* What has this name, made with `bytes`, zeroed but for its key, when it is new; NULL without
 * memory. */
static void *get(struct limit_table *t, struct hash_table *names, size_t bytes,
                 struct tenant *tenant, struct span name)
{
    const uint64_t seed[2] = {t->seed[0] ^ (uintptr_t)tenant, t->seed[1]};
    uint64_t hash = siphash(seed, name);
    for (struct hash_link *link = hash_first(names, hash); link; link = hash_next(link)) {
        struct limit_key *key = (struct limit_key *)link;
        if (key->tenant == tenant && span_equal(key->name, name))
            return key;
    }
    struct limit_key *key = calloc(1, bytes + name.len);
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

/* --- The order --- */

static const struct job_more *more_of(const struct pairing_node *node)
{
    return ao_of((struct pairing_node *)(uintptr_t)node, struct job_more, in_line);
}

static bool job_before(const struct pairing_node *a, const struct pairing_node *b)
{
    const struct job_more *x = more_of(a), *y = more_of(b);
    return x->rank != y->rank ? x->rank < y->rank : x->key.job->id < y->key.job->id;
}

static struct line *line_of(const struct pairing_node *node)
{
    return ao_of((struct pairing_node *)(uintptr_t)node, struct line, place);
}

static bool line_before(const struct pairing_node *a, const struct pairing_node *b)
{
    return job_before(line_of(a)->jobs.root, line_of(b)->jobs.root);
}

/* As if it had come earlier by a step for each priority: so the order of two that wait stands
 * still while both grow older. */
static uint64_t rank_of(const struct job *job)
{
    return job->more->arrived + (SPEC_PRIORITY_MAX - job->priority) * job->more->line->step;
}

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
static uint32_t side_of(struct gate *g, uint32_t pool)
{
    uint32_t i = 0;
    while (i < g->side_count && g->sides[i].pool != pool)
        i++;
    if (i < g->side_count)
        return i;
    if (i == g->side_room && !grow_sides(g))
        return SIDE_NONE;
    struct gate_side *side = &g->sides[g->side_count++];
    *side = (struct gate_side){.pool = pool};
    pairing_init(&side->lines, line_before);
    return i;
}

/* --- Made and dropped --- */

static struct limit *get_limit(struct limit_table *t, struct tenant *tenant, struct span name,
                               uint32_t max)
{
    struct limit *limit = get(t, &t->limits, sizeof *limit, tenant, name);
    if (!limit)
        return NULL;
    if (limit->refs == 0)
        gate_init(&limit->gate, limit, NULL);
    limit->max = max;
    return limit;
}

struct rate *rate_get(struct limit_table *t, struct tenant *tenant, struct span name,
                      struct start_rate of, ao_time now)
{
    struct rate *r = get(t, &t->rates, sizeof *r, tenant, name);
    if (!r)
        return NULL;
    if (!r->starts.marks) {
        gate_init(&r->gate, NULL, r);
        start_window_init(&r->starts);
    }
    r->of.max = of.max > 0 ? of.max : 1;
    r->of.per = of.per > 0 ? of.per : 1;
    start_window_pass(&r->starts, r->of, now);
    return r;
}

static void drop_limit(struct limit_table *t, struct limit *limit)
{
    if (!limit || limit->refs > 0)
        return;
    gate_fini(&limit->gate);
    drop(&t->limits, &limit->key);
}

void rate_drop(struct limit_table *t, struct rate *r)
{
    assert(r->refs == 0 && r->held == 0);
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
    uint32_t limit_side = limit ? side_of(&limit->gate, pool) : 0;
    uint32_t rate_side = rate ? side_of(&rate->gate, pool) : 0;
    bool sides = limit_side != SIDE_NONE && rate_side != SIDE_NONE;
    struct line *line = sides ? calloc(1, sizeof *line) : NULL;
    if (!line)
        return NULL;
    line->link.hash = hash_of(limit, rate, pool);
    line->limit = limit;
    line->rate = rate;
    line->pool = pool;
    line->limit_side = limit_side;
    line->rate_side = rate_side;
    line->step = t->step;
    pairing_init(&line->jobs, job_before);
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
    const struct start_rate of = {spec->rate, spec->rate_per};
    bool limited = spec->limit_key.len > 0, rated = spec->rate_key.len > 0;
    struct limit *limit = limited ? get_limit(t, tenant, spec->limit_key, spec->limit) : NULL;
    if (limited && !limit)
        return NULL;
    struct rate *rate = rated ? rate_get(t, tenant, spec->rate_key, of, now) : NULL;
    struct line *line = rated && !rate ? NULL : find_line(t, limit, rate, pool);
    if (!line && (rate || !rated))
        line = make_line(t, limit, rate, pool);
    if (line) {
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

void line_unref(struct limit_table *t, struct line *line)
{
    if (--line->refs > 0)
        return;
    assert(!line->at && !line->jobs.root);
    if (line->limit)
        line->limit->refs--;
    if (line->rate)
        line->rate->refs--;
    drop_limit(t, line->limit);
    hash_remove(&t->lines, &line->link);
    free(line);
}

/* --- Open and closed --- */

static bool limit_has_room(const struct limit *limit, uint32_t called)
{
    return !limit || limit->taken + called < limit->max;
}

static bool rate_has_room(struct rate *r, uint32_t called, ao_time now)
{
    if (!r)
        return true;
    start_window_pass(&r->starts, r->of, now);
    if (r->note.kept && r->held + called >= r->note.promised)
        return false;
    return start_window_free(&r->starts, r->of, (uint64_t)r->held + called) > 0;
}

/* May one more of this side be called? */
static bool is_open(const struct gate *g, const struct gate_side *side, ao_time now)
{
    return g->limit ? limit_has_room(g->limit, side->called)
                    : rate_has_room(g->rate, side->called, now);
}

/* That of its pool. */
static struct gate_side *side_at(const struct line *line, const struct gate *g)
{
    return &g->sides[g->limit ? line->limit_side : line->rate_side];
}

/* --- A line at its gate --- */

static void stand_at(struct line *line, struct gate *g)
{
    if (line->at)
        pairing_remove(&side_at(line, line->at)->lines, &line->place);
    line->at = g;
    if (g)
        pairing_add(&side_at(line, g)->lines, &line->place);
}

static struct gate *other_gate(const struct line *line, const struct gate *g)
{
    if (g->limit)
        return line->rate ? &line->rate->gate : NULL;
    return line->limit ? &line->limit->gate : NULL;
}

/* Around a change of who is first: a heap's order must stand still while the line is inside. */
static void put_in(struct job *job, struct gate *g)
{
    struct line *line = job->more->line;
    stand_at(line, NULL);
    job->more->rank = rank_of(job);
    job->more->stands = STANDS_IN_LINE;
    pairing_add(&line->jobs, &job->more->in_line);
    line->count++;
    stand_at(line, g);
}

static void take_out(struct job *job)
{
    struct line *line = job->more->line;
    struct gate *g = line->at;
    stand_at(line, NULL);
    pairing_remove(&line->jobs, &job->more->in_line);
    line->count--;
    job->more->stands = STANDS_NOWHERE;
    if (line->jobs.root)
        stand_at(line, g);
}

static void count_call(const struct line *line, uint32_t one)
{
    if (line->limit)
        side_at(line, &line->limit->gate)->called += one;
    if (line->rate)
        side_at(line, &line->rate->gate)->called += one;
}

void line_leave(struct job *job)
{
    struct job_more *more = job->more;
    if (more->stands == STANDS_IN_LINE)
        take_out(job);
    else if (more->stands == STANDS_CALLED)
        count_call(more->line, (uint32_t)-1);
    more->stands = STANDS_NOWHERE;
}

/* --- Taken and given --- */

bool line_take(struct job *job, ao_time now)
{
    struct line *line = job->more->line;
    line_leave(job);
    if (!job_is(job, JOB_HAS_PERMIT) && !limit_has_room(line->limit, 0)) {
        put_in(job, &line->limit->gate);
        return false;
    }
    if (!job_is(job, JOB_HAS_TOKEN) && !rate_has_room(line->rate, 0, now)) {
        put_in(job, &line->rate->gate);
        return false;
    }
    if (line->limit && !job_is(job, JOB_HAS_PERMIT)) {
        line->limit->taken++;
        job_mark(job, JOB_HAS_PERMIT);
    }
    if (line->rate && !job_is(job, JOB_HAS_TOKEN)) {
        line->rate->held++;
        job_mark(job, JOB_HAS_TOKEN);
    }
    return true;
}

void limit_give(struct job *job)
{
    if (job_is(job, JOB_HAS_PERMIT))
        job->more->line->limit->taken--;
    job_unmark(job, JOB_HAS_PERMIT);
}

void rate_give(struct job *job)
{
    if (job_is(job, JOB_HAS_TOKEN))
        job->more->line->rate->held--;
    job_unmark(job, JOB_HAS_TOKEN);
}

void rate_use(struct job *job, ao_time at)
{
    struct rate *r = job->more->line->rate;
    assert(job_is(job, JOB_HAS_TOKEN));
    rate_give(job);
    start_window_add(&r->starts, r->of, at);
    r->note.stale = true;
    if (r->note.promised > 0)
        r->note.promised--;
    if (r->note.asked > 0)
        r->note.asked--;
}

/* --- What the file is told --- */

/* At its gate, counted to `max`. */
static uint32_t waiting_at(const struct gate *g, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->side_count; i++)
        for (const struct pairing_node *at = g->sides[i].lines.root; at && count < max;
             at = pairing_next(at))
            count += line_of(at)->count;
    return count < max ? count : max;
}

uint32_t rate_wants(struct rate *r, ao_time now)
{
    if (!r->note.kept || !gate_has_lines(&r->gate))
        return 0;
    start_window_pass(&r->starts, r->of, now);
    uint32_t room = start_window_free(&r->starts, r->of, r->note.promised);
    uint32_t spare = r->note.promised > r->held ? r->note.promised - r->held : 0;
    uint32_t wanted = waiting_at(&r->gate, r->of.max);
    if (spare >= wanted)
        return 0;
    wanted = wanted - spare + r->of.max / START_AHEAD;
    return wanted < room ? wanted : room;
}

/* --- Called --- */

bool gate_has_lines(const struct gate *g)
{
    for (uint32_t i = 0; i < g->side_count; i++)
        if (g->sides[i].lines.root)
            return true;
    return false;
}

uint32_t gate_called(const struct gate *g)
{
    uint32_t called = 0;
    for (uint32_t i = 0; i < g->side_count; i++)
        called += g->sides[i].called;
    return called;
}

struct line *gate_next(struct gate *g, uint32_t side, ao_time now)
{
    const struct gate_side *of = &g->sides[side];
    struct pairing_node *first = of->lines.root;
    return first && is_open(g, of, now) ? line_of(first) : NULL;
}

struct job *line_call(struct line *line, ao_time now)
{
    struct gate *other = other_gate(line, line->at);
    if (other && !is_open(other, side_at(line, other), now)) {
        stand_at(line, other);
        return NULL;
    }
    struct job *job = more_of(line->jobs.root)->key.job;
    take_out(job);
    count_call(line, 1);
    job->more->stands = STANDS_CALLED;
    return job;
}

void limits_reorder(struct job *job)
{
    if (!job->more || job->more->stands != STANDS_IN_LINE)
        return;
    struct gate *g = job->more->line->at;
    take_out(job);
    put_in(job, g);
}
