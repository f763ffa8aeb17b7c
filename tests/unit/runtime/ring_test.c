#include <stdlib.h>
#include <string.h>

#include "server/runtime/threads/ring.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static int items[64];

TEST(capacity_is_a_power_of_two_and_none_is_lost)
{
    const uint32_t asked[] = {1, 2, 3, 5, 8, 9}, given[] = {1, 2, 4, 8, 8, 16};
    for (size_t i = 0; i < 6; i++) {
        struct ring r;
        assert_int_equal(ring_init(&r, asked[i]), 0);
        for (uint32_t n = 0; n < given[i]; n++)
            assert_true(ring_stage(&r, &items[n]));
        assert_false(ring_stage(&r, &items[0]));
        assert_true(ring_validate(&r));
        ring_fini(&r);
    }
}

TEST(staged_is_not_published)
{
    struct ring r;
    ring_init(&r, 4);
    assert_false(ring_flush(&r));
    ring_stage(&r, &items[0]);
    ring_stage(&r, &items[1]);
    assert_false(ring_ready(&r));
    assert_null(ring_take(&r));
    assert_true(ring_flush(&r));
    assert_false(ring_flush(&r));
    assert_ptr_equal(ring_take(&r), &items[0]);
    assert_ptr_equal(ring_take(&r), &items[1]);
    assert_null(ring_take(&r));
    ring_fini(&r);
}

TEST(slot_is_kept_until_release)
{
    struct ring r;
    ring_init(&r, 1);
    assert_true(ring_stage(&r, &items[0]));
    ring_flush(&r);
    assert_ptr_equal(ring_take(&r), &items[0]);
    assert_false(ring_stage(&r, &items[1]));
    ring_release(&r);
    assert_true(ring_stage(&r, &items[1]));
    assert_true(ring_validate(&r));
    ring_fini(&r);
}

static void run_round(struct ring *r)
{
    for (int i = 0; i < 5; i++)
        assert_true(ring_stage(r, &items[i]));
    ring_flush(r);
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(ring_take(r), &items[i]);
    ring_release(r);
    assert_true(ring_validate(r));
}

TEST(indices_wrap)
{
    struct ring r;
    uint32_t near_the_end = UINT32_MAX - 12;
    ring_init(&r, 8);
    r.staged = r.head_seen = r.taken = r.tail_seen = near_the_end;
    atomic_store(&r.tail, near_the_end);
    atomic_store(&r.head, near_the_end);
    for (int i = 0; i < 10; i++)
        run_round(&r);
    ring_fini(&r);
}

static int init(void *arg)
{
    struct ring r;
    int result = ring_init(&r, 8);
    ring_fini(&r);
    return result;
}

TEST(without_memory)
{
    heap_fail_each(init, NULL);
}
