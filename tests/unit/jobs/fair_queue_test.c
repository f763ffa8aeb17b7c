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
    uint64_t next_id;
    uint64_t random;
};

static void world_init(struct world *w, ao_time ageing)
{
    *w = (struct world){.now = 1, .next_id = 1, .random = 12345};
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
    *e = (struct job){.id = w->next_id++, .tenant = &w->tenants[tenant], .priority = priority};
    assert_true(fair_queue_add(&w->pick, e, false, w->now));
}

static struct job *take(struct world *w)
{
    return fair_queue_take(&w->pick, w->now);
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
    ao_time since[ENTRIES]; /* when it was queued */
    bool front[ENTRIES];
    int count;
};

static int place_of(const struct model *m, const struct job *e)
{
    for (int i = 0; i < m->count; i++)
        if (m->inside[i] == e)
            return i;
    fail_msg("a job came that was not inside");
    return -1;
}

/* Order is kept: who was queued first stands first. */
static void forget(struct model *m, int at)
{
    m->count--;
    for (int i = at; i < m->count; i++) {
        m->inside[i] = m->inside[i + 1];
        m->since[i] = m->since[i + 1];
        m->front[i] = m->front[i + 1];
    }
}

/* Nobody of a higher level was inside, nor an older one of the same tenant, level and birth, nor
 * one of the same tenant and level that had had its turn, unless this one had too. */
static void taken_rightly(const struct model *m, int at)
{
    const struct job *e = m->inside[at];
    for (int i = 0; i < m->count; i++) {
        const struct job *other = m->inside[i];
        assert_true(other->level <= e->level);
        if (i == at || other->tenant != e->tenant || other->level != e->level)
            continue;
        if (m->front[i])
            assert_true(m->front[at]);
        else if (!m->front[at] && other->priority == e->priority)
            assert_true(i > at);
    }
}

static void levels_follow_the_clock(const struct world *w, const struct model *m)
{
    for (int i = 0; i < m->count; i++) {
        const struct job *e = m->inside[i];
        uint64_t steps = (w->now - m->since[i]) / w->pick.ageing;
        assert_true(m->front[i] || e->level <= e->priority + steps);
        assert_true(e->level >= e->priority);
    }
}

/* The lists and counts of the pick agree with each other and with the model. */
static void counts_agree(const struct world *w, const struct model *m)
{
    uint32_t sum = 0;
    for (int i = 0; i < FAIR_LEVELS; i++) {
        const struct fair_level *level = &w->pick.levels[i];
        uint32_t aged = 0, shared = 0, shares = 0;
        for (const struct job *e = level->oldest; e; e = e->younger, aged++)
            assert_true(e->level == i && (!e->younger || e->younger->entered >= e->entered));
        for (int t = 0; t < TENANTS; t++) {
            const struct tenant *tenant = &w->tenants[t];
            const struct fair_share *s = tenant->shares ? tenant->shares[POOL] : NULL;
            uint32_t has = s ? s[i].again.count + s[i].risen.count + s[i].born.count : 0;
            assert_true(!s || (has > 0) == (s[i].ring != NULL));
            shared += has;
            shares += has > 0;
        }
        assert_int_equal(aged, level->count);
        assert_int_equal(shared, level->count);
        assert_int_equal(shares, level->shares);
        sum += level->count;
    }
    assert_int_equal(sum, w->pick.count);
    assert_int_equal(sum, (uint32_t)m->count);
}

static void model_note(const struct world *w, struct model *m, struct job *e, bool front)
{
    m->inside[m->count] = e;
    m->since[m->count] = w->now;
    m->front[m->count++] = front;
}

static void model_new(struct world *w, struct model *m)
{
    if (m->count == ENTRIES)
        return;
    struct job *e = malloc(sizeof *e);
    assert_non_null(e);
    add(w, e, (int)chance(&w->random, TENANTS), (uint8_t)chance(&w->random, FAIR_LEVELS));
    model_note(w, m, e, false);
}

static void model_again(struct world *w, struct model *m, struct job *e)
{
    assert_true(fair_queue_add(&w->pick, e, true, w->now));
    model_note(w, m, e, true);
}

static struct job *model_take(struct world *w, struct model *m)
{
    struct job *e = take(w);
    assert_true((e == NULL) == (m->count == 0));
    if (e) {
        int at = place_of(m, e);
        taken_rightly(m, at);
        forget(m, at);
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
        else if (what < 85 && m.count > 0)
            model_again(&w, &m, model_take(&w, &m));
        else if (what < 92)
            model_remove(&w, &m);
        else
            w.now += chance(&w.random, 60);
        levels_follow_the_clock(&w, &m);
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

TEST(the_lowest_waits_nine_steps_at_most)
{
    enum { AGEING = 1000, FRESH = 200 };
    static struct job others[FRESH];
    struct world w;
    struct job low;
    ao_time start;
    int i = 0;
    world_init(&w, AGEING);
    add(&w, &low, 0, 0);
    for (start = w.now; low.list; w.now += 10, i++) { /* there is always one of the highest */
        for (int more = 0; more < 2; more++)
            if (!others[(2 * i + more) % FRESH].list)
                add(&w, &others[(2 * i + more) % FRESH], 0, 9);
        assert_non_null(take(&w));
        assert_true(w.now - start <= 9 * AGEING + 10 || low.level == 9);
        assert_true(w.now - start < 9 * AGEING + (FRESH + 2) * 10);
    }
    assert_true(w.now - start >= 9 * AGEING);
    world_fini(&w);
}

/* All that are due rise, though each operation moves a few only; then the oldest of them goes. */
TEST(a_whole_level_rises)
{
    enum { LOW = 1000 };
    struct world w;
    struct job high;
    world_init(&w, 100);
    struct job *low = many(&w, LOW, 0, 4);
    w.now += 100;
    add(&w, &high, 0, 5);
    assert_ptr_equal(take(&w), &low[0]); /* it is older than the one that was born there */
    for (int i = 1; i < LOW; i++)
        assert_ptr_equal(take(&w), &low[i]);
    assert_ptr_equal(take(&w), &high);
    assert_null(take(&w));
    free(low);
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

TEST(who_had_its_turn_goes_first)
{
    struct world w;
    struct job e[4];
    world_init(&w, 100);
    add(&w, &e[0], 0, 3);
    add(&w, &e[1], 0, 3);
    w.now += 100;
    assert_ptr_equal(take(&w), &e[0]);
    assert_int_equal(e[0].level, 4);
    add(&w, &e[2], 0, 4);
    add(&w, &e[3], 0, 5);
    assert_true(fair_queue_add(&w.pick, &e[0], true, w.now)); /* to the level that it had reached */
    assert_ptr_equal(take(&w), &e[3]);
    assert_ptr_equal(take(&w), &e[0]);
    assert_ptr_equal(take(&w), &e[1]);
    assert_ptr_equal(take(&w), &e[2]);
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
