/* Requests that we send: whose answer it is that comes, and which answers are strange. */
#include "server/rpc/requests.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static char a, b, c;

/* One byte, which ends there. */
static uint32_t send(struct requests *q, void *waiter, uint64_t end)
{
    uint32_t number = requests_open(q, waiter);
    assert_true(number > 0 && number < 0x80000000);
    requests_sent(q, number, end - 1, end);
    return number;
}

static void answered(struct requests *q, uint32_t number, void *waiter)
{
    bool early;
    assert_ptr_equal(requests_find(q, number, UINT64_MAX - 1, &early), waiter);
    assert_false(early);
    requests_close(q, number);
}

TEST(answers_come_in_any_order)
{
    struct requests q = {0};
    uint32_t first = send(&q, &a, 10), second = send(&q, &b, 20), third = send(&q, &c, 30);
    assert_ptr_equal(requests_begun(&q, 30), &a);
    assert_ptr_equal(requests_begun(&q, 30), &b);
    assert_ptr_equal(requests_begun(&q, 30), &c);
    assert_null(requests_begun(&q, 30));
    answered(&q, second, &b);
    answered(&q, third, &c);
    answered(&q, first, &a);
    assert_int_equal(q.out, 0);
    requests_fini(&q);
}

TEST(a_request_begins_with_its_first_byte)
{
    struct requests q = {0};
    requests_sent(&q, requests_open(&q, &a), 0, 10);
    requests_sent(&q, requests_open(&q, &b), 10, 20);
    assert_null(requests_begun(&q, 0));
    assert_ptr_equal(requests_begun(&q, 1), &a);
    assert_null(requests_begun(&q, 10));
    requests_sent(&q, requests_open(&q, &c), 20, 21);
    assert_ptr_equal(requests_begun(&q, 21), &b);
    assert_ptr_equal(requests_begun(&q, 21), &c);
    assert_null(requests_begun(&q, 100));
    requests_fini(&q);
}

TEST(an_answer_before_the_request_is_early)
{
    struct requests q = {0};
    bool early;
    uint32_t number = send(&q, &a, 10);
    assert_ptr_equal(requests_find(&q, number, 9, &early), &a);
    assert_true(early);
    assert_ptr_equal(requests_begun(&q, 10), &a);
    answered(&q, number, &a);
    requests_fini(&q);
}

TEST(answers_that_are_strange)
{
    struct requests q = {0};
    bool early;
    uint32_t number = send(&q, &a, 10);
    requests_begun(&q, 10);
    assert_null(requests_find(&q, 0, 9, &early));
    assert_null(requests_find(&q, number + 1, 9, &early));
    assert_null(requests_find(&q, number + REQUESTS_MAX, 9, &early));
    assert_null(requests_find(&q, (uint64_t)number | 1ull << 40, 9, &early));
    assert_null(requests_find(&q, UINT64_MAX, 9, &early));
    assert_false(early);
    answered(&q, number, &a);
    assert_null(requests_find(&q, number, 9, &early)); /* twice */
    assert_int_not_equal(send(&q, &b, 20), number);
    assert_null(requests_find(&q, number, 9, &early)); /* its slot is another's now */
    requests_fini(&q);
}

/* Whatever the masks are: the slots and generations of both connections are the same. */
TEST(an_answer_of_another_connection_is_strange)
{
    static const uint64_t masks[] = {0x12345678, 0x7fffffff, 1 << 13, 0xffffffffffffe000};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct requests before = {0}, after;
        bool early;
        requests_init(&after, masks[i]);
        uint32_t number = send(&before, &a, 1);
        uint32_t next = send(&after, &a, 1);
        assert_null(requests_find(&after, number, 9, &early));
        requests_begun(&after, 1);
        answered(&after, next, &a);
        requests_fini(&before);
        requests_fini(&after);
    }
}

TEST(numbers_stay_below_2_to_31_for_ever)
{
    struct requests q = {0};
    uint64_t end = 0;
    uint32_t first = send(&q, &a, ++end), number;
    requests_begun(&q, end);
    answered(&q, first, &a);
    for (uint32_t i = 1; i < (1 << 18) - 1; i++) {
        number = send(&q, &a, ++end);
        requests_begun(&q, end);
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
        assert_ptr_equal(requests_begun(&q, REQUESTS_MAX), &a);
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
