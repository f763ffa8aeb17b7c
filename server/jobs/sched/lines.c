#include "server/jobs/sched/lines.h"

#include <assert.h>

/* Of `max` starts the part that is promised beyond those that wait: so where many start, not each
 * waits for the disk. */
enum { START_AHEAD = 32 };

/* --- The order --- */

static struct claim *claim_at(const struct pairing_node *node)
{
    return ao_of((struct pairing_node *)(uintptr_t)node, struct claim, in_line);
}

static bool goes_before(const struct claim *a, const struct claim *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->id < b->id;
}

bool claim_goes_before(const struct pairing_node *a, const struct pairing_node *b)
{
    return goes_before(claim_at(a), claim_at(b));
}

struct line *line_of_place(const struct pairing_node *place)
{
    return ao_of((struct pairing_node *)(uintptr_t)place, struct line, place);
}

static struct claim *first_of(const struct line *line)
{
    return claim_at(line->claims.root);
}

bool line_goes_before(const struct pairing_node *a, const struct pairing_node *b)
{
    return goes_before(first_of(line_of_place(a)), first_of(line_of_place(b)));
}

/* As if it had arrived earlier by a step for each priority: so the order of two claims does not
 * change while both wait. */
static void set_rank(struct claim *c)
{
    c->rank = c->arrived + (SPEC_PRIORITY_MAX - c->priority) * c->line->step;
}

/* The claim of a job, with its id and its present priority. */
static struct claim *claim_of(struct job *job)
{
    struct claim *c = &job->more->claim;
    c->id = job->id;
    c->priority = job->priority;
    return c;
}

/* --- Open and closed --- */

static bool limit_has_room(const struct limit *limit, uint64_t called, uint32_t want)
{
    return limit->taken + called + (want < limit->max ? want : limit->max) <= limit->max;
}

static bool rate_has_room(struct rate *r, uint32_t called, ao_time now)
{
    start_window_pass(&r->starts, r->of, now);
    if (r->note.kept && r->held + called >= r->note.promised)
        return false;
    return start_window_free(&r->starts, r->of, (uint64_t)r->held + called) > 0;
}

/* Permits that holds must leave to jobs that were called and will be picked. */
static uint64_t kept_for_jobs(const struct gate *g)
{
    uint64_t kept = g->called;
    for (uint32_t i = 0; i < g->side_count; i++)
        if (g->sides[i].calls->idle || g->sides[i].calls->rests)
            kept -= g->sides[i].called;
    return kept;
}

/* May this claim be called? */
static bool is_open(const struct gate *g, const struct gate_side *side, const struct claim *c,
                    ao_time now)
{
    if (g->rate)
        return rate_has_room(g->rate, side->called, now);
    return limit_has_room(g->limit, c->kind == CLAIM_OF_JOB ? side->called : kept_for_jobs(g),
                          c->want);
}

/* Must the claims behind it wait until it goes? */
static bool bars(const struct gate *g, const struct claim *c)
{
    return g->limit && (c->kind != CLAIM_OF_JOB || c->want > 1);
}

