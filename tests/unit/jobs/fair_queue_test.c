/* The order of the fair queue: priority with ageing, tenants in turn by weight, arrival. */
#include <stdlib.h>

#include "server/jobs/core/names.h"
#include "server/jobs/sched/fair_queue.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { POOL = 40, TENANTS = 8, ENTRIES = 400 };

struct world {
    struct fair_queue pick;
    struct tenant tenants[TENANTS];
    ao_time now;
    uint64_t arrivals;
    uint64_t random;
};

static void world_init(struct world *w, ao_time ageing)
{
    *w = (struct world){.now = 1, .arrivals = 1, .random = 12345};
    fair_queue_init(&w->pick, POOL, ageing);
    for (int i = 0; i < TENANTS; i++)
        w->tenants[i].weight = 1;
}

static void world_fini(struct world *w)
{
    for (int i = 0; i < TENANTS; i++)
        tenant_free_shares(&w->tenants[i]);
}

static void add(struct world *w, struct job *e, int tenant, uint8_t priority)
{
    *e = (struct job){.arrival = w->arrivals++,
                      .tenant = &w->tenants[tenant],
                      .priority = priority,
                      .ready = w->now};
    assert_true(fair_queue_add(&w->pick, e, w->now));
}

static struct job *take(struct world *w)
{
    struct job *e = fair_queue_take(&w->pick);
    if (e)
        fair_queue_served(&w->pick, e, w->now);
    return e;
}

static struct job *many(struct world *w, uint32_t count, int tenant, uint8_t priority)
{
    struct job *jobs = calloc(count, sizeof *jobs);
    assert_non_null(jobs);
    for (uint32_t i = 0; i < count; i++)
        add(w, &jobs[i], tenant, priority);
    return jobs;
}

/* --- Against a naive model: what is inside, in a plain array --- */

struct model {
    struct job *inside[ENTRIES];
    int count;
    ao_time since[FAIR_LEVELS]; /* each level waits since then */
    bool aged;                  /* the last start went before a higher level */
};

static int place_of(const struct model *m, const struct job *e)
{
    for (int i = 0; i < m->count; i++)
        if (m->inside[i] == e)
            return i;
    fail_msg("a job came that was not inside");
    return -1;
}

static void forget(struct model *m, int at)
{
    m->inside[at] = m->inside[--m->count];
}

static int inside_of(const struct model *m, int priority)
{
    int n = 0;
    for (int i = 0; i < m->count; i++)
        n += m->inside[i]->priority == priority;
    return n;
}

static int highest(const struct model *m)
{
    int top = FAIR_LEVELS - 1;
    while (top >= 0 && inside_of(m, top) == 0)
        top--;
    return top;
}

/* The one that has waited longest, where each step of priority counts as `ageing`. */
static int expected_level(const struct model *m, ao_time ageing, ao_time now)
{
    int best = highest(m);
    for (int i = best - 1; i >= 0 && !m->aged; i--)
        if (inside_of(m, i) > 0 &&
            now - m->since[i] >= now - m->since[best] + (ao_time)(best - i) * ageing)
            best = i;
    return best;
}

/* No job of the same tenant and level that arrived earlier was inside. */
static void taken_rightly(const struct model *m, int at)
{
    const struct job *e = m->inside[at];
    for (int i = 0; i < m->count; i++) {
        const struct job *other = m->inside[i];
        if (i != at && other->tenant == e->tenant && other->priority == e->priority)
            assert_true(other->arrival > e->arrival);
    }
}

/* The lists and counts of the pick agree with each other and with the model. */
static void counts_agree(const struct world *w, const struct model *m)
{
    for (int i = 0; i < FAIR_LEVELS; i++) {
        const struct fair_level *level = &w->pick.levels[i];
        uint32_t shared = 0, shares = 0;
        for (int t = 0; t < TENANTS; t++) {
            const struct tenant *tenant = &w->tenants[t];
            const struct fair_share *s = tenant->shares ? tenant->shares[POOL] : NULL;
            uint32_t has = s ? s[i].jobs.count : 0;
            assert_true(!s || (has > 0) == (s[i].ring != NULL));
            shared += has;
            shares += has > 0;
        }
        assert_int_equal(shared, level->count);
        assert_int_equal(shares, level->shares);
        assert_int_equal(level->count, inside_of(m, i));
    }
    assert_int_equal(w->pick.count, m->count);
}

