/* Limits are never exceeded nor idle while somebody waits; buckets give what they may and no more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/sched/limits.h"
#include "server/jobs/sched/fair_queue.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { JOBS = 40, STARTS_MAX = 100000 };

static const uint64_t seed[2] = {7, 8};
static uint64_t random_state;

static struct limit_table *fresh_table(void)
{
    struct limit_table *t = limit_table_new(seed);
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

LIMITS_TEST(a_name_is_found_until_the_last_reference_goes)
{
    struct tenant mine = {0}, yours = {0};
    struct limit *op = limit_get(t, &mine, span_text("gpu"), 3);
    struct limit *b = limit_get(t, &yours, span_text("gpu"), 3);
    assert_ptr_not_equal(op, b);
    assert_ptr_equal(limit_get(t, &mine, span_text("gpu"), 5), op);
    assert_int_equal(op->max, 5);
    assert_int_equal(op->refs, 2);
    assert_true(span_is(op->key.name, "gpu"));
    struct bucket *c = bucket_get(t, &mine, span_text("gpu"), 3, AO_S(1), 0);
    assert_ptr_not_equal(op, c);
    limit_unref(t, op);
    assert_ptr_equal(limit_get(t, &mine, span_text("gpu"), 5), op);
    for (int i = 0; i < 2; i++)
        limit_unref(t, op);
    limit_unref(t, b);
    bucket_unref(t, c);
}

LIMITS_TEST(many_names)
{
    enum { MANY = 3000 };
    static struct limit *limits[MANY];
    struct tenant tenants[2] = {0};
    char name[16];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "key %d", i / 2);
            struct limit *l = limit_get(t, &tenants[i % 2], span_text(name), 1);
            assert_true(round == 0 || l == limits[i]);
            limits[i] = l;
        }
    for (int i = 0; i < 2 * MANY; i++)
        limit_unref(t, limits[i % MANY]);
}

/* --- Limits --- */

enum where { OUT, HAS, WAITS };

struct limit_world {
    struct limit *limit;
    struct job jobs[JOBS];
    enum where where[JOBS];
    uint64_t arrived[JOBS], arrivals; /* when it began to wait */
};

static void granted(struct limit_world *w, const struct job *e)
{
    int i = (int)(e - w->jobs);
    assert_int_equal(w->where[i], WAITS);
    for (int other = 0; other < JOBS; other++)
        assert_true(w->where[other] != WAITS || w->arrived[other] >= w->arrived[i]);
    w->where[i] = HAS;
}

static void give(struct limit_world *w, struct job *e)
{
    for (struct job *next = limit_give(w->limit, e); next; next = limit_give(w->limit, NULL))
        granted(w, next);
}

static void take(struct limit_world *w, int i)
{
    bool got = limit_take(w->limit, &w->jobs[i]);
    w->where[i] = got ? HAS : WAITS;
    w->arrived[i] = w->arrivals++;
}

static void check_limit(const struct limit_world *w)
{
    uint32_t has = 0, waits = 0;
    for (int i = 0; i < JOBS; i++) {
        has += w->where[i] == HAS;
        waits += w->where[i] == WAITS;
        assert_true(job_is(&w->jobs[i], JOB_HAS_PERMIT) == (w->where[i] == HAS));
        assert_true((w->jobs[i].list == &w->limit->waiting) == (w->where[i] == WAITS));
    }
    assert_int_equal(has, w->limit->taken);
    assert_int_equal(waits, w->limit->waiting.count);
    assert_true(has >= w->limit->max || waits == 0);
}

static void step_limit(struct limit_world *w, int i)
{
    uint32_t before = w->limit->taken;
    if (w->where[i] == OUT) {
        take(w, i);
    } else if (w->where[i] == HAS) { /* it ended, or gave it back */
        w->where[i] = OUT;
        give(w, &w->jobs[i]);
    } else { /* cancelled while it waited */
        job_list_remove(&w->jobs[i]);
        w->where[i] = OUT;
    }
    assert_true(w->limit->taken <= before || w->limit->taken <= w->limit->max);
}

LIMITS_TEST(a_limit_is_full_while_somebody_waits)
{
    static struct limit_world w;
    struct tenant tenant = {0};
    w.limit = limit_get(t, &tenant, span_text("gpu"), 3);
    for (int i = 0; i < 100000; i++) {
        if (i > 50000 && chance(&random_state, 50) == 0) { /* the newest spec says another size */
            limit_get(t, &tenant, span_text("gpu"), (uint32_t)(1 + chance(&random_state, 10)));
            limit_unref(t, w.limit);
            give(&w, NULL);
        }
        step_limit(&w, (int)chance(&random_state, JOBS));
        check_limit(&w);
        assert_true(i > 50000 || w.limit->taken <= 3);
    }
    for (int i = 0; i < JOBS; i++)
        while (w.where[i] != OUT)
            step_limit(&w, i);
    assert_int_equal(w.limit->taken, 0);
    limit_unref(t, w.limit);
}

