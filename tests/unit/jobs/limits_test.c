/* Lines at their gates: limits are never exceeded nor idle while somebody waits, and the order is
 * priority, then arrival. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/job.h"
#include "server/jobs/sched/limits.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/core/table.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { JOBS = 40 };

static const uint64_t seed[2] = {7, 8};
static uint64_t random_state;

static struct limit_table *fresh_table(void)
{
    struct row_notes notes = {0};
    struct limit_table *t = limit_table_new(seed, 0, 1000, &notes);
    assert_non_null(t);
    random_state = 4711;
    return t;
}

static int set_up(void **state)
{
    *state = fresh_table();
    return 0;
}

static int tear_down(void **state)
{
    limit_table_free(*state); /* it asserts that nothing is left */
    return 0;
}

#define LIMITS_TEST(name) TEST_OF(struct limit_table *t, NULL, set_up, tear_down, name)

/* --- The tables --- */

static struct job_spec of_limit(const char *key, uint32_t max)
{
    return (struct job_spec){.limit_key = span_text(key), .limit = max};
}

LIMITS_TEST(a_name_is_found_until_the_last_reference_goes)
{
    struct tenant mine = {0}, yours = {0};
    struct job_spec three = of_limit("gpu", 3), five = of_limit("gpu", 5);
    struct line *a = line_get(t, &mine, &three, 0, 0), *b = line_get(t, &yours, &three, 0, 0);
    assert_ptr_not_equal(a->limit, b->limit);
    assert_ptr_equal(line_get(t, &mine, &five, 0, 0), a);
    assert_int_equal(a->limit->max, 5);
    assert_int_equal(a->refs, 2);
    assert_true(span_is(a->limit->key.name, "gpu"));
    struct line *blocking = line_get(t, &mine, &five, 1, 0);
    assert_ptr_not_equal(blocking, a);
    assert_ptr_equal(blocking->limit, a->limit);
    for (int i = 0; i < 2; i++)
        line_unref(t, a);
    assert_ptr_equal(line_get(t, &mine, &five, 1, 0), blocking);
    for (int i = 0; i < 2; i++)
        line_unref(t, blocking);
    line_unref(t, b);
}

LIMITS_TEST(many_names)
{
    enum { MANY = 3000 };
    static struct line *lines[MANY];
    struct tenant tenants[2] = {0};
    char name[16];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "key %d", i / 2);
            struct job_spec spec = of_limit(name, 1);
            struct line *l = line_get(t, &tenants[i % 2], &spec, 0, 0);
            assert_true(round == 0 || l == lines[i]);
            lines[i] = l;
        }
    for (int i = 0; i < 2 * MANY; i++)
        line_unref(t, lines[i % MANY]);
}

/* A rate stays when its jobs have gone, so that the next ones find its starts. */
LIMITS_TEST(a_rate_outlives_its_jobs)
{
    struct tenant tenant = {0};
    struct job_spec spec = {
        .rate_key = span_text("mail"), .rate = 2, .rate_per = AO_S(1), .limit = 1};
    struct line *line = line_get(t, &tenant, &spec, 0, AO_S(1));
    struct rate *r = line->rate;
    line_unref(t, line);
    assert_ptr_equal(limit_table_rate(t, NULL), r);
    line = line_get(t, &tenant, &spec, 0, AO_S(1));
    assert_ptr_equal(line->rate, r);
    line_unref(t, line);
    rate_drop(t, r);
    rate_free(r);
    assert_null(limit_table_rate(t, NULL));
}

/* --- Jobs that ask --- */

struct asking {
    struct job job;
    struct job_more more;
};

static struct job *asks(struct asking *a, struct line *line, uint8_t priority, ao_time arrived)
{
    static uint64_t id;
    *a = (struct asking){
        .job = {.id = ++id, .more = &a->more, .priority = priority},
        .more = {.claim = {.line = line, .arrived = arrived, .want = 1}, .key.job = &a->job}};
    return &a->job;
}

static struct job *call_at(struct gate *g, ao_time now)
{
    struct line *line;
    struct claim *c = NULL;
    while (!c && (line = gate_next(g, now)))
        c = line_call(line, now);
    return c ? claim_job(c) : NULL;
}

/* What begins next at a gate of which one place is free; it begins, and ends. */
static struct job *next_at(struct gate *g, ao_time now)
{
    struct job *job = call_at(g, now);
    if (job) {
        assert_true(line_take(job, now));
        limit_give(job);
    }
    return job;
}