/* It is about to be added. */
static void model_note(struct model *m, struct job *e, ao_time ready)
{
    ao_time *since = &m->since[e->priority];
    if (inside_of(m, e->priority) == 0 && *since < ready)
        *since = ready;
    if (e->level > e->priority && *since > ready)
        *since = ready;
    m->inside[m->count++] = e;
}

static void model_new(struct world *w, struct model *m)
{
    if (m->count == ENTRIES)
        return;
    struct job *e = malloc(sizeof *e);
    assert_non_null(e);
    add(w, e, (int)chance(&w->random, TENANTS), (uint8_t)chance(&w->random, FAIR_LEVELS));
    model_note(m, e, w->now);
}

static void model_again(struct world *w, struct model *m, struct job *e)
{
    model_note(m, e, e->ready);
    assert_true(fair_queue_add(&w->pick, e, w->now));
}

static struct job *model_take(struct world *w, struct model *m)
{
    int level = expected_level(m, w->pick.ageing, w->now);
    struct job *e = take(w);
    assert_true((e == NULL) == (m->count == 0));
    if (e) {
        int at = place_of(m, e);
        assert_int_equal(e->priority, level);
        taken_rightly(m, at);
        forget(m, at);
        m->since[level] = w->now;
        m->aged = highest(m) > level;
        assert_int_equal(e->level, m->aged ? highest(m) : level);
    }
    return e;
}

static void model_remove(struct world *w, struct model *m)
{
    if (m->count == 0)
        return;
    int at = (int)chance(&w->random, (uint64_t)m->count);
    fair_queue_remove(&w->pick, m->inside[at]);
    assert_null(m->inside[at]->list);
    free(m->inside[at]);
    forget(m, at);
}

/* Some are taken out and put back: all of them, in any order. */
static void model_put_back(struct world *w, struct model *m)
{
    struct job *out[8];
    int count = 0;
    while (count < 8 && m->count > 0)
        out[count++] = model_take(w, m);
    while (count > 0) {
        int at = (int)chance(&w->random, (uint64_t)count);
        model_again(w, m, out[at]);
        out[at] = out[--count];
    }
}

TEST(agrees_with_a_naive_model)
{
    static struct model m;
    struct world w;
    world_init(&w, 100);
    for (int i = 0; i < TENANTS; i++)
        w.tenants[i].weight = (uint32_t)(1 + i % 3);
    for (int i = 0; i < 60000; i++) {
        uint64_t what = chance(&w.random, 100);
        if (what < (i / 5000 % 2 ? 35 : 60))
            model_new(&w, &m);
        else if (what < 80)
            free(model_take(&w, &m));
        else if (what < 85)
            model_put_back(&w, &m);
        else if (what < 92)
            model_remove(&w, &m);
        else
            w.now += chance(&w.random, 60);
        if (i % 16 == 0)
            counts_agree(&w, &m);
    }
    while (m.count > 0)
        free(model_take(&w, &m));
    counts_agree(&w, &m);
    world_fini(&w);
}

/* --- Tenants --- */

TEST(weights_share_the_starts)
{
    enum { EACH = 7000 };
    struct job *jobs[3];
    uint32_t starts[3] = {0};
    struct world w;
    world_init(&w, 0);
    for (int i = 0; i < 3; i++) {
        w.tenants[i].weight = 1u << i;
        jobs[i] = many(&w, EACH, i, 5);
    }
    for (int i = 0; i < EACH; i++)
        starts[take(&w)->tenant - w.tenants]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(starts[i], (1000u << i) * 95 / 100, (1000u << i) * 105 / 100);
    for (int i = 0; i < 3; i++)
        free(jobs[i]);
    world_fini(&w);
}

