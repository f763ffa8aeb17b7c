/* No window of `per`, wherever it is laid, holds more than `max` starts; and as many start as may.
 */
#include "server/jobs/sched/start_window.h"

#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/random.h"

enum { STARTS_MAX = 200000 };

static ao_time starts[STARTS_MAX];
static uint32_t count;

static void start(struct start_window *w, struct start_rate rate, ao_time now)
{
    assert_in_range(count, 0, STARTS_MAX - 1);
    start_window_add(w, rate, now);
    starts[count++] = now;
}

/* As the promise has it, of the times alone. */
static void never_too_many(struct start_rate rate)
{
    for (uint32_t i = rate.max; i < count; i++)
        assert_true(starts[i] - starts[i - rate.max] >= rate.per);
}

/* Somebody always waits: as many start as may. */
static void busy(struct start_rate rate, ao_time begin, ao_time end)
{
    struct start_window w;
    start_window_init(&w);
    count = 0;
    for (ao_time now = begin; now < end; now = start_window_moves(&w, rate)) {
        start_window_pass(&w, rate, now);
        uint32_t may = start_window_free(&w, rate, 0);
        assert_true(may > 0);
        for (uint32_t i = 0; i < may; i++)
            start(&w, rate, now);
        assert_int_equal(start_window_free(&w, rate, 0), 0);
    }
    never_too_many(rate);
    assert_int_equal(count, (end - begin + rate.per - 1) / rate.per * rate.max);
    start_window_fini(&w);
}

TEST(as_many_start_as_may)
{
    busy((struct start_rate){1, 1}, 5, 1000);
    busy((struct start_rate){1, AO_S(1)}, 0, AO_S(60));
    busy((struct start_rate){7, AO_S(60)}, AO_S(1000), AO_S(2000));
    busy((struct start_rate){1000, AO_S(1)}, AO_S(1), AO_S(61));
    busy((struct start_rate){5000, AO_MS(333)}, AO_S(1), AO_S(9));
}

/* Asks that come by chance, in bursts and with pauses: exact to the ns while each start has a mark
 * of its own; a start is never refused that the promise allows. */
static void by_chance(struct start_rate rate, ao_time end, ao_time step, bool exact)
{
    struct start_window w;
    uint64_t seed = rate.max, refused = 0, needless = 0;
    start_window_init(&w);
    count = 0;
    for (ao_time now = 1; now < end;
         now += chance(&seed, 4) == 0 ? chance(&seed, step)
                                      : (chance(&seed, 20 * rate.max) ? 0 : rate.per / 2)) {
        bool may = count < rate.max || now - starts[count - rate.max] >= rate.per;
        start_window_pass(&w, rate, now);
        if (start_window_free(&w, rate, 0) > 0)
            start(&w, rate, now);
        else
            refused++, needless += may;
        assert_true(w.length <= START_MARKS);
    }
    never_too_many(rate);
    assert_true(refused > 100);
    if (exact)
        assert_int_equal(needless, 0);
    start_window_fini(&w);
}

TEST(starts_that_come_by_chance)
{
    by_chance((struct start_rate){1, AO_MS(20)}, AO_S(20), AO_MS(5), true);
    by_chance((struct start_rate){20, AO_S(1)}, AO_S(100), AO_MS(20), true);
    by_chance((struct start_rate){1000, AO_S(1)}, AO_S(10), AO_MS(1), true);
    by_chance((struct start_rate){10000, AO_S(1)}, AO_S(4), AO_MS(1) / 16, false);
}

