/* What a task holds: charged as it lives on, more as its result grows, given back once. */
#include "server/tasks/held_bytes.h"

#include "server/accounts/tally.h"
#include "server/tasks/task_result.h"
#include "tests/support/accounts_stage.h"
#include "tests/support/virtual.h"

enum { K = 1024, LIMIT = 1024 * K, RESULT_MAX = 4096 * K };

static struct virtual v;
static struct accounts *all;
static struct tally_book book;
static struct tally *tally;
static struct method method;
static struct task task;
static const struct ergon_handler blocking = {.kind = ERGON_BLOCKING};

static int set_up(void **state)
{
    (void)state;
    virtual_init(&v);
    all = accounts_limited((struct account_limits){.bytes_in_all = 4 * LIMIT, .bytes = LIMIT});
    tally_book_init(&book, all, virtual_open(&v, "loop"));
    tally = tally_open(&book, "a");
    method = (struct method){.handler = &blocking, .small_params = SMALL_PARAMS};
    memset(&task, 0, sizeof task);
    task_begin(&task, &method, span_text("\x90"), AO_NEVER);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    task_free_blocks(&task);
    virtual_run(&v);
    assert_int_equal(accounts_bytes(all), 0); /* however it went */
    tally_close(tally);
    tally_book_fini(&book);
    accounts_free(all);
    virtual_fini(&v);
    return 0;
}

#define HELD_TEST(name) TEST_WITH(set_up, tear_down, name)

static uint64_t charged(void)
{
    virtual_run(&v);
    return accounts_bytes(all);
}

HELD_TEST(a_large_result_takes_what_was_not_reserved)
{
    assert_int_equal(task_charge(&task, tally), sizeof task);
    assert_non_null(task_result_room(&task, 40 * K, RESULT_MAX));
    assert_int_equal(charged(), sizeof task);
    assert_non_null(task_result_room(&task, 640 * K, RESULT_MAX));
    assert_int_equal(charged(), sizeof task + 640 * K);
    assert_non_null(task_result_room(&task, 64 * K, RESULT_MAX)); /* it stays covered */
    assert_int_equal(charged(), sizeof task + 640 * K);
    task_discharge(&task);
    assert_int_equal(charged(), 0);
    task_discharge(&task);
    assert_int_equal(charged(), 0);
}

HELD_TEST(what_is_covered_needs_no_room)
{
    task_charge(&task, tally);
    assert_true(task_cover_result(&task, 640 * K));
    tally_charge(tally, LIMIT); /* another's */
    charged();
    assert_true(task_cover_result(&task, 640 * K));
    assert_true(task_cover_result(&task, 128 * K));
    assert_false(task_cover_result(&task, 704 * K));
    tally_charge(tally, -LIMIT);
    assert_int_equal(charged(), sizeof task + 640 * K);
}

HELD_TEST(the_next_reserves_as_much_as_the_last_took)
{
    task_charge(&task, tally);
    assert_int_equal(method_wants(&method, 100), 0);
    task_result_room(&task, 640 * K, RESULT_MAX);
    assert_int_equal(method_wants(&method, 100), 100 + 640 * K);
    task_free_blocks(&task);
    task_begin(&task, &method, span_text("\x90"), AO_NEVER);
    assert_int_equal(task_charge(&task, tally), sizeof task + 640 * K);
    task_result_room(&task, 640 * K, RESULT_MAX);
    assert_int_equal(charged(), sizeof task + 640 * K);
}

