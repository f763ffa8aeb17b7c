#include "tests/support/accounts_stage.h"

enum { OPENED_MAX = 16 };

static struct account *opened[OPENED_MAX];
static int opened_count;

struct accounts *accounts_limited(struct account_limits limits)
{
    if (limits.bytes_in_all == 0)
        limits.bytes_in_all = UINT64_MAX;
    if (limits.bytes == 0)
        limits.bytes = UINT64_MAX;
    if (limits.calls == 0)
        limits.calls = UINT32_MAX;
    struct accounts *all = accounts_new(&limits, (uint64_t[2]){1, 2});
    assert_non_null(all);
    return all;
}

int accounts_stage_open(void **state)
{
    const struct account_limits *limits = *state;

    opened_count = 0;
    *state = accounts_limited(*limits);
    return 0;
}

struct account *stage_account(struct accounts *all, const char *name)
{
    struct account *a = account_open(all, name);

    assert_non_null(a);
    assert_true(opened_count < OPENED_MAX);
    return opened[opened_count++] = a;
}

/* Nothing is charged to it afterwards. */
static void settle_to_nothing(struct account *a)
{
    const struct account_change rest = {.bytes = -(int64_t)atomic_load(&a->bytes),
                                        .input = -(int64_t)atomic_load(&a->input),
                                        .calls = -(int32_t)atomic_load(&a->calls)};

    account_settle(a, &rest);
}

int accounts_stage_close(void **state)
{
    struct accounts *all = *state;

    for (int i = 0; i < opened_count; i++) {
        settle_to_nothing(opened[i]);
        account_close(opened[i]);
    }
    accounts_free(all);
    return 0;
}