/* Is there a claim before this one that bars it? */
static bool is_barred(const struct gate *g, const struct claim *c)
{
    for (uint32_t i = 0; i < g->side_count; i++) {
        const struct pairing_node *first = g->sides[i].lines.root;
        const struct claim *other = first ? first_of(line_of_place(first)) : NULL;
        if (other && bars(g, other) && goes_before(other, c))
            return true;
    }
    return false;
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

/* The line leaves its gate while its first claim may change: the order of a heap must not change
 * under a line that is inside. */
static void put_in(struct claim *c, struct gate *g)
{
    struct line *line = c->line;
    assert(c->stands == STANDS_NOWHERE);
    stand_at(line, NULL);
    set_rank(c);
    c->stands = STANDS_IN_LINE;
    pairing_add(&line->claims, &c->in_line);
    line->count++;
    stand_at(line, g);
}

static void take_out(struct claim *c)
{
    struct line *line = c->line;
    struct gate *g = line->at;
    assert(g && line->count > 0);
    stand_at(line, NULL);
    pairing_remove(&line->claims, &c->in_line);
    line->count--;
    c->stands = STANDS_NOWHERE;
    if (line->claims.root)
        stand_at(line, g);
}

static void count_at(struct line *line, struct gate *g, uint32_t count, bool called)
{
    struct gate_side *side = side_at(line, g);
    assert(called || (side->called >= count && g->called >= count));
    side->called = called ? side->called + count : side->called - count;
    g->called = called ? g->called + count : g->called - count;
}

/* Counts a call, or takes it back.  A hold takes its permits with the call. */
static void count_call(const struct claim *c, bool called)
{
    struct line *line = c->line;
    if (c->kind == CLAIM_OF_HOLD) {
        if (called)
            limit_add(line->limit, c->want);
        else
            limit_put_back(line->limit, c->want);
        return;
    }
    if (called && line->called++ == 0)
        LIST_INSERT_HEAD(&line->calls->lines, line, by_calls);
    else if (!called && --line->called == 0)
        LIST_REMOVE(line, by_calls);
    if (line->limit)
        count_at(line, &line->limit->gate, c->want, called);
    if (line->rate)
        count_at(line, &line->rate->gate, 1, called);
}

void line_leave(struct claim *c)
{
    if (c->stands == STANDS_IN_LINE)
        take_out(c);
    else if (c->stands == STANDS_CALLED)
        count_call(c, false);
    c->stands = STANDS_NOWHERE;
}

void line_settle(struct claim *c)
{
    assert(c->kind == CLAIM_OF_HOLD && c->stands == STANDS_CALLED);
    c->stands = STANDS_NOWHERE;
}

void line_wait(struct claim *c)
{
    assert(c->kind == CLAIM_OF_HOLD && c->stands == STANDS_NOWHERE);
    put_in(c, &c->line->limit->gate);
}

/* --- Taken and given --- */

/* A claim that was called has waited for its turn: it needs room only, and is not barred. */
static bool may_take(const struct limit *limit, struct claim *c, bool called)
{
    set_rank(c);
    return limit_has_room(limit, 0, c->want) && (called || !is_barred(&limit->gate, c));
}

bool line_take(struct job *job, ao_time now)
{
    struct claim *c = claim_of(job);
    struct line *line = c->line;
    bool called = c->stands == STANDS_CALLED;
    line_leave(c);
    if (line->limit && !job_is(job, JOB_HAS_PERMIT) && !may_take(line->limit, c, called)) {
        put_in(c, &line->limit->gate);
        return false;
    }
    if (line->rate && !job_is(job, JOB_HAS_TOKEN) && !rate_has_room(line->rate, 0, now)) {
        put_in(c, &line->rate->gate);
        return false;
    }
    if (line->limit && !job_is(job, JOB_HAS_PERMIT)) {
        limit_add(line->limit, c->want);
        job_mark(job, JOB_HAS_PERMIT);
    }
    if (line->rate && !job_is(job, JOB_HAS_TOKEN)) {
        line->rate->held++;
        job_mark(job, JOB_HAS_TOKEN);
    }
    return true;
}

void limit_add(struct limit *limit, uint32_t permits)
{
    limit->taken += permits;
}

void limit_put_back(struct limit *limit, uint32_t permits)
{
    assert(limit->taken >= permits);
    limit->taken -= permits;
}

void limit_note_late(struct job *job)
{
    struct job_more *more = job->more;
    struct limit *limit = more && more->claim.line ? more->claim.line->limit : NULL;
    if (!limit || more->is_late == (job->orphans > 0))
        return;
    more->is_late = job->orphans > 0;
    if (more->is_late)
        LIST_INSERT_HEAD(&limit->late, more, late);
    else
        LIST_REMOVE(more, late);
}

void limit_give(struct job *job)
{
    if (job_is(job, JOB_HAS_PERMIT))
        limit_put_back(job->more->claim.line->limit, job->more->claim.want);
    job_unmark(job, JOB_HAS_PERMIT);
}

void rate_give(struct job *job)
{
    assert(!job_is(job, JOB_HAS_TOKEN) || job->more->claim.line->rate->held > 0);
    if (job_is(job, JOB_HAS_TOKEN))
        job->more->claim.line->rate->held--;
    job_unmark(job, JOB_HAS_TOKEN);
}

void rate_use(struct job *job, ao_time at)
{
    struct rate *r = job->more->claim.line->rate;
    assert(job_is(job, JOB_HAS_TOKEN));
    rate_give(job);
    start_window_add(&r->starts, r->of, at);
    r->note.stale = true;
    if (r->note.promised > 0)
        r->note.promised--;
    if (r->note.asked > 0)
        r->note.asked--;
}

/* --- What is promised to the file --- */

/* At its gate, counted to `max`. */
static uint32_t waiting_at(const struct gate *g, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->side_count; i++)
        for (const struct pairing_node *at = g->sides[i].lines.root; at && count < max;
             at = pairing_next(at))
            count += line_of_place(at)->count;
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

static bool is_before(const struct line *a, const struct line *b)
{
    return !b || line_goes_before(&a->place, &b->place);
}

struct line *gate_next(struct gate *g, ao_time now)
{
    struct line *next = NULL, *bar = NULL; /* the first that may go; and that bars others */
    for (uint32_t i = 0; i < g->side_count; i++) {
        struct pairing_node *first = g->sides[i].lines.root;
        struct line *line = first ? line_of_place(first) : NULL;
        if (!line)
            continue;
        if (is_open(g, &g->sides[i], first_of(line), now))
            next = is_before(line, next) ? line : next;
        else if (bars(g, first_of(line)))
            bar = is_before(line, bar) ? line : bar;
    }
    return next && is_before(next, bar) ? next : NULL;
}

struct claim *line_call(struct line *line, ao_time now)
{
    struct gate *other = other_gate(line, line->at);
    struct claim *c = first_of(line);
    if (other && !is_open(other, side_at(line, other), c, now)) {
        stand_at(line, other);
        return NULL;
    }
    take_out(c);
    count_call(c, true);
    c->stands = STANDS_CALLED;
    return c;
}

void limits_reorder(struct job *job)
{
    if (!job->more || job->more->claim.stands != STANDS_IN_LINE)
        return;
    struct claim *c = claim_of(job);
    struct gate *g = c->line->at;
    take_out(c);
    put_in(c, g);
}
