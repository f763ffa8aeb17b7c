/* The lists that an entry can stand in, and what an entry takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "server/ledger/ask.h"
#include "server/ledger/entry.h"

static void first_in_first_out(void **state)
{
    struct entry a = {0}, b = {0}, c = {0};
    struct entry_list list = {0};
    (void)state;
    entry_push(&list, &b);
    entry_push(&list, &c);
    entry_push_front(&list, &a);
    assert_int_equal(list.count, 3);
    assert_ptr_equal(b.list, &list);
    assert_ptr_equal(entry_pop(&list), &a);
    assert_ptr_equal(entry_pop(&list), &b);
    assert_ptr_equal(entry_pop(&list), &c);
    assert_null(entry_pop(&list));
    assert_null(list.last);
    assert_null(a.list);
}

static void unlinked_from_anywhere(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++) {
        struct entry e[3] = {0};
        struct entry_list list = {0};
        for (int i = 0; i < 3; i++)
            entry_push(&list, &e[i]);
        entry_unlink(&e[gone]);
        entry_unlink(&e[gone]);
        assert_int_equal(list.count, 2);
        assert_ptr_equal(list.first, &e[gone == 0]);
        assert_ptr_equal(list.last, &e[gone == 2 ? 1 : 2]);
        assert_ptr_equal(list.first->next, list.last);
        assert_ptr_equal(list.last->prev, list.first);
    }
}

static void everything_that_hangs_on_it_counts(void **state)
{
    uint8_t result[100];
    char code[] = "FAILED", text[] = "no";
    struct entry_end end = {0};
    struct after_edge edge = {0};
    struct entry_more more = {0};
    struct entry e = {0};
    (void)state;
    size_t before = entry_bytes(&e), after;
    assert_true(before >= sizeof e);
    e.body_len = 64;
    assert_true((after = entry_bytes(&e)) >= before + 64);
    e.end = &end;
    assert_true((before = entry_bytes(&e)) >= after + sizeof end);
    end = (struct entry_end){.result = result, .result_len = sizeof result};
    assert_true((after = entry_bytes(&e)) >= before + sizeof result);
    end = (struct entry_end){.result_len = sizeof result, .cut = true, .code = code, .text = text};
    assert_in_range(entry_bytes(&e), before + sizeof code + sizeof text, after - 1);
    before = entry_bytes(&e);
    e.more = &more;
    assert_true((after = entry_bytes(&e)) >= before + sizeof more);
    more = (struct entry_more){.after_count = 3, .after = &edge};
    assert_true(entry_bytes(&e) >= after + 3 * sizeof(uint64_t) + sizeof edge);
}

/* Half a kilobyte is the bound of a delayed task with 64 bytes of parameters. */
static void a_plain_entry_is_small(void **state)
{
    struct entry e = {.body_len = 64};
    (void)state;
    assert_true(entry_bytes(&e) <= 400);
}

static void the_defaults_of_an_order(void **state)
{
    struct order o;
    (void)state;
    order_init(&o);
    assert_int_equal(o.priority, 5);
    assert_int_equal(o.retries, 0);
    assert_int_equal(o.timeout, AO_NEVER);
    assert_int_equal(o.deadline, AO_NEVER);
    assert_int_equal(o.durable, LEDGER_ASYNC);
    assert_int_equal(o.method.len, 0);
}

static void an_ask_frees_what_it_owns(void **state)
{
    struct ask *a = ask_new(NULL, ASK_SUBMIT_MANY);
    (void)state;
    assert_int_equal(a->verb, ASK_SUBMIT_MANY);
    a->memory = malloc(10);
    a->order_count = 2;
    a->outcomes = calloc(2, sizeof *a->outcomes);
    a->outcomes[1].text = malloc(10);
    pack_init(&a->result);
    pack_uint(&a->result, 7);
    ask_free(a);
    ask_free(ask_new(NULL, ASK_AUDIT));
    ask_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_in_first_out),
                                       cmocka_unit_test(unlinked_from_anywhere),
                                       cmocka_unit_test(everything_that_hangs_on_it_counts),
                                       cmocka_unit_test(a_plain_entry_is_small),
                                       cmocka_unit_test(the_defaults_of_an_order),
                                       cmocka_unit_test(an_ask_frees_what_it_owns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
