/* How a spinning thread learns: from waits, from work, from preemptions. */
#include "server/runtime/spin.h"
#include "tests/support/cmocka_env.h"

#define MOST AO_US(50)
#define NOW  AO_S(1000)

static struct spin begin(void)
{
    struct spin s;
    spin_init(&s, MOST);
    return s;
}

/* `count` waits, each spun through as far as the window says.  The time spent spinning. */
static ao_time wait_often(struct spin *s, int count, ao_time waited)
{
    ao_time spent = 0;
    for (int i = 0; i < count; i++) {
        ao_time window = spin_window(s, NOW);
        spent += waited < window ? waited : window;
        spin_waited(s, waited, window);
    }
    return spent;
}

TEST(at_first_it_sleeps)
{
    struct spin s = begin();
    assert_int_equal(spin_window(&s, NOW), 0);
}

TEST(rare_work_is_never_spun_for)
{
    struct spin s = begin();
    assert_int_equal(wait_often(&s, 1000, AO_MS(1)), 0);
}

TEST(work_that_comes_soon_is_spun_for)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(8));
    assert_in_range(spin_window(&s, NOW), AO_US(8), MOST);
}

TEST(the_window_grows_until_it_holds_the_wait)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(45));
    assert_in_range(spin_window(&s, NOW), AO_US(45), MOST);
}

/* The wait is a sleep's, with the time that waking takes; awake, work would have come sooner. */
TEST(a_sleep_somewhat_longer_than_the_window_is_worth_a_try)
{
    struct spin s = begin();
    wait_often(&s, 1, AO_US(90));
    assert_int_not_equal(spin_window(&s, NOW), 0);
}

TEST(one_long_wait_ends_it)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(8));
    wait_often(&s, 1, AO_S(1));
    assert_int_equal(spin_window(&s, NOW), 0);
    assert_int_equal(wait_often(&s, 1, AO_S(1)), 0);
}

/* Just out of reach, for ever: after the first tries, less than a hundredth of the time is spun. */
TEST(what_is_always_in_vain_is_tried_ever_less_often)
{
    enum { WAITS = 100000 };
    struct spin s = begin();
    wait_often(&s, WAITS, AO_US(70));
    assert_in_range(wait_often(&s, WAITS, AO_US(70)), 0, WAITS * AO_US(70) / 100);
}

/* Every second wait is brief: too few. */
TEST(what_is_often_in_vain_is_left_alone)
{
    enum { TURNS = 10000 };
    struct spin s = begin();
    ao_time spent = 0;
    for (int i = 0; i < TURNS; i++) {
        spent += wait_often(&s, 1, AO_US(20));
        spent += wait_often(&s, 1, AO_US(200));
    }
    assert_in_range(spent, 0, TURNS * AO_US(2));
}

TEST(success_brings_the_confidence_back)
{
    struct spin s = begin();
    wait_often(&s, 100000, AO_US(70));
    wait_often(&s, 4000, AO_US(8));
    assert_int_not_equal(spin_window(&s, NOW), 0);
    assert_int_equal(wait_often(&s, 100, AO_US(8)), 100 * AO_US(8));
}

TEST(no_window_is_longer_than_allowed)
{
    struct spin s;
    spin_init(&s, AO_US(5));
    wait_often(&s, 10, AO_US(4));
    assert_int_equal(spin_window(&s, NOW), AO_US(5));
    spin_init(&s, 0);
    wait_often(&s, 10, 0);
    assert_int_equal(spin_window(&s, NOW), 0);
}

/* ---- enough to do ---- */

static void work(struct spin *s, ao_time period, uint64_t steps)
{
    for (int i = 0; i < 64; i++)
        spin_worked(s, period, steps);
}

TEST(a_busy_thread_gathers_work_by_sleeping)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(8));
    work(&s, AO_US(3), 2); /* often */
    assert_int_equal(spin_window(&s, NOW), 0);
    work(&s, AO_MS(1), 100); /* many at once */
    assert_int_equal(spin_window(&s, NOW), 0);
    work(&s, AO_US(12), 2); /* now and then */
    assert_int_not_equal(spin_window(&s, NOW), 0);
}

/* ---- preemption ---- */

/* So many a millisecond, for a second.  When it was looked at last. */
static ao_time preempt(struct spin *s, ao_time from, int percent)
{
    ao_time now = from;
    for (unsigned ms = 0; ms < 1000; ms++) {
        now = from + AO_MS(ms);
        assert_true(spin_look_due(s, now));
        spin_preempted(s, now, 500 + ms * (unsigned)percent / 100);
        assert_false(spin_look_due(s, now));
    }
    return now;
}

TEST(who_is_preempted_again_and_again_stops_for_long)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(8));
    ao_time end = preempt(&s, NOW, 12); /* of the milliseconds: every eighth */
    assert_int_equal(spin_window(&s, end), 0);
    assert_int_equal(spin_window(&s, end + AO_S(1)), 0);
    assert_int_not_equal(spin_window(&s, end + AO_S(60)), 0);
}

TEST(kernel_threads_now_and_then_do_not_count)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(8));
    ao_time end = preempt(&s, NOW, 2);
    assert_int_not_equal(spin_window(&s, end), 0);
}

/* What happened while nobody looked is not held against it. */
TEST(the_count_begins_anew_after_a_rest)
{
    struct spin s = begin();
    wait_often(&s, 10, AO_US(8));
    spin_preempted(&s, NOW, 0);
    spin_preempted(&s, NOW + AO_S(10), 1000000);
    assert_int_not_equal(spin_window(&s, NOW + AO_S(10)), 0);
}