/* Marks that are shared hold a start back for a slice at most. */
TEST(many_share_marks_on_the_safe_side)
{
    const struct start_rate rate = {50000, AO_S(1)};
    struct start_window w;
    start_window_init(&w);
    count = 0;
    ao_time every = rate.per / rate.max, now = AO_S(1), late = 0;
    for (uint32_t i = 0; i < 3 * rate.max; i++) {
        ao_time opens = start_window_opens(&w, rate, 0, 0, now);
        if (i >= rate.max) {
            ao_time exact = starts[i - rate.max] + rate.per;
            exact = exact > now ? exact : now;
            late = opens - exact > late ? opens - exact : late;
        }
        now = opens > now + every ? opens : now + every;
        start_window_pass(&w, rate, now);
        start(&w, rate, now);
    }
    never_too_many(rate);
    assert_in_range(late, 1, rate.per / START_MARKS + every);
    assert_true(w.length <= START_MARKS && w.room <= START_MARKS);
    start_window_fini(&w);
}

/* What the n-th is told is what comes about. */
TEST(the_nth_who_waits_knows_when)
{
    const struct start_rate rate = {3, AO_S(10)};
    struct start_window w;
    ao_time told[20], now = AO_S(7);
    start_window_init(&w);
    start_window_add(&w, rate, AO_S(1));
    start_window_add(&w, rate, AO_S(5));
    for (uint32_t n = 0; n < 20; n++)
        told[n] = start_window_opens(&w, rate, 0, n, now);
    assert_int_equal(told[0], now);
    assert_int_equal(told[1], AO_S(11));
    assert_int_equal(told[2], AO_S(15));
    assert_int_equal(told[3], AO_S(17));
    for (uint32_t n = 0; n < 20; n++) {
        start_window_pass(&w, rate, told[n] - 1);
        if (told[n] > now)
            assert_int_equal(start_window_free(&w, rate, 0), 0);
        start_window_pass(&w, rate, told[n]);
        assert_true(start_window_free(&w, rate, 0) > 0);
        start_window_add(&w, rate, told[n]);
    }
    start_window_fini(&w);
}

/* A token that is held counts as a start that is still to come. */
TEST(what_is_promised_counts)
{
    const struct start_rate rate = {3, AO_S(10)};
    struct start_window w;
    start_window_init(&w);
    assert_int_equal(start_window_free(&w, rate, 2), 1);
    assert_int_equal(start_window_free(&w, rate, 4), 0);
    assert_int_equal(start_window_opens(&w, rate, 3, 0, AO_S(5)), AO_S(15));
    start_window_add(&w, rate, AO_S(4));
    assert_int_equal(start_window_opens(&w, rate, 2, 0, AO_S(5)), AO_S(14));
    assert_int_equal(start_window_opens(&w, rate, 2, 1, AO_S(5)), AO_S(15));
    start_window_fini(&w);
}

TEST(another_max_counts_the_same_starts)
{
    struct start_window w;
    start_window_init(&w);
    for (ao_time at = 1; at <= 4; at++)
        start_window_add(&w, (struct start_rate){10, AO_S(10)}, AO_S(at));
    for (uint32_t max = 1; max < 20; max++)
        assert_int_equal(start_window_free(&w, (struct start_rate){max, AO_S(10)}, 0),
                         max > 4 ? max - 4 : 0);
    assert_int_equal(start_window_opens(&w, (struct start_rate){2, AO_S(10)}, 0, 0, AO_S(5)),
                     AO_S(13));
    start_window_fini(&w);
}

/* Without memory marks are shared: no start is forgotten. */
TEST(without_memory_it_errs_on_the_safe_side)
{
    const struct start_rate rate = {100, AO_S(1)};
    struct start_window w;
    start_window_init(&w);
    heap_fail_at(1);
    for (ao_time at = 1; at <= 3; at++)
        start_window_add(&w, rate, at);
    assert_true(heap_failed());
    assert_int_equal(w.count, 3);
    assert_int_equal(w.length, 2);
    start_window_pass(&w, rate, 2 + AO_S(1));
    assert_int_equal(w.count, 2);
    start_window_pass(&w, rate, 3 + AO_S(1));
    assert_int_equal(w.count, 0);
    start_window_fini(&w);
}