LIMITS_TEST(who_comes_does_not_overtake_who_waits)
{
    struct tenant tenant = {0};
    struct job e[3] = {0};
    struct limit *l = limit_get(t, &tenant, span_text("x"), 1);
    assert_true(limit_take(l, &e[0]));
    assert_false(limit_take(l, &e[1]));
    l->max = 2;
    assert_false(limit_take(l, &e[2]));
    assert_ptr_equal(limit_give(l, NULL), &e[1]);
    assert_null(limit_give(l, NULL));
    assert_ptr_equal(limit_give(l, &e[0]), &e[2]);
    limit_give(l, &e[1]);
    limit_give(l, &e[2]);
    assert_int_equal(l->taken, 0);
    limit_unref(t, l);
}

/* --- Buckets --- */

static ao_time starts[STARTS_MAX];

/* No window of `per` holds more than the burst and what is gained in it, the ends included. */
static void never_too_many(const ao_time *at, int count, uint32_t rate, ao_time per)
{
    for (int from = 0, to = 0; from < count; from++) {
        while (to < count && at[to] - at[from] < per)
            to++;
        assert_true((uint32_t)(to - from) <= 2 * rate);
    }
}

/* Somebody always waits, for a virtual minute: as many start as may. */
static void busy_minute(uint32_t rate, ao_time per)
{
    struct limit_table *t = fresh_table();
    struct tenant tenant = {0};
    static struct job e[2];
    int count = 0;
    ao_time now = AO_S(1000), until = now + AO_S(60);
    struct bucket *b = bucket_get(t, &tenant, span_text("api"), rate, per, now);
    e[0] = e[1] = (struct job){0};
    for (int i = 0; now < until; i ^= 1) {
        if (!bucket_take(b, &e[i], now)) {
            now = bucket_refill(b, now);
            assert_null(bucket_next(b, now - 1));
            assert_ptr_equal(bucket_next(b, now), &e[i]);
        }
        bucket_use(b, &e[i], now);
        assert_in_range(count, 0, STARTS_MAX - 1);
        starts[count++] = now;
    }
    never_too_many(starts, count, rate, per);
    uint64_t may = rate + (uint64_t)AO_S(60) * rate / per;
    assert_in_range(count, may - 1, may + 1);
    bucket_unref(t, b);
    limit_table_free(t);
}

TEST(a_bucket_gives_all_it_may)
{
    busy_minute(1, AO_S(1));
    busy_minute(3, AO_S(1));
    busy_minute(7, AO_S(60));
    busy_minute(1000, AO_S(1));
    busy_minute(100, AO_MS(333));
}

static int step_bucket(struct bucket *b, struct job *e, ao_time now)
{
    if (e->list) { /* cancelled */
        job_list_remove(e);
    } else if (!job_is(e, JOB_HAS_TOKEN)) {
        bucket_take(b, e, now);
    } else if (chance(&random_state, 10) == 0) {
        bucket_give(b, e);
    } else {
        bucket_use(b, e, now);
        return 1;
    }
    return 0;
}

/* Takes, starts, gives back and cancels at random, with tokens held for long at times: no more
 * start than may, and no token is left while somebody waits. */
LIMITS_TEST(a_bucket_under_random_asks)
{
    enum { RATE = 20 };
    struct tenant tenant = {0};
    static struct job e[JOBS];
    int count = 0;
    struct bucket *b = bucket_get(t, &tenant, span_text("api"), RATE, AO_S(1), 1);
    for (ao_time now = 1; now < AO_S(60);
         now += chance(&random_state, 200) ? chance(&random_state, AO_MS(20)) : AO_S(2)) {
        starts[count] = now;
        count += step_bucket(b, &e[chance(&random_state, JOBS)], now);
        while (bucket_next(b, now))
            ;
        assert_true(b->held <= RATE);
        assert_true(b->waiting.count == 0 || bucket_refill(b, now) > now);
    }
    assert_true(count > 60 * RATE / 4);
    never_too_many(starts, count, RATE, AO_S(1));
    while (job_list_pop(&b->waiting))
        ;
    bucket_unref(t, b);
}

