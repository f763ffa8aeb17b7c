#include <stdlib.h>
#include <string.h>

#include "server/runtime/object/timer.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

static struct timer timer;

/* Without a bound. */
static struct ao *take(ao_time now)
{
    int budget = 1000000;
    return timer_take(&timer, now, &budget);
}

static int set_up(void **state)
{
    timer_init(&timer, 0);
    return 0;
}

#define TIMER_TEST(name) TEST_WITH(set_up, NULL, name)

static void put(struct ao *ao, ao_time due)
{
    ao->due = due;
    timer_insert(&timer, ao);
    assert_true(timer_validate(&timer));
}

TIMER_TEST(empty)
{
    assert_int_equal(timer_next(&timer), AO_NEVER);
    assert_null(take(AO_S(1)));
    assert_true(timer_validate(&timer));
}

TIMER_TEST(never_early)
{
    struct ao x = {0};
    put(&x, AO_MS(7) + 1);
    assert_int_equal(timer_next(&timer), AO_MS(8));
    assert_null(take(AO_MS(8) - 1));
    assert_ptr_equal(take(AO_MS(8)), &x);
    assert_int_equal(timer.count, 0);
}

TIMER_TEST(by_tick_then_by_insertion)
{
    struct ao x[4] = {0};
    put(&x[0], AO_MS(9));
    put(&x[1], AO_MS(5));
    put(&x[2], AO_MS(9));
    put(&x[3], AO_MS(5) - 1); /* the same tick */
    const int order[] = {1, 3, 0, 2};
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(take(AO_MS(20)), &x[order[i]]);
    assert_null(take(AO_MS(20)));
}

/* One from a higher level, one put directly into the lowest: the first inserted comes first. */
TIMER_TEST(insertion_order_across_levels)
{
    struct ao early = {0}, late = {0}, last = {0};
    put(&early, AO_MS(100));
    assert_null(take(AO_MS(50)));
    put(&late, AO_MS(100));
    assert_null(take(AO_MS(70)));
    put(&last, AO_MS(100));
    assert_ptr_equal(take(AO_MS(100)), &early);
    assert_ptr_equal(take(AO_MS(100)), &late);
    assert_ptr_equal(take(AO_MS(100)), &last);
}

TIMER_TEST(past_deadline_comes_after_what_is_due)
{
    struct ao x = {0}, y = {0}, past = {0};
    put(&x, AO_MS(5));
    put(&y, AO_MS(5));
    assert_ptr_equal(take(AO_MS(9)), &x);
    put(&past, AO_MS(1));
    assert_true(timer_next(&timer) <= AO_MS(9));
    assert_ptr_equal(take(AO_MS(9)), &y);
    assert_ptr_equal(take(AO_MS(9)), &past);
}

TIMER_TEST(cancel)
{
    struct ao x[3] = {0};
    for (int i = 0; i < 3; i++)
        put(&x[i], AO_MS(300));
    timer_cancel(&timer, &x[1]);
    assert_true(timer_validate(&timer));
    timer_cancel(&timer, &x[0]);
    timer_cancel(&timer, &x[2]);
    assert_true(timer_validate(&timer));
    assert_int_equal(timer_next(&timer), AO_NEVER);
}

TIMER_TEST(cancel_of_what_is_due)
{
    struct ao x = {0}, y = {0};
    put(&x, AO_MS(5));
    put(&y, AO_MS(5));
    assert_ptr_equal(take(AO_MS(5)), &x);
    timer_cancel(&timer, &y);
    assert_true(timer_validate(&timer));
    assert_null(take(AO_MS(5)));
}

TIMER_TEST(next_is_exact_on_each_level)
{
    for (unsigned level = 0; level < TIMER_LEVELS - 1; level++) {
        struct ao x = {0};
        ao_time due = AO_MS((UINT64_C(3) << (level * TIMER_BITS)) + 1);
        timer_init(&timer, 0);
        put(&x, due);
        assert_int_equal(timer_next(&timer), due);
        assert_null(take(due - 1));
        assert_true(timer_validate(&timer));
        assert_ptr_equal(take(due), &x);
    }
}

/* However many share its slot. */
TIMER_TEST(next_of_a_full_slot)
{
    enum { N = 1000 };
    static struct ao x[N];
    for (int i = 0; i < N; i++)
        put(&x[i], AO_MS(5000 - i));
    assert_int_equal(timer_next(&timer), AO_MS(5000 - N + 1));
}

