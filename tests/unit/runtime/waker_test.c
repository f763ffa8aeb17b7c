#include <stdlib.h>
#include <string.h>

#include "server/runtime/threads/waker.h"
#include "tests/support/cmocka_env.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

TEST(wakes_a_sleeper_once)
{
    struct waker w;
    int wakes = 0;
    waker_init(&w, count, &wakes);
    assert_false(waker_notify(&w)); /* nobody sleeps */
    waker_announce(&w);
    assert_true(waker_announced(&w));
    assert_true(waker_notify(&w));
    assert_false(waker_announced(&w));
    assert_false(waker_notify(&w)); /* already sent */
    assert_int_equal(wakes, 1);
    waker_retract(&w);
    assert_false(waker_notify(&w));
    assert_int_equal(wakes, 1);
}

TEST(retracted_sleep_is_not_woken)
{
    struct waker w;
    int wakes = 0;
    waker_init(&w, count, &wakes);
    waker_announce(&w);
    waker_retract(&w);
    assert_false(waker_notify(&w));
    assert_int_equal(wakes, 0);
}
