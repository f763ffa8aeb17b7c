/* What tests of accounts stand on: accounts with limits, and a fixture that clears them away.
 *
 * ACCOUNTS_TEST(name, .bytes_in_all = 1000, .bytes = 100) has them as `all`.  What a test opens by
 * stage_account() it need not settle or close: the tear-down does both.  There is one fixture at a
 * time. */
#ifndef ERGON_TESTS_SUPPORT_ACCOUNTS_STAGE_H
#define ERGON_TESTS_SUPPORT_ACCOUNTS_STAGE_H

#include "server/accounts/account.h"
#include "tests/support/cmocka_env.h"

/* Never NULL: the test fails without memory.  A limit of 0 is none.  For accounts_free(). */
struct accounts *accounts_limited(struct account_limits limits);

/* For cmocka: the first state is a struct account_limits, then it is a struct accounts. */
int accounts_stage_open(void **state);
int accounts_stage_close(void **state);

#define ACCOUNTS_TEST(name, ...)                                                                   \
    TEST_OF(struct accounts *all, &((struct account_limits){__VA_ARGS__}), accounts_stage_open,    \
            accounts_stage_close, name)

/* The account of this name, which the tear-down settles and closes.  Each call opens it once more.
 */
struct account *stage_account(struct accounts *all, const char *name);

#endif
