#include <stdlib.h>
#include <string.h>

#include "server/runtime/threads/mpsc.h"
#include "tests/support/cmocka_env.h"

TEST(one_after_the_other)
{
    struct mpsc q;
    struct mpsc_item x[3], *rest = NULL;
    mpsc_init(&q);
    assert_null(mpsc_next(&q, &rest));
    mpsc_push(&q, &x[0]);
    mpsc_push(&q, &x[1]);
    assert_ptr_equal(mpsc_next(&q, &rest), &x[0]);
    mpsc_push(&q, &x[2]);
    mpsc_push(&q, &x[0]); /* it is out */
    assert_ptr_equal(mpsc_next(&q, &rest), &x[1]);
    assert_ptr_equal(mpsc_next(&q, &rest), &x[2]);
    assert_ptr_equal(mpsc_next(&q, &rest), &x[0]);
    assert_null(mpsc_next(&q, &rest));
    assert_null(rest);
}

TEST(oldest_first)
{
    struct mpsc q;
    struct mpsc_item x[3];
    mpsc_init(&q);
    assert_true(mpsc_empty(&q));
    assert_null(mpsc_take(&q));
    assert_true(mpsc_push(&q, &x[0])); /* it was empty */
    assert_false(mpsc_push(&q, &x[1]));
    assert_false(mpsc_push(&q, &x[2]));
    assert_false(mpsc_empty(&q));
    struct mpsc_item *item = mpsc_take(&q);
    for (int i = 0; i < 3; i++, item = item->next)
        assert_ptr_equal(item, &x[i]);
    assert_null(item);
    assert_true(mpsc_empty(&q));
    assert_true(mpsc_push(&q, &x[1])); /* and again */
}