/* --- Limits --- */

enum { POOLS = 5 };
enum where { OUT, HAS, WAITS, CALLED };

struct limit_world {
    struct limit *limit;
    struct asking jobs[JOBS];
    enum where where[JOBS];
    ao_time now;
};

static bool goes_before(const struct limit_world *w, int a, int b)
{
    const struct job *x = &w->jobs[a].job, *y = &w->jobs[b].job;
    if (x->priority != y->priority)
        return x->priority > y->priority;
    return x->more->claim.arrived != y->more->claim.arrived
               ? x->more->claim.arrived < y->more->claim.arrived
               : x->id < y->id;
}

static void call_all(struct limit_world *w)
{
    struct job *job;
    while ((job = call_at(&w->limit->gate, w->now))) {
        int i = (int)(ao_of(job, struct asking, job) - w->jobs);
        assert_int_equal(w->where[i], WAITS);
        for (int other = 0; other < JOBS; other++)
            assert_true(w->where[other] != WAITS || other == i ||
                        w->jobs[other].more.claim.line != job->more->claim.line ||
                        goes_before(w, i, other));
        w->where[i] = CALLED;
    }
}

static void check_limit(const struct limit_world *w)
{
    uint32_t has = 0, waits[POOLS] = {0}, called[POOLS] = {0};
    for (int i = 0; i < JOBS; i++) {
        uint32_t side = w->jobs[i].more.claim.line->limit_side;
        has += w->where[i] == HAS;
        waits[side] += w->where[i] == WAITS;
        called[side] += w->where[i] == CALLED;
        assert_true(job_is(&w->jobs[i].job, JOB_HAS_PERMIT) == (w->where[i] == HAS));
        assert_true((w->jobs[i].more.claim.stands == STANDS_IN_LINE) == (w->where[i] == WAITS));
    }
    assert_int_equal(has, w->limit->taken);
    assert_int_equal(w->limit->gate.side_count, POOLS);
    for (uint32_t side = 0; side < POOLS; side++) {
        assert_int_equal(called[side], w->limit->gate.sides[side].called);
        assert_true(has + called[side] >= w->limit->max || waits[side] == 0);
    }
}

static void step_limit(struct limit_world *w, int i, uint64_t random)
{
    struct job *job = &w->jobs[i].job;
    uint32_t before = w->limit->taken;
    if (w->where[i] == OUT || (w->where[i] == CALLED && random % 4 > 0)) { /* it is picked */
        if (w->where[i] == OUT)
            asks(&w->jobs[i], w->jobs[i].more.claim.line, (uint8_t)(random % 10), w->now);
        w->where[i] = line_take(job, w->now) ? HAS : WAITS;
    } else if (w->where[i] == WAITS && random % 2 == 0) {
        job->priority = (uint8_t)(random % 10);
        limits_reorder(job);
    } else { /* it ended, was cancelled, or its queue is paused */
        line_leave(&job->more->claim);
        limit_give(job);
        w->where[i] = OUT;
    }
    call_all(w);
    assert_true(w->limit->taken <= before || w->limit->taken <= w->limit->max);
}

static uint32_t waiting(const struct limit_world *w)
{
    uint32_t n = 0;
    for (int i = 0; i < JOBS; i++)
        n += w->where[i] == WAITS;
    return n;
}

static uint32_t before_of(const struct job *job)
{
    uint32_t looks = UINT32_MAX;
    return limits_before(job, &looks);
}

/* The place that explain tells: how many of all pools go before. */
static void check_place(const struct limit_world *w, int i)
{
    uint32_t before = 0;
    for (int other = 0; w->where[i] == WAITS && other < JOBS; other++)
        before += w->where[other] == WAITS && other != i && goes_before(w, other, i);
    assert_int_equal(before_of(&w->jobs[i].job), before);
}