HELD_TEST(a_nested_call_is_no_call_in_flight_and_is_not_refused_for_its_parent)
{
    struct accounts *few = accounts_limited(
        (struct account_limits){.bytes_in_all = 4 * LIMIT, .bytes = LIMIT, .calls = 1});
    struct tally_book own_book;
    struct tally *one, *alone;
    struct task child = {0};
    const struct account_change none = {0}, fewer = {.calls = -1};
    enum ergon_error error;

    tally_book_init(&own_book, few, virtual_open(&v, "other"));
    one = tally_open(&own_book, "a");
    task_charge(&task, one);
    virtual_run(&v);
    assert_true(account_calls_full(one->account, &none));
    assert_true(task_open_tally(&task, 8 * K, &alone, &error));
    task_begin(&child, &method, span_text("\x90"), AO_NEVER);
    child.depth = 1;
    task_charge(&child, alone);
    tally_close(alone);
    virtual_run(&v);
    assert_false(account_calls_full(one->account, &fewer)); /* the parent alone */
    task_free_blocks(&child);
    virtual_run(&v);
    assert_true(account_calls_full(one->account, &none)); /* and still the parent */
    task_free_blocks(&task);
    virtual_run(&v);
    assert_false(account_calls_full(one->account, &none));
    tally_close(one);
    tally_book_fini(&own_book);
    accounts_free(few);
}

HELD_TEST(where_there_is_no_room_it_fails)
{
    task_charge(&task, tally);
    tally_charge(tally, LIMIT - 100 * K); /* another's */
    charged();
    assert_null(task_result_room(&task, 128 * K, RESULT_MAX));
    assert_int_equal(task.error, ERGON_E_BUSY);
    tally_charge(tally, -(LIMIT - 100 * K));
    assert_int_equal(charged(), sizeof task);
    assert_int_equal(accounts_figures(all).refused, 1);
}

HELD_TEST(alone_it_may_be_larger_than_the_limit)
{
    task_charge(&task, tally);
    charged();
    assert_non_null(task_result_room(&task, 2048 * K, RESULT_MAX));
}

HELD_TEST(of_small_results_less_and_less_is_reserved)
{
    method_expect_results(&method, 1024 * K);
    task_charge(&task, tally);
    for (int i = 0; i < 300; i++)
        task_lower_reserve(&task);
    assert_int_equal(method_wants(&method, 100), 0);
    assert_int_equal(method_wants(&method, SMALL_PARAMS), SMALL_PARAMS);
}

HELD_TEST(the_result_of_a_nested_call_is_held_until_the_next)
{
    task_charge(&task, tally);
    task_hold_nested(&task, 300 * K);
    assert_int_equal(charged(), sizeof task + 320 * K);
    assert_non_null(task_result_room(&task, 128 * K, RESULT_MAX)); /* beside it */
    assert_int_equal(charged(), sizeof task + 448 * K);
    task_hold_nested(&task, 100);
    assert_int_equal(charged(), sizeof task + 128 * K);
    task_hold_nested(&task, 100 * K);
    task_discharge(&task);
    assert_int_equal(charged(), 0);
}

/* It lives on when its parent has gone. */
HELD_TEST(a_nested_task_is_charged_to_whom_its_parent_is)
{
    static struct task child;
    struct tally *own;
    enum ergon_error error;

    assert_true(task_open_tally(&task, LIMIT, &own, &error) && own == NULL); /* nobody's */
    task_charge(&task, tally);
    charged();
    assert_true(task_open_tally(&task, 0, &own, &error));
    task_begin(&child, &method, span_text("\x90"), AO_NEVER);
    assert_int_equal(task_charge(&child, own), sizeof child);
    tally_close(own);
    assert_int_equal(accounts_bytes(all), 2 * sizeof task); /* at once */
    task_free_blocks(&task);
    assert_int_equal(charged(), sizeof child);
    task_free_blocks(&child);
    assert_int_equal(accounts_bytes(all), 0);
}

HELD_TEST(without_room_it_is_busy)
{
    struct tally *own;
    enum ergon_error error;

    task_charge(&task, tally);
    tally_charge(tally, LIMIT - 100 * K); /* another's */
    charged();
    assert_false(task_open_tally(&task, 128 * K, &own, &error));
    assert_int_equal(error, ERGON_E_BUSY);
    assert_null(own);
    tally_charge(tally, -(LIMIT - 100 * K));
}
