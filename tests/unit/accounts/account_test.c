/* Accounts: one for a name, however often it is opened; sums; and when one is full. */
#include "server/accounts/account.h"

#include <pthread.h>
#include <stdio.h>

#include "tests/support/accounts_stage.h"
#include "tests/support/heap.h"

static void settle(struct account *a, int64_t bytes)
{
    account_settle(a, &(struct account_change){.bytes = bytes});
}

static bool lacks(const struct account *a, uint64_t bytes)
{
    return account_lacks_bytes(a, &(struct account_change){0}, bytes);
}

static bool is_full(const struct account *a)
{
    return lacks(a, 0);
}

ACCOUNTS_TEST(a_name_has_one_account, .bytes_in_all = 1000, .bytes = 1000)
{
    struct account *alice = account_open(all, "token:alice");
    struct account *cert = account_open(all, "cert:alice");
    assert_ptr_equal(account_open(all, "token:alice"), alice);
    assert_ptr_not_equal(alice, cert);
    assert_int_not_equal(alice->index, cert->index);
    account_close(alice);
    assert_string_equal(alice->name, "token:alice"); /* still open */
    account_close(alice);
    account_close(cert);
}

ACCOUNTS_TEST(each_reference_keeps_it_open, .bytes_in_all = 1000, .bytes = 1000)
{
    struct account *a = account_open(all, "a");
    assert_ptr_equal(account_ref(a), a);
    account_close(a);
    settle(a, 1);
    assert_ptr_equal(account_open(all, "a"), a);
    account_close(a);
    settle(a, -1);
    account_close(a);
    struct account *b = account_open(all, "b"); /* whose place is free again */
    assert_int_equal(b->index, 0);
    account_close(b);
}

/* Its own limit, and half of what is free beside it: the other half is for who comes later. */
ACCOUNTS_TEST(what_is_left, .bytes_in_all = 1000, .bytes = 400)
{
    static const struct account_change none = {0}, hundred = {.bytes = 100};
    struct account *a = account_open(all, "a"), *b = account_open(all, "b");
    assert_int_equal(account_bytes_left(a, &none), 400);
    assert_int_equal(account_bytes_left(a, &hundred), 300);
    settle(a, 150);
    assert_int_equal(account_bytes_left(a, &none), 250);
    settle(b, 400);
    assert_int_equal(account_bytes_left(a, &none), 150);
    assert_int_equal(account_bytes_left(b, &none), 0);
    settle(a, -150);
    settle(b, -400);
    account_close(a);
    account_close(b);
}

enum { TURNS = 20000 };

static void *open_and_close(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        struct account *a = account_open(arg, "a");
        settle(account_ref(a), 1);
        account_close(a);
        settle(a, -1);
        account_close(a);
    }
    return NULL;
}

/* It ends many times meanwhile, and never under somebody. */
ACCOUNTS_TEST(the_last_of_several_threads_closes_it, .bytes_in_all = 1000, .bytes = 1000)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, all), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(accounts_bytes(all), 0);
    assert_int_equal(accounts_reach(all), 1);
}

ACCOUNTS_TEST(an_index_is_used_again, .bytes_in_all = 1000, .bytes = 1000)
{
    struct account *open[200];
    char name[8];
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 200; i++) {
            snprintf(name, sizeof name, "%d", i);
            open[i] = account_open(all, name);
            assert_true(open[i]->index < 200);
            for (int k = 0; k < i; k++)
                assert_int_not_equal(open[k]->index, open[i]->index);
        }
        for (int i = 0; i < 200; i++)
            account_close(open[i]);
    }
    assert_int_equal(accounts_reach(all), 200);
}

ACCOUNTS_TEST(its_own_limit_makes_it_full, .bytes_in_all = 1000, .bytes = 100)
{
    struct account *a = stage_account(all, "a");
    settle(a, 99);
    assert_false(is_full(a));
    settle(a, 1);
    assert_true(is_full(a));
    settle(a, -1);
    assert_false(is_full(a));
}

/* One who takes what it can get leaves half; two leave a third. */
static void settle_calls(struct account *a, int32_t calls)
{
    account_settle(a, &(struct account_change){.calls = calls});
}

ACCOUNTS_TEST(so_do_its_calls_in_flight, .bytes_in_all = 1000, .bytes = 1000, .calls = 3)
{
    const struct account_change one = {.calls = 1}, fewer = {.calls = -1}, none = {0};
    struct account *alice = account_open(all, "alice"), *bob = stage_account(all, "bob");
    assert_true(accounts_several(all));
    settle_calls(alice, 2);
    assert_false(account_calls_full(alice, &none));
    assert_true(account_calls_full(alice, &one));
    settle_calls(alice, 1);
    assert_true(account_calls_full(alice, &none));
    assert_false(account_calls_full(alice, &fewer));
    assert_false(account_calls_full(bob, &none));
    settle_calls(bob, -1); /* another loop has not settled yet what it took */
    assert_false(account_calls_full(bob, &none));
    settle_calls(bob, 1);
    settle_calls(alice, -3);
    assert_false(account_calls_full(alice, &none));
    account_close(alice);
    assert_false(accounts_several(all));
}