LIMITS_TEST(as_many_are_called_as_may_begin)
{
    static struct limit_world w;
    struct tenant tenant = {0};
    struct job_spec spec = of_limit("gpu", 3);
    uint64_t waited = 0;
    for (int i = 0; i < JOBS; i++)
        w.jobs[i].more.claim.line = line_get(t, &tenant, &spec, (uint32_t)(i % POOLS) * 1000, 0);
    w.limit = w.jobs[0].more.claim.line->limit;
    for (int i = 0; i < 100000; i++) {
        w.now += chance(&random_state, 3);
        if (i > 50000 && chance(&random_state, 50) == 0) { /* the newest spec says another size */
            spec.limit = 1 + chance(&random_state, 10);
            line_unref(t, line_get(t, &tenant, &spec, 0, 0));
            call_all(&w);
        }
        step_limit(&w, (int)chance(&random_state, JOBS), chance(&random_state, 1000));
        check_limit(&w);
        check_place(&w, (int)chance(&random_state, JOBS));
        assert_true(i > 50000 || w.limit->taken <= 3);
        waited += waiting(&w);
    }
    assert_true(waited > 100000);
    for (int i = 0; i < JOBS; i++) {
        line_leave(&w.jobs[i].more.claim);
        limit_give(&w.jobs[i].job);
        line_unref(t, w.jobs[i].more.claim.line);
    }
}

/* --- Who wants several, and holds --- */

enum { SIZE = 6, CLAIMS = 30 };

struct claimer {
    struct asking job; /* used if `is_job` */
    struct claim hold;
    struct claim *claim;
    bool is_job;
    enum where where;
};

struct mixed_world {
    struct limit *limit;
    struct claimer all[CLAIMS];
    uint64_t last_id;
    ao_time now;
};

static void ask_anew(struct mixed_world *w, struct claimer *c)
{
    struct line *line = c->claim->line;
    c->job.job.priority = (uint8_t)chance(&random_state, 10);
    c->job.job.id = ++w->last_id;
    *c->claim = (struct claim){.line = line,
                               .arrived = w->now,
                               .want = (uint32_t)(1 + chance(&random_state, 3)),
                               .kind = c->is_job ? CLAIM_OF_JOB : CLAIM_OF_HOLD,
                               .id = w->last_id,
                               .priority = c->is_job ? c->job.job.priority : SPEC_PRIORITY};
}

static bool claimer_before(const struct claimer *a, const struct claimer *b)
{
    return a->claim->rank != b->claim->rank ? a->claim->rank < b->claim->rank
                                            : a->claim->id < b->claim->id;
}

/* Nobody passes a hold, nor a job that is the first of its pool and wants several; jobs of other
 * pools pass one that wants one. */
static void check_call(const struct mixed_world *w, const struct claimer *called)
{
    for (int i = 0; i < CLAIMS; i++) {
        const struct claimer *c = &w->all[i];
        if (c->where != WAITS || c == called)
            continue;
        bool passed = claimer_before(c, called);
        bool first = c->claim->line->claims.root == &c->claim->in_line;
        assert_false(passed && (!c->is_job || (first && c->claim->want > 1)));
        assert_false(passed && c->claim->line == called->claim->line);
    }
}

static void call_mixed(struct mixed_world *w)
{
    struct line *line;
    while ((line = gate_next(&w->limit->gate, w->now))) {
        struct claim *claim = line_call(line, w->now);
        int i = 0;
        while (w->all[i].claim != claim)
            i++;
        assert_int_equal(w->all[i].where, WAITS);
        check_call(w, &w->all[i]);
        w->all[i].where = w->all[i].is_job ? CALLED : HAS;
        if (!w->all[i].is_job && chance(&random_state, 2) == 0)
            line_settle(claim); /* else it is taken back before it was told */
    }
}

/* What is free and what is held are all that there is, in each step. */
static void audit_permits(const struct mixed_world *w)
{
    uint32_t held = 0, called = 0, waits = 0;
    for (int i = 0; i < CLAIMS; i++) {
        const struct claimer *c = &w->all[i];
        held += c->where == HAS ? c->claim->want : 0;
        called += c->where == CALLED ? c->claim->want : 0;
        waits += c->where == WAITS;
        assert_true((c->claim->stands == STANDS_IN_LINE) == (c->where == WAITS));
    }
    assert_int_equal(w->limit->taken, held);
    assert_int_equal(w->limit->gate.called, called);
    assert_true(held <= SIZE);
    assert_true(held + called > 0 || waits == 0);
}