TIMER_TEST(furthest_deadline)
{
    struct ao x = {0};
    put(&x, AO_NEVER - AO_S(1) - 1);
    assert_true(timer_next(&timer) < AO_NEVER);
    assert_null(take(AO_NEVER - AO_S(2)));
    assert_ptr_equal(take(AO_NEVER), &x);
}

/* A slot of a higher level moves in many turns; meanwhile objects come and go. */
TIMER_TEST(budget)
{
    enum { N = 100 };
    struct ao x[N] = {0}, late = {0};
    for (int i = 0; i < N; i++)
        put(&x[i], AO_MS(200));
    int budget = 10;
    assert_null(timer_take(&timer, AO_MS(250), &budget));
    assert_true(budget <= 0);
    assert_int_equal(timer_next(&timer), AO_MS(200)); /* there is more to do: at once */
    put(&late, AO_MS(200));                           /* queues behind those that still move */
    timer_cancel(&timer, &x[0]);                      /* moved already */
    timer_cancel(&timer, &x[N - 1]);                  /* in the middle of those that move */
    timer_cancel(&timer, &x[9]);                      /* the first of them, or the last moved */
    assert_true(timer_validate(&timer));
    for (int i = 1; i < N - 1; i++)
        if (i != 9)
            assert_ptr_equal(take(AO_MS(250)), &x[i]);
    assert_ptr_equal(take(AO_MS(250)), &late);
    assert_null(take(AO_MS(250)));
    assert_true(timer_validate(&timer));
}

TIMER_TEST(cancel_of_what_moves)
{
    struct ao x[4] = {0};
    for (int i = 0; i < 4; i++)
        put(&x[i], AO_MS(200 + 10 * i));
    int budget = 2; /* one to reach the slot, one to move */
    assert_null(timer_take(&timer, AO_MS(250), &budget));
    for (int i = 3; i >= 0; i--) {
        timer_cancel(&timer, &x[i]);
        assert_true(timer_validate(&timer));
    }
    assert_int_equal(timer_next(&timer), AO_NEVER);
}

/* --- Against a model: a list sorted by (tick, insertion) --- */

enum { CROWD = 200, TURNS = 20000 };

struct job {
    struct ao ao;
    uint64_t tick, serial;
    bool in;
};

static struct job *first_of(struct job *entries)
{
    struct job *first = NULL;
    for (struct job *e = entries; e < entries + CROWD; e++)
        if (e->in && (!first || e->tick < first->tick ||
                      (e->tick == first->tick && e->serial < first->serial)))
            first = e;
    return first;
}

static void toggle(struct job *e, ao_time now, uint64_t serial, uint64_t *seed)
{
    if (e->in) {
        timer_cancel(&timer, &e->ao);
        e->in = false;
        return;
    }
    uint64_t range = UINT64_C(1) << chance(seed, 22);
    e->tick = now / AO_MS(1) + 1 + chance(seed, range);
    e->serial = serial;
    e->in = true;
    e->ao.due = AO_MS(e->tick);
    timer_insert(&timer, &e->ao);
}

/* True when nothing more is due. */
static bool take_due(struct job *entries, ao_time now, int budget)
{
    struct ao *ao;
    while ((ao = timer_take(&timer, now, &budget))) {
        struct job *first = first_of(entries);
        assert_ptr_equal(ao, &first->ao);
        assert_true(AO_MS(first->tick) <= now);
        first->in = false;
    }
    return budget > 0;
}

static void check_rest(struct job *entries, ao_time now)
{
    struct job *rest = first_of(entries);
    assert_true(!rest || AO_MS(rest->tick) > now);
    ao_time next = timer_next(&timer);
    assert_true(rest ? next <= AO_MS(rest->tick) : next == AO_NEVER);
    assert_true(!rest || next > now);
}

TIMER_TEST(random_against_a_sorted_list)
{
    static struct job entries[CROWD];
    uint64_t seed = 1;
    ao_time now = 0;
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        toggle(&entries[chance(&seed, CROWD)], now, turn, &seed);
        if (chance(&seed, 4) == 0)
            now += AO_MS(chance(&seed, UINT64_C(1) << chance(&seed, 14)));
        if (take_due(entries, now, (int)(chance(&seed, 20))))
            check_rest(entries, now);
        if (turn % 64 == 0)
            assert_true(timer_validate(&timer));
    }
}