/* Tokens that were taken long ago are used together: no more than the bucket holds. */
LIMITS_TEST(tokens_do_not_pile_up)
{
    struct tenant tenant = {0};
    struct job e[10] = {0};
    struct bucket *b = bucket_get(t, &tenant, span_text("x"), 3, AO_S(3), 0);
    for (int i = 0; i < 10; i++)
        assert_true(bucket_take(b, &e[i], 0) == (i < 3));
    assert_null(bucket_next(b, AO_S(1000)));
    assert_int_equal(bucket_refill(b, AO_S(1000)), AO_NEVER);
    assert_int_equal(bucket_refill_at(b, 0, AO_S(1000)), AO_S(1001));
    bucket_use(b, &e[0], AO_S(1000));
    assert_int_equal(bucket_refill(b, AO_S(1000)), AO_S(1001));
    bucket_use(b, &e[1], AO_S(1000));
    assert_int_equal(bucket_refill(b, AO_S(1000)), AO_S(1001));
    assert_ptr_equal(bucket_next(b, AO_S(1001)), &e[3]);
    assert_null(bucket_next(b, AO_S(1001)));
    while (job_list_pop(&b->waiting))
        ;
    bucket_unref(t, b);
}

LIMITS_TEST(a_token_given_back_is_there_again)
{
    struct tenant tenant = {0};
    struct job e[3] = {0};
    struct bucket *b = bucket_get(t, &tenant, span_text("x"), 2, AO_S(2), 5);
    assert_true(bucket_take(b, &e[0], 5));
    assert_true(bucket_take(b, &e[1], 5));
    assert_false(bucket_take(b, &e[2], 5));
    assert_int_equal(bucket_refill(b, 5), AO_NEVER);
    assert_null(bucket_next(b, 5));
    bucket_give(b, &e[0]);
    assert_false(job_is(&e[0], JOB_HAS_TOKEN));
    assert_int_equal(bucket_refill(b, 5), 5);
    assert_ptr_equal(bucket_next(b, 5), &e[2]);
    assert_null(bucket_next(b, 5));
    bucket_unref(t, b);
}

LIMITS_TEST(the_nth_who_waits_knows_when)
{
    struct tenant tenant = {0};
    struct job e[8] = {0};
    ao_time now = AO_S(7);
    struct bucket *b = bucket_get(t, &tenant, span_text("x"), 3, AO_S(3), now);
    for (int i = 0; i < 3; i++)
        assert_int_equal(bucket_refill_at(b, (uint32_t)i, now), now); /* the burst */
    assert_int_equal(bucket_refill_at(b, 3, now), now + AO_S(1));
    for (int i = 0; i < 8; i++)
        assert_true(bucket_take(b, &e[i], now) == (i < 3));
    for (int i = 0; i < 3; i++)
        bucket_use(b, &e[i], now);
    for (uint32_t n = 0; n < 5; n++)
        assert_int_equal(bucket_refill_at(b, n, now), now + AO_S(n + 1));
    for (int n = 0; n < 5; n++) {
        assert_ptr_equal(bucket_next(b, now + AO_S(n + 1)), &e[3 + n]);
        bucket_use(b, &e[3 + n], now + AO_S(n + 1));
        assert_null(bucket_next(b, now + AO_S(n + 1)));
    }
    bucket_unref(t, b);
}

/* To change the size to and fro brings no token. */
LIMITS_TEST(another_size_keeps_the_tokens)
{
    struct tenant tenant = {0};
    struct job e[20] = {0};
    uint32_t got = 0;
    struct bucket *b = bucket_get(t, &tenant, span_text("x"), 10, AO_S(10), 1);
    for (int i = 0; i < 4; i++) {
        assert_true(bucket_take(b, &e[i], 1));
        bucket_use(b, &e[i], 1);
    }
    for (int i = 0; i < 10; i++) {
        bucket_get(t, &tenant, span_text("x"), 1000, AO_S(10), 1);
        bucket_get(t, &tenant, span_text("x"), 10, AO_S(10), 1);
    }
    for (int i = 4; i < 20; i++)
        if (bucket_take(b, &e[i], 1)) {
            bucket_use(b, &e[i], 1);
            got++;
        }
    assert_int_equal(got, 6);
    bucket_get(t, &tenant, span_text("x"), 100, AO_S(10), 1); /* faster from now on */
    assert_int_equal(bucket_refill(b, 1), 1 + AO_MS(100));
    while (job_list_pop(&b->waiting))
        ;
    bucket_get(t, &tenant, span_text("x"), 2, AO_S(10), AO_S(100)); /* smaller: no more than 2 */
    for (int i = 18; i < 20; i++) {
        assert_true(bucket_take(b, &e[i], AO_S(100)));
        bucket_use(b, &e[i], AO_S(100));
    }
    assert_false(bucket_take(b, &e[17], AO_S(100)));
    assert_int_equal(bucket_refill(b, AO_S(100)), AO_S(105));
    job_list_remove(&e[17]);
    for (uint32_t refs = b->refs; refs > 0; refs--)
        bucket_unref(t, b);
}
