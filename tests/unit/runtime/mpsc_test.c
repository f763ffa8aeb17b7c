#include <stdlib.h>
#include <string.h>

#include "server/runtime/threads/mpsc.h"
#include "tests/support/cmocka_env.h"

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