static void step_mixed(struct mixed_world *w, struct claimer *c, uint64_t random)
{
    if (c->where == OUT && !c->is_job) {
        ask_anew(w, c);
        line_wait(c->claim);
        c->where = WAITS;
    } else if (c->where == OUT || (c->where == CALLED && random % 4 > 0)) {
        if (c->where == OUT)
            ask_anew(w, c);
        c->where = line_take(&c->job.job, w->now) ? HAS : WAITS;
    } else {
        bool settled = c->where == HAS && c->claim->stands == STANDS_NOWHERE;
        line_leave(c->claim);
        if (c->is_job)
            limit_give(&c->job.job);
        else if (settled)
            limit_put_back(w->limit, c->claim->want);
        c->where = OUT;
    }
    call_mixed(w);
}

static void make_claimers(struct limit_table *t, struct mixed_world *w, struct tenant *tenant)
{
    struct job_spec spec = of_limit("gpu", SIZE);
    for (int i = 0; i < CLAIMS; i++) {
        struct claimer *c = &w->all[i];
        c->is_job = i % 2 == 0;
        c->claim = c->is_job ? &c->job.more.claim : &c->hold;
        c->job.job.more = &c->job.more;
        c->job.more.key.job = &c->job.job;
        c->claim->line = c->is_job ? line_get(t, tenant, &spec, (uint32_t)(i / 2 % 2), 0)
                                   : line_of_holds(t, tenant, spec.limit_key, SIZE);
    }
    w->limit = w->all[0].claim->line->limit;
}

LIMITS_TEST(jobs_and_holds_share_permits_in_one_order)
{
    static struct mixed_world w;
    struct tenant tenant = {0};
    make_claimers(t, &w, &tenant);
    assert_ptr_equal(limit_find(t, &tenant, span_text("gpu")), w.limit);
    assert_ptr_equal(w.all[1].claim->line->limit, w.limit);
    for (int i = 0; i < 100000; i++) {
        w.now += chance(&random_state, 3);
        step_mixed(&w, &w.all[chance(&random_state, CLAIMS)], chance(&random_state, 1000));
        audit_permits(&w);
    }
    for (int i = 0; i < CLAIMS; i++) {
        if (w.all[i].where != OUT)
            step_mixed(&w, &w.all[i], 0);
        while (w.all[i].where != OUT)
            step_mixed(&w, &w.all[i], 0);
    }
    assert_int_equal(w.limit->taken, 0);
    for (int i = 0; i < CLAIMS; i++)
        line_unref(t, w.all[i].claim->line);
    assert_null(limit_find(t, &tenant, span_text("gpu")));
}

/* Three are free of four: who wants four is the first, and who comes later waits behind it. */
LIMITS_TEST(who_wants_several_is_not_passed)
{
    struct tenant tenant = {0};
    struct job_spec spec = of_limit("gpu", 4);
    struct asking a[3];
    struct job *job[3];
    for (int i = 0; i < 3; i++)
        job[i] = asks(&a[i], line_get(t, &tenant, &spec, (uint32_t)i % 2, 0), 5, (ao_time)i);
    a[1].more.claim.want = 4;
    struct gate *g = &a[0].more.claim.line->limit->gate;
    assert_true(line_take(job[0], 0));
    assert_false(line_take(job[1], 1));
    assert_false(line_take(job[2], 2));
    assert_null(call_at(g, 3));
    limit_give(job[0]);
    assert_ptr_equal(call_at(g, 4), job[1]);
    assert_true(line_take(job[1], 4));
    assert_null(call_at(g, 4));
    limit_give(job[1]);
    assert_ptr_equal(next_at(g, 5), job[2]);
    for (int i = 0; i < 3; i++)
        line_unref(t, a[i].more.claim.line);
}

/* A limit that was lowered below what somebody wants gives it all that there is. */
LIMITS_TEST(who_wants_more_than_there_is_gets_all)
{
    struct tenant tenant = {0};
    struct job_spec spec = of_limit("gpu", 2);
    struct claim hold = {.kind = CLAIM_OF_HOLD, .want = 4, .priority = 5};
    struct asking a;
    hold.line = line_of_holds(t, &tenant, spec.limit_key, 2);
    struct job *job = asks(&a, line_get(t, &tenant, &spec, 0, 0), 5, 0);
    assert_true(line_take(job, 0));
    line_wait(&hold);
    assert_null(gate_next(&hold.line->limit->gate, 1));
    limit_give(job);
    assert_ptr_equal(line_call(gate_next(&hold.line->limit->gate, 1), 1), &hold);
    assert_int_equal(hold.line->limit->taken, 4);
    assert_false(line_take(job, 2));
    line_leave(&job->more->claim);
    limit_put_back(hold.line->limit, 4);
    line_unref(t, a.more.claim.line);
    line_unref(t, hold.line);
}

