/* The scanner checks its own stack where it writes to it: the rule is broken from within. */
#include "proto/scanner_inline.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"

static const struct wire_head array_of_one = {.size = 1, .count = 1};

static void descend_at(void *depth)
{
    static struct scanner s;
    struct scan_walk w = {.open = 1, .left = 1, .depth = *(const uint32_t *)depth};
    scan_pass(&w, &s, &array_of_one);
}

static void ascend_from_the_outermost(void *arg)
{
    static struct scanner s;
    struct scan_walk w = {0};
    scan_ascend(&w, &s);
}

TEST(a_level_beyond_the_stack_is_never_written)
{
    uint32_t last = SCAN_DEPTH_CAP - 1, beyond = SCAN_DEPTH_CAP;
    descend_at(&last);
    expect_broken_assert(descend_at, &beyond, "depth < SCAN_DEPTH_CAP");
}

TEST(a_level_below_the_stack_is_never_read)
{
    expect_broken_assert(ascend_from_the_outermost, NULL, "depth > 0");
}
