/* Accounts: one for a name, however often it is opened; sums; and when one is full. */
#include "server/accounts/account.h"

#include <stdio.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static const uint64_t seed[2] = {1, 2};

static struct accounts *with_limits(uint64_t in_all, uint64_t each)
{
    return accounts_new(
        &(struct account_limits){.bytes_in_all = in_all, .bytes = each, .calls = UINT32_MAX}, seed);
}

TEST(a_name_has_one_account)
{
    struct accounts *all = with_limits(1000, 1000);
    struct account *alice = account_open(all, "token:alice");
    struct account *cert = account_open(all, "cert:alice");
    assert_ptr_equal(account_open(all, "token:alice"), alice);
    assert_ptr_not_equal(alice, cert);
    assert_int_not_equal(alice->index, cert->index);
    account_close(alice);
    assert_string_equal(alice->name, "token:alice"); /* still open */
    account_close(alice);
    account_close(cert);
    accounts_free(all);
}

TEST(an_index_is_used_again)
{
    struct accounts *all = with_limits(1000, 1000);
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
    accounts_free(all);
}

TEST(its_own_limit_makes_it_full)
{
    struct accounts *all = with_limits(1000, 100);
    struct account *a = account_open(all, "a");
    account_settle(a, 99, 0);
    assert_false(account_is_full(a));
    account_settle(a, 1, 0);
    assert_true(account_is_full(a));
    account_settle(a, -1, 0);
    assert_false(account_is_full(a));
    account_settle(a, -99, 0);
    account_close(a);
    accounts_free(all);
}

/* One who takes what it can get leaves half; two leave a third. */
TEST(somebody_who_comes_later_finds_room)
{
    struct accounts *all = with_limits(1200, UINT64_MAX);
    struct account *a = account_open(all, "a");
    struct account *b = account_open(all, "b");
    struct account *c = account_open(all, "c");
    while (!account_is_full(a))
        account_settle(a, 1, 0);
    assert_int_equal(accounts_bytes(all), 601);
    while (!account_is_full(b))
        account_settle(b, 1, 0);
    assert_int_equal(accounts_bytes(all), 901);
    assert_false(account_is_full(c));
    while (!account_is_full(c))
        account_settle(c, 1, 0);
    assert_true(accounts_bytes(all) < 1200);
    account_settle(a, -601, 0);
    assert_false(account_is_full(b));
    account_settle(b, -300, 0);
    account_settle(c, 901 - (int64_t)accounts_bytes(all) - 601, 0);
    account_settle(c, -(int64_t)accounts_bytes(all), 0);
    account_close(a);
    account_close(b);
    account_close(c);
    accounts_free(all);
}

static int open_one(void *arg)
{
    struct accounts *all = with_limits(1000, 1000);
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