TEST(a_new_tenant_is_next_or_next_but_one)
{
    enum { HEAVY = 100000 };
    struct world w;
    struct job e;
    world_init(&w, 0);
    w.tenants[0].weight = 4;
    struct job *heavy = many(&w, HEAVY, 0, 5);
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < round % 23; i++)
            assert_ptr_equal(take(&w)->tenant, &w.tenants[0]);
        add(&w, &e, 1 + round % (TENANTS - 1), 5);
        assert_true(take(&w) == &e || take(&w) == &e);
        for (int i = 0; i < 5; i++) /* a round */
            assert_ptr_equal(take(&w)->tenant, &w.tenants[0]);
    }
    free(heavy);
    world_fini(&w);
}

/* Of all priorities up to the newcomer's, and of all ages: from nothing to a day. */
TEST(a_backlog_of_any_age_delays_no_newcomer)
{
    enum { HEAVY = 20000, AGEING = 10000 };
    struct world w;
    struct job e;
    world_init(&w, AGEING);
    struct job *heavy = calloc(HEAVY, sizeof *heavy);
    assert_non_null(heavy);
    for (int i = 0; i < HEAVY; i++, w.now += i % 100 == 0 ? chance(&w.random, 4 * AGEING) : 0)
        add(&w, &heavy[i], 0, (uint8_t)chance(&w.random, 6));
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 5; i++, w.now += chance(&w.random, 3 * AGEING))
            assert_ptr_equal(take(&w)->tenant, &w.tenants[0]);
        add(&w, &e, 1 + round % (TENANTS - 1), 5);
        assert_true(take(&w) == &e || take(&w) == &e);
    }
    free(heavy);
    world_fini(&w);
}

/* Others come and go, one job each: who has many gets as many starts as all of them at least. */
TEST(newcomers_shut_nobody_out)
{
    static struct job light[TENANTS];
    struct world w;
    uint32_t starts[TENANTS] = {0};
    world_init(&w, 0);
    struct job *heavy = many(&w, 10000, 0, 5);
    for (int i = 0; i < 8000; i++) {
        for (int t = 1; t < TENANTS; t++)
            if (!light[t].list)
                add(&w, &light[t], t, 5);
        starts[take(&w)->tenant - w.tenants]++;
    }
    for (int t = 0; t < TENANTS; t++)
        assert_in_range(starts[t], 950, 1050);
    free(heavy);
    world_fini(&w);
}

/* To leave and to come again gains nothing: one that has always one job gets its share. */
TEST(who_comes_back_at_once_is_no_newcomer)
{
    struct world w;
    struct job e = {0};
    uint32_t starts = 0;
    world_init(&w, 0);
    struct job *op = many(&w, 10000, 0, 5), *b = many(&w, 10000, 1, 5), *c = many(&w, 10000, 2, 5);
    for (int i = 0; i < 4000; i++) {
        if (!e.list)
            add(&w, &e, 3, 5);
        starts += take(&w) == &e;
    }
    assert_in_range(starts, 900, 1050);
    free(op);
    free(b);
    free(c);
    world_fini(&w);
}

/* --- Priority and age --- */

/* A level gets one start each time that it has waited for so long, whatever its jobs' age. */
TEST(the_lowest_waits_nine_steps_at_most)
{
    enum { AGEING = 1000, LOW = 4, HIGH = 4000 };
    struct world w;
    world_init(&w, AGEING);
    ao_time start = w.now;
    struct job *low = many(&w, LOW, 0, 0), *high = many(&w, HIGH, 1, 9);
    for (int i = 0; i < LOW; i++) {
        for (; low[i].list; w.now += 10)
            assert_non_null(take(&w));
        assert_in_range(w.now - start, (i + 1) * 9 * AGEING, (i + 1) * (9 * AGEING + 20));
        assert_true(i == LOW - 1 || low[i + 1].list);
    }
    free(low);
    free(high);
    world_fini(&w);
}

