/* The close of an inbox waits for who is inside.  The linker gives us sched_yield(), and so the
 * moment in which it waits. */
#include "server/runtime/threads/post.h"

#include <sched.h>

#include "tests/support/cmocka_env.h"

int __wrap_sched_yield(void);

static struct inbox *inbox;
static int inside, yields;

/* The visitors go one by one. */
int __wrap_sched_yield(void)
{
    assert_true(inside > 0); /* else it waited for nobody */
    yields++;
    inside--;
    inbox_leave(inbox);
    return 0;
}

static void nothing(void *arg)
{
}

TEST(a_close_waits_for_the_visitors)
{
    struct waker waker;
    waker_init(&waker, nothing, NULL);
    inbox = inbox_new(&waker);
    assert_non_null(inbox);
    while (inside < 3) {
        assert_true(inbox_enter(inbox));
        inside++;
    }
    inbox_close(inbox);
    assert_int_equal(inside, 0);
    assert_int_equal(yields, 3);
    assert_false(inbox_enter(inbox));
    inbox_unref(inbox);
}
