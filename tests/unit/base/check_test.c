#include "base/check.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"

static void ask_for(void *arg)
{
    require(arg != NULL, "the argument is NULL");
}

static void assume(void *arg)
{
    assert(arg != NULL);
}

TEST(misuse_is_named_and_ends_the_process)
{
    ask_for("something");
    expect_misuse(ask_for, NULL, "ergon: ask_for(): the argument is NULL");
}

TEST(a_broken_invariant_ends_a_test_build)
{
    assume("something");
    expect_broken_assert(assume, NULL, "arg != NULL");
}
