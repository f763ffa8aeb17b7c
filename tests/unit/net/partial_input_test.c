/* Held input: growth by what arrives, the account of memory, the largest holder. */
#include "server/net/connection/partial_input.h"
#include "server/accounts/input_budget.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static struct partial_input *grow(struct partial_list *list, struct partial_input *p,
                                  struct span bytes)
{
    p = partial_reserve(list, p, bytes.len);
    partial_append(p, bytes);
    return p;
}

TEST(it_grows_by_what_arrives)
{
    static uint8_t bytes[1000];
    struct partial_list list = {0};
    struct scanner scanner;

    scanner_init(&scanner);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    struct partial_input *p = partial_new(&list, NULL, span_of(bytes, 10), &scanner);
    for (size_t at = 10; at < 1000; at += 10) {
        p = grow(&list, p, span_of(bytes + at, 10));
        assert_true(list.total <= sizeof *p + 2 * (at + 10) + 256);
    }
    assert_int_equal(partial_span(p).len, 1000);
    assert_memory_equal(partial_span(p).at, bytes, 1000);
    partial_free(&list, p);
    assert_int_equal(list.total, 0);
    assert_null(LIST_FIRST(&list.all));
}

/* What was used up in front makes room behind. */
TEST(it_moves_before_it_grows)
{
    static uint8_t bytes[1000];
    struct partial_list list = {0};
    struct scanner scanner;

    scanner_init(&scanner);
    struct partial_input *p = partial_new(&list, NULL, span_of(bytes, sizeof bytes), &scanner);
    uint64_t total = list.total;
    p->start = 990;
    p = grow(&list, p, span_of(bytes, 900));
    assert_int_equal(list.total, total);
    assert_int_equal(partial_span(p).len, 910);
    partial_free(&list, p);
}

TEST(all_are_counted)
{
    static uint8_t bytes[5000];
    static const size_t sizes[] = {10, 5000, 100};
    struct partial_list list = {0};
    struct partial_input *all[3];
    struct scanner scanner;

    scanner_init(&scanner);
    for (int i = 0; i < 3; i++)
        all[i] = partial_new(&list, NULL, span_of(bytes, sizes[i]), &scanner);
    assert_int_equal(list.total,
                     partial_size(all[0]) + partial_size(all[1]) + partial_size(all[2]));
    partial_free(&list, all[1]);
    partial_free(&list, all[0]);
    partial_free(&list, all[2]);
    partial_free(&list, NULL);
    assert_int_equal(list.total, 0);
}

/* The pages of a long one serve the next, and those beyond what is kept are given back. */
TEST(the_pages_of_the_last_long_one_serve_the_next)
{
    static uint8_t bytes[3 * PARTIAL_SPARE];
    struct partial_list list = {0};
    struct scanner scanner;

    memset(bytes, 7, sizeof bytes);
    scanner_init(&scanner);
    struct partial_input *p = partial_new(&list, NULL, span_of(bytes, sizeof bytes), &scanner);
    const void *pages = p;
    partial_free(&list, p);
    assert_int_equal(list.total, 0);
    assert_ptr_equal(list.spare.at, pages);
    assert_int_equal(list.spare.size, PARTIAL_SPARE);

    p = partial_new(&list, NULL, span_of("abc", 3), &scanner);
    assert_ptr_equal(list.spare.at, pages);
    heap_fail_at(1); /* nothing is allocated */
    p = grow(&list, p, span_of(bytes, BLOCK_PAGES));
    heap_fail_at(0);
    assert_ptr_equal(p, pages);
    assert_null(list.spare.at);
    assert_int_equal(list.total, partial_size(p));
    assert_in_range(p->capacity, BLOCK_PAGES, 2 * BLOCK_PAGES);
    p = grow(&list, p, span_of(bytes, PARTIAL_SPARE / 2));
    assert_ptr_equal(p, pages);
    assert_int_equal(list.total, partial_size(p));
    assert_memory_equal(p->bytes, "abc", 3);
    assert_memory_equal(p->bytes + 3, bytes, BLOCK_PAGES + PARTIAL_SPARE / 2);
    p = grow(&list, p, span_of(bytes, PARTIAL_SPARE));
    assert_memory_equal(p->bytes + 3, bytes, BLOCK_PAGES + PARTIAL_SPARE / 2 + PARTIAL_SPARE);

    struct partial_input *other = partial_new(&list, NULL, span_of(bytes, BLOCK_PAGES), &scanner);
    partial_free(&list, other);
    partial_free(&list, p);
    assert_int_equal(list.spare.size, PARTIAL_SPARE);
    partial_list_fini(&list);
}

TEST(without_memory_it_stays_as_it_was)
{
    static uint8_t bytes[5000];
    struct partial_list list = {0};
    struct scanner scanner;

    scanner_init(&scanner);
    heap_fail_at(1);
    assert_null(partial_new(&list, NULL, span_of(bytes, 10), &scanner));
    struct partial_input *p = partial_new(&list, NULL, span_of("abc", 3), &scanner);
    uint64_t total = list.total;
    heap_fail_at(1);
    assert_null(partial_reserve(&list, p, 5000));
    assert_int_equal(list.total, total);
    assert_memory_equal(partial_span(p).at, "abc", 3);
    partial_free(&list, p);
}

/* What it costs is said before it is taken, to the byte, and all of it is given back; a long one
 * grows by a MiB at most. */
TEST(what_it_takes_is_taken_before)
{
    static uint8_t bytes[5 << 20];
    struct input_budget budget;
    struct partial_list list = {.budget = &budget};
    struct scanner scanner;
    uint64_t limit = 4 << 20;

    scanner_init(&scanner);
    input_budget_init(&budget);
    assert_true(partial_take(&list, partial_cost(NULL, 100), limit));
    struct partial_input *p = partial_new(&list, NULL, span_of(bytes, 100), &scanner);
    for (size_t len = 5000; partial_take(&list, partial_cost(p, len), limit); len += 5000) {
        p = grow(&list, p, span_of(bytes, len));
        assert_int_equal(input_budget_bytes(&budget), list.total);
        assert_in_range(partial_slack(p), 0, (1 << 20) + len);
    }
    assert_in_range(list.total, limit - (2 << 20), limit);
    assert_true(list.total + partial_cost(p, sizeof bytes) > limit);

    uint64_t total = list.total;
    assert_true(partial_take(&list, partial_cost(p, sizeof bytes), UINT64_MAX));
    heap_fail_at(1);
    assert_null(partial_reserve(&list, p, sizeof bytes));
    assert_true(partial_take(&list, partial_cost(NULL, 10), UINT64_MAX));
    heap_fail_at(1);
    assert_null(partial_new(&list, NULL, span_of(bytes, 10), &scanner));
    assert_int_equal(input_budget_bytes(&budget), total);
    partial_free(&list, p);
    assert_int_equal(input_budget_bytes(&budget), 0);
    partial_list_fini(&list);
    input_budget_fini(&budget);
}
