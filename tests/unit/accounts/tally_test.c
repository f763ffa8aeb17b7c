/* Tallies: what a loop counts reaches the account at the round's end, and not by the message. */
#include "server/accounts/tally.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/unit/accounts/two_loops.h"

static int set_up(void **state)
{
    (void)state;
    open_loops((struct account_limits){0});
    return 0;
}

#define TALLY_TEST(name) TEST_WITH(set_up, close_loops, name)

static uint64_t bytes_of(const struct tally *t)
{
    return atomic_load_explicit(&t->account->bytes, memory_order_relaxed);
}

TALLY_TEST(it_settles_at_the_end_of_the_round)
{
    struct tally *t = tally_open(&books[0], "a");
    tally_charge(t, 100);
    tally_charge(t, 20);
    tally_calls(t, 3);
    assert_int_equal(bytes_of(t), 0);
    virtual_run(&v);
    assert_int_equal(bytes_of(t), 120);
    assert_int_equal(accounts_bytes(all), 120);
    assert_int_equal(atomic_load(&t->account->calls), 3);
    tally_charge(t, -120);
    tally_calls(t, -3);
    virtual_run(&v);
    assert_int_equal(bytes_of(t), 0);
    tally_close(t);
}

TALLY_TEST(a_loop_has_one_tally_of_a_name)
{
    struct tally *t = tally_open(&books[0], "a");
    struct tally *other_loop = tally_open(&books[1], "a");
    assert_ptr_equal(tally_open(&books[0], "a"), t);
    assert_ptr_not_equal(other_loop, t);
    assert_ptr_equal(other_loop->account, t->account);
    tally_charge(t, 1);
    tally_charge(other_loop, 2);
    virtual_run(&v);
    assert_int_equal(bytes_of(t), 3);
    tally_charge(other_loop, -3); /* given back on another loop than it was taken on */
    tally_charge(t, 0);
    virtual_run(&v);
    assert_int_equal(bytes_of(t), 0);
    tally_close(t);
    tally_close(t);
    tally_close(other_loop);
}

TALLY_TEST(one_that_was_closed_is_settled_first)
{
    struct tally *t = tally_open(&books[0], "a");
    tally_charge(t, 7);
    tally_charge(t, -7);
    tally_close(t);
    t = tally_open(&books[0], "a"); /* in the same round: the same one */
    tally_charge(t, 5);
    virtual_run(&v);
    assert_int_equal(bytes_of(t), 5);
    tally_charge(t, -5);
    tally_close(t);
    virtual_run(&v);
    assert_int_equal(accounts_bytes(all), 0);
}

static int open_one(void *arg)
{
    struct tally_book book;
    struct accounts *own = accounts_new(&unlimited_accounts, (uint64_t[2]){1, 2});
    if (!own)
        return -1;
    tally_book_init(&book, own, arg);
    struct tally *t = tally_open(&book, "a");
    if (t) { /* and it is not settled before the end */
        tally_charge(t, 1);
        tally_charge(t, -1);
    }
    tally_close(t);
    tally_book_fini(&book);
    accounts_free(own);
    return t ? 0 : -1;
}

TALLY_TEST(without_memory_none_is_opened)
{
    heap_fail_each(open_one, loops[0]);
}
