/* Requests that we send: whose answer it is that comes, and which answers are strange. */
#include "server/rpc/requests.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static char a, b, c;

static uint32_t send(struct requests *q, void *waiter, uint64_t end)
{
    uint32_t number = requests_open(q, waiter);
    assert_true(number > 0 && number < 0x80000000);
    requests_sent(q, number, end);
    return number;
}

static void answered(struct requests *q, uint32_t number, void *waiter)
{
    bool early;
    assert_ptr_equal(requests_find(q, number, &early), waiter);
    assert_false(early);
    requests_close(q, number);
}

TEST(answers_come_in_any_order)
{
    struct requests q = {0};
    uint32_t first = send(&q, &a, 10), second = send(&q, &b, 20), third = send(&q, &c, 30);
    assert_ptr_equal(requests_handed(&q, 30), &a);
    assert_ptr_equal(requests_handed(&q, 30), &b);
    assert_ptr_equal(requests_handed(&q, 30), &c);
    assert_null(requests_handed(&q, 30));
    answered(&q, second, &b);
    answered(&q, third, &c);
    answered(&q, first, &a);
    assert_int_equal(q.out, 0);
    requests_fini(&q);
}

TEST(what_is_handed_over_is_told_once_and_in_order)
{
    struct requests q = {0};
    send(&q, &a, 10);
    send(&q, &b, 20);
    assert_null(requests_handed(&q, 9));
    assert_ptr_equal(requests_handed(&q, 10), &a);
    assert_null(requests_handed(&q, 19));
    send(&q, &c, 21);
    assert_ptr_equal(requests_handed(&q, 21), &b);
    assert_ptr_equal(requests_handed(&q, 21), &c);
    assert_null(requests_handed(&q, 100));
    requests_fini(&q);
}

TEST(an_answer_before_the_request_is_early)
{
    struct requests q = {0};
    bool early;
    uint32_t number = send(&q, &a, 10);
    assert_ptr_equal(requests_find(&q, number, &early), &a);
    assert_true(early);
    assert_ptr_equal(requests_handed(&q, 10), &a);
    answered(&q, number, &a);
    requests_fini(&q);
}

TEST(answers_that_are_strange)
{
    struct requests q = {0};
    bool early;
    uint32_t number = send(&q, &a, 10);
    requests_handed(&q, 10);
    assert_null(requests_find(&q, 0, &early));
    assert_null(requests_find(&q, number + 1, &early));
    assert_null(requests_find(&q, number + REQUESTS_MAX, &early));
    assert_null(requests_find(&q, (uint64_t)number | 1ull << 40, &early));
    assert_null(requests_find(&q, UINT64_MAX, &early));
    assert_false(early);
    answered(&q, number, &a);
    assert_null(requests_find(&q, number, &early)); /* twice */
    assert_int_not_equal(send(&q, &b, 20), number);
    assert_null(requests_find(&q, number, &early)); /* its slot is another's now */
    requests_fini(&q);
}

TEST(numbers_stay_below_2_to_31_for_ever)
{
    struct requests q = {0};
    uint64_t end = 0;
    uint32_t first = send(&q, &a, ++end), number;
    requests_handed(&q, end);
    answered(&q, first, &a);
    for (uint32_t i = 1; i < (1 << 18) - 1; i++) {
        number = send(&q, &a, ++end);
        requests_handed(&q, end);
        answered(&q, number, &a);
    }
    assert_int_equal(send(&q, &a, ++end), first);
    requests_fini(&q);
}

TEST(so_many_may_be_out)
{
    struct requests q = {0};
    uint32_t numbers[REQUESTS_MAX];
    for (uint32_t i = 0; i < REQUESTS_MAX; i++)
        numbers[i] = send(&q, &a, i + 1);
    assert_int_equal(requests_open(&q, &b), 0);
    for (uint32_t i = 0; i < REQUESTS_MAX; i++) {
        assert_ptr_equal(requests_handed(&q, REQUESTS_MAX), &a);
        answered(&q, numbers[i], &a);
    }
    assert_int_not_equal(requests_open(&q, &b), 0);
    requests_fini(&q);
}

TEST(memory_fails)
{
    struct requests q = {0};
    heap_fail_at(1);
    assert_int_equal(requests_open(&q, &a), 0);
    assert_true(heap_failed());
    assert_int_not_equal(requests_open(&q, &a), 0);
    requests_fini(&q);
}