ACCOUNTS_TEST(who_has_most_comes_first, .bytes_in_all = 1000, .bytes = 1000)
{
    enum { MOST = 3 };
    struct account *a[5];
    struct account_top top[MOST];
    static const uint32_t queued[5] = {2, 0, 7, 1, 4};
    for (int i = 0; i < 5; i++) {
        char name[] = {(char)('a' + i), '\0'};
        a[i] = account_open(all, name);
        atomic_store(&a[i]->queued, queued[i]);
    }
    assert_int_equal(accounts_top(all, top, MOST), MOST);
    assert_string_equal(top[0].name, "c");
    assert_string_equal(top[1].name, "e");
    assert_string_equal(top[2].name, "a");
    assert_int_equal(top[2].queued, 2);
    for (int i = 2; i < 5; i++)
        account_close(a[i]);
    assert_int_equal(accounts_top(all, top, MOST), 1);
    account_close(a[0]);
    account_close(a[1]);
}

ACCOUNTS_TEST(somebody_who_comes_later_finds_room, .bytes_in_all = 1200)
{
    struct account *a = stage_account(all, "a");
    struct account *b = stage_account(all, "b");
    struct account *c = stage_account(all, "c");
    while (!is_full(a))
        settle(a, 1);
    assert_int_equal(accounts_bytes(all), 601);
    while (!is_full(b))
        settle(b, 1);
    assert_int_equal(accounts_bytes(all), 901);
    assert_false(is_full(c));
    while (!is_full(c))
        settle(c, 1);
    assert_true(accounts_bytes(all) < 1200);
    settle(a, -601);
    assert_false(is_full(b));
}

/* What only waits to begin makes no room: who has nothing at work may begin. */
ACCOUNTS_TEST(who_has_nothing_at_work_may_begin, .bytes_in_all = 1000, .bytes = 300)
{
    struct account *a = stage_account(all, "a");
    account_settle(a, &(struct account_change){.bytes = 600, .input = 600});
    assert_false(lacks(a, 5000)); /* nothing at all is at work */
    account_settle(a, &(struct account_change){.bytes = -310, .input = -310});
    struct account *b = stage_account(all, "b");
    settle(b, 310);
    assert_false(lacks(a, 400)); /* what is left in all */
    assert_true(lacks(a, 401));
    settle(b, -309);
    settle(a, 200);
    assert_true(lacks(a, 101)); /* its own limit, of what is at work */
    assert_false(lacks(a, 100));
}

/* As a long poll, or a call that sleeps for days. */
ACCOUNTS_TEST(what_is_as_large_as_the_limit_goes_beside_what_is_small, .bytes_in_all = 1000,
              .bytes = 300)
{
    struct account *a = stage_account(all, "a");
    settle(a, 10);
    assert_false(lacks(a, 300));
    settle(a, 300);
    assert_true(lacks(a, 300)); /* and a second one waits */
}

ACCOUNTS_TEST(so_does_what_leaves_no_room_for_as_much_again, .bytes_in_all = 1000, .bytes = 900)
{
    struct account *a = stage_account(all, "a");
    settle(a, 10);
    assert_false(lacks(a, 600));
}

/* Of two loops the one that gives back may settle before the one that took. */
ACCOUNTS_TEST(less_than_nothing_is_nothing, .bytes_in_all = 1000, .bytes = 300)
{
    struct account *a = stage_account(all, "a");
    account_settle(a, &(struct account_change){.bytes = -5, .input = -5});
    assert_int_equal(accounts_bytes(all), 0);
    assert_int_equal(accounts_figures(all).bytes, 0);
    assert_int_equal(accounts_figures(all).input, 0);
    assert_false(lacks(a, 10));
}

ACCOUNTS_TEST(a_task_beside_others_stays_within_the_limit, .bytes_in_all = 1000, .bytes = 300)
{
    struct account *a = stage_account(all, "a");
    settle(a, 200);
    assert_true(account_take(a, 100, 50));
    assert_false(account_take(a, 1, 50));
}

ACCOUNTS_TEST(a_task_that_is_alone_takes_what_it_needs, .bytes_in_all = 1000, .bytes = 300)
{
    struct account *a = stage_account(all, "a");
    settle(a, 50);
    assert_true(account_take(a, 2000, 50));
    assert_int_equal(accounts_bytes(all), 2050);
    assert_false(account_take(a, 10, 50)); /* another's */
    assert_int_equal(accounts_bytes(all), 2050);
    assert_int_equal(accounts_figures(all).refused, 1);
}

static int open_one(void *arg)
{
    struct accounts *all = accounts_new(&unlimited_accounts, (uint64_t[2]){1, 2});
    struct account *a = all ? account_open(all, "a") : NULL;
    if (a)
        account_close(a);
    accounts_free(all);
    return a ? 0 : -1;
}

TEST(without_memory_none_is_opened)
{
    heap_fail_each(open_one, NULL);
}