/* Nothing is reserved for who is called: who is picked first begins, and the called one waits on,
 * where it stood. */
LIMITS_TEST(who_is_called_holds_nothing)
{
    struct tenant tenant = {0};
    struct job_spec spec = of_limit("x", 1);
    struct asking a[4];
    struct job *job[4];
    for (int i = 0; i < 4; i++)
        job[i] = asks(&a[i], line_get(t, &tenant, &spec, 0, 0), 5, (ao_time)i);
    struct gate *g = &a[0].more.claim.line->limit->gate;
    assert_true(line_take(job[0], 0));
    assert_false(line_take(job[1], 1));
    assert_false(line_take(job[2], 2));
    limit_give(job[0]);
    assert_ptr_equal(call_at(g, 3), job[1]);
    assert_null(call_at(g, 3));
    assert_true(line_take(job[3], 3));  /* a higher priority was picked */
    assert_false(line_take(job[1], 3)); /* and then the one that was called */
    assert_int_equal(before_of(job[1]), 0);
    assert_int_equal(before_of(job[2]), 1);
    limit_give(job[3]);
    assert_ptr_equal(next_at(g, 4), job[1]);
    assert_ptr_equal(next_at(g, 5), job[2]);
    for (int i = 0; i < 4; i++)
        line_unref(t, a[i].more.claim.line);
}

/* A step of priority counts as much as having waited for one step of age. */
TEST(who_waits_grows_older)
{
    struct row_notes notes = {0};
    struct limit_table *t = limit_table_new(seed, AO_S(10), 1000, &notes);
    struct tenant tenant = {0};
    struct job_spec spec = of_limit("x", 1);
    const struct {
        uint8_t priority;
        ao_time arrived;
    } of[] = {{5, AO_S(100)}, {0, AO_S(49)}, {0, AO_S(51)}, {9, AO_S(138)}, {9, AO_S(142)}};
    struct asking holder, a[5];
    struct line *line = line_get(t, &tenant, &spec, 0, 0);
    assert_true(line_take(asks(&holder, line, 5, 0), 0));
    for (int i = 0; i < 5; i++)
        assert_false(line_take(asks(&a[i], line, of[i].priority, of[i].arrived), AO_S(150)));
    limit_give(&holder.job);
    const int wanted[] = {3, 1, 0, 2, 4};
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(next_at(&line->limit->gate, AO_S(150)), &a[wanted[i]].job);
    line_unref(t, line);
    limit_table_free(t);
}

/* --- Limit and rate --- */

/* However many wait, the line is moved from gate to gate as one, and gives them in their order. */
LIMITS_TEST(a_line_moves_as_one)
{
    enum { MANY = 100000 };
    struct tenant tenant = {0};
    struct job_spec spec = of_limit("x", 1);
    spec.rate_key = span_text("r");
    spec.rate = 1;
    spec.rate_per = AO_S(1);
    static struct asking a[MANY], first;
    struct line *line = line_get(t, &tenant, &spec, 0, 0);
    struct job *out = asks(&first, line, 9, 0);
    assert_true(line_take(out, 0));
    rate_use(out, 0);
    for (int i = 0; i < MANY; i++)
        assert_false(line_take(asks(&a[i], line, (uint8_t)(i % 10), (ao_time)i), 0));
    for (int i = 1; i <= MANY; i++) {
        assert_ptr_equal(line->at, &line->limit->gate);
        limit_give(out);
        assert_null(call_at(&line->limit->gate, AO_S(i) - 1)); /* no token: off to the rate */
        assert_ptr_equal(line->at, &line->rate->gate);
        struct job *job = call_at(&line->rate->gate, AO_S(i));
        assert_true(job->priority < out->priority ||
                    (job->priority == out->priority && job->id > out->id));
        assert_true(line_take(job, AO_S(i)));
        rate_use(job, AO_S(i));
        out = job;
        if (i < MANY) { /* one more asks, sees the limit closed, and goes */
            struct asking more;
            assert_false(line_take(asks(&more, line, 0, AO_S(i)), AO_S(i)));
            assert_int_equal(limits_reason(&more.job), JOB_WHY_LIMIT);
            line_leave(&more.more.claim);
        }
    }
    struct rate *r = line->rate;
    limit_give(out);
    line_unref(t, line);
    rate_drop(t, r);
    rate_free(r);
}
