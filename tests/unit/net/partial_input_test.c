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
    p = grow(&list, p, span_of(bytes, PARTIAL_SPARE / 2));
    heap_fail_at(0);
    assert_ptr_equal(p, pages);
    assert_null(list.spare.at);
    assert_int_equal(list.total, partial_size(p));
    assert_int_equal(partial_size(p), PARTIAL_SPARE); /* all that it holds */
    p = grow(&list, p, span_of(bytes, BLOCK_PAGES));
    assert_ptr_equal(p, pages);
    assert_int_equal(list.total, PARTIAL_SPARE);
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

/* One that needs little of the pages that lie there does not get them: it would hold them all. */
TEST(a_message_holds_no_more_than_it_is_charged_for)
{
    static uint8_t bytes[PARTIAL_SPARE];
    struct partial_list list = {0};
    struct scanner scanner;

    scanner_init(&scanner);
    partial_free(&list, partial_new(&list, NULL, span_of(bytes, sizeof bytes), &scanner));
    const void *pages = list.spare.at;
    assert_non_null(pages);
    struct partial_input *p = partial_new(&list, NULL, span_of("abc", 3), &scanner);
    p = grow(&list, p, span_of(bytes, BLOCK_PAGES));
    assert_ptr_equal(list.spare.at, pages);
    assert_in_range(partial_size(p), BLOCK_PAGES, 2 * BLOCK_PAGES);
    assert_in_range(p->room, p->capacity, p->capacity + 4096);
    partial_free(&list, p);
    assert_int_equal(list.total, 0);
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

static uint8_t zeros[5 << 20];

/* A list with limits, and what it takes from; the budget's keeper is never asked here. */
static struct limited {
    struct input_budget budget;
    struct input_keeper keeper;
    struct input_limits limits;
    struct partial_list list;
    struct scanner scanner;
} limited;

static struct partial_list *limit(uint64_t shared, uint64_t own)
{
    limited = (struct limited){.limits = {.shared = shared, .own = own}};
    limited.list = (struct partial_list){
        .budget = &limited.budget, .keeper = &limited.keeper, .limits = &limited.limits};
    input_budget_init(&limited.budget);
    input_budget_add(&limited.budget, &limited.keeper);
    scanner_init(&limited.scanner);
    return &limited.list;
}

static struct partial_input *keep(size_t len)
{
    return partial_new(&limited.list, NULL, span_of(zeros, len), &limited.scanner);
}

static void expect_all_given_back(void)
{
    assert_int_equal(limited.list.total, 0);
    partial_list_fini(&limited.list);
    assert_int_equal(input_budget_in_all(&limited.budget), 0);
    input_budget_remove(&limited.budget, &limited.keeper);
    input_budget_fini(&limited.budget);
}

/* What it needs is said before it is taken, to the byte, and all of it is given back; a long one
 * grows by a MiB at most. */
TEST(what_it_takes_is_taken_before)
{
    struct partial_list *list = limit(4 << 20, 0);

    struct partial_input *p = keep(100);
    for (size_t len = 5000; partial_take(list, p, len); len += 5000) {
        p = grow(list, p, span_of(zeros, len));
        assert_int_equal(input_budget_bytes(&limited.budget), list->total);
        assert_in_range(partial_slack(p), 0, (1 << 20) + len);
    }
    assert_in_range(list->total, 2 << 20, 4 << 20);
    assert_true(list->total + partial_need(p, sizeof zeros) > 4 << 20);

    uint64_t total = list->total;
    limited.limits.shared = UINT64_MAX;
    assert_true(partial_take(list, p, sizeof zeros));
    heap_fail_at(1);
    assert_null(partial_reserve(list, p, sizeof zeros));
    heap_fail_at(1);
    assert_null(keep(10));
    assert_int_equal(input_budget_bytes(&limited.budget), total);
    partial_free(list, p);
    expect_all_given_back();
}

/* Short ones stand in what is the loop's own; a long one does when nothing else is left, and leaves
 * it as it grows. */
TEST(what_is_the_loops_own_is_for_short_ones)
{
    struct partial_list *list = limit(100000, 50000);

    struct partial_input *brief = keep(3000), *large = keep(60000), *late = keep(40000);
    assert_true(brief->is_own && !large->is_own && late->is_own);
    assert_int_equal(list->own, partial_size(brief) + partial_size(late));
    assert_int_equal(input_budget_in_all(&limited.budget), list->total);
    assert_false(partial_take(list, late, 1000));
    assert_true(late->is_own);
    partial_free(list, large);
    assert_true(partial_take(list, late, 1000));
    late = grow(list, late, span_of(zeros, 1000));
    assert_false(late->is_own);
    assert_int_equal(list->own, partial_size(brief));
    assert_int_equal(input_budget_bytes(&limited.budget), partial_size(late));
    heap_fail_at(1);
    assert_null(keep(10));
    partial_free(list, brief);
    partial_free(list, late);
    expect_all_given_back();
}

/* What a read may leave over has its room before, or is not read. */
TEST(the_rest_of_a_read_has_its_room_before)
{
    struct partial_list *list = limit(70000, 10000);

    assert_true(partial_has_room(list, 8192));
    assert_int_equal(list->credit, 0); /* it is the loop's own */
    assert_true(partial_has_room(list, 65536));
    assert_true(input_budget_bytes(&limited.budget) > 65536);
    struct partial_input *p = keep(9000), *q = NULL;
    assert_true(p->is_own);
    partial_settle(list);
    assert_int_equal(input_budget_bytes(&limited.budget), 0);
    assert_true(partial_has_room(list, 65536));
    assert_true(input_budget_bytes(&limited.budget) > 65536);
    q = keep(20000);
    assert_false(q->is_own);
    partial_settle(list);
    assert_int_equal(input_budget_bytes(&limited.budget), partial_size(q));
    assert_false(partial_has_room(list, 65536));
    assert_int_equal(list->credit, 0);
    partial_free(list, p);
    partial_free(list, q);
    expect_all_given_back();
}