/* Executors are slow, so all levels wait for long: of two starts one is of the highest. */
TEST(the_highest_is_next_or_next_but_one)
{
    enum { EACH = 20 };
    struct world w;
    struct job *jobs[FAIR_LEVELS], e;
    world_init(&w, 1);
    for (int i = 0; i < FAIR_LEVELS; i++)
        jobs[i] = i < 9 ? many(&w, EACH, i % 3, (uint8_t)i) : NULL;
    for (int i = 0; i < EACH; i++) {
        w.now += 1000;
        add(&w, &e, 4, 9);
        assert_true(take(&w) == &e || take(&w) == &e);
    }
    for (int i = 0; i < FAIR_LEVELS; i++)
        free(jobs[i]);
    world_fini(&w);
}

TEST(a_turn_of_a_level_is_used_up_by_what_begins_alone)
{
    struct world w;
    struct job low[2], high[3];
    world_init(&w, 100);
    add(&w, &low[0], 0, 4);
    add(&w, &low[1], 0, 4);
    w.now += 100;
    for (int i = 0; i < 3; i++)
        add(&w, &high[i], 1, 5);
    assert_ptr_equal(fair_queue_take(&w.pick), &low[0]); /* it waits for something else then */
    assert_ptr_equal(take(&w), &low[1]);
    assert_int_equal(low[1].level, 5); /* so no other of that priority overtakes it */
    assert_ptr_equal(take(&w), &high[0]);
    assert_true(fair_queue_add(&w.pick, &low[1], w.now)); /* taken back all the same */
    assert_ptr_equal(take(&w), &low[1]);
    assert_true(fair_queue_add(&w.pick, &low[0], w.now));
    assert_ptr_equal(take(&w), &high[1]);
    assert_ptr_equal(take(&w), &high[2]);
    assert_ptr_equal(take(&w), &low[0]);
    world_fini(&w);
}

TEST(without_ageing_priority_is_all)
{
    struct world w;
    struct job low, high;
    world_init(&w, 0);
    add(&w, &low, 0, 0);
    w.now = AO_NEVER - 1;
    add(&w, &high, 1, 1);
    assert_ptr_equal(take(&w), &high);
    assert_ptr_equal(take(&w), &low);
    world_fini(&w);
}

/* Others were queued meanwhile. */
TEST(what_is_put_back_stands_where_it_stood)
{
    struct world w;
    struct job e[6];
    world_init(&w, 0);
    for (int i = 0; i < 4; i++)
        add(&w, &e[i], 0, 3);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(take(&w), &e[i]);
    add(&w, &e[4], 0, 3);
    assert_true(fair_queue_add(&w.pick, &e[2], w.now));
    assert_true(fair_queue_add(&w.pick, &e[0], w.now));
    assert_true(fair_queue_add(&w.pick, &e[1], w.now));
    add(&w, &e[5], 0, 3);
    for (int i = 0; i < 6; i++)
        assert_ptr_equal(take(&w), &e[i]);
    world_fini(&w);
}

/* --- Where one stands --- */

TEST(the_place_says_what_is_ahead)
{
    struct world w;
    struct job e[8];
    struct fair_place at;
    world_init(&w, 0);
    add(&w, &e[0], 0, 9);
    add(&w, &e[1], 1, 7);
    for (int i = 2; i < 6; i++)
        add(&w, &e[i], 0, 5);
    add(&w, &e[6], 1, 5);
    add(&w, &e[7], 2, 4);
    fair_place(&w.pick, &e[5], 100, &at);
    assert_int_equal(at.higher, 2);
    assert_int_equal(at.own, 3);
    assert_int_equal(at.others, 1);
    assert_int_equal(at.tenants, 2);
    assert_false(at.own_is_least);
    fair_place(&w.pick, &e[5], 2, &at);
    assert_int_equal(at.own, 2);
    assert_true(at.own_is_least);
    fair_place(&w.pick, &e[7], 2, &at);
    assert_int_equal(at.higher, 7);
    assert_int_equal(at.own, 0);
    world_fini(&w);
}
