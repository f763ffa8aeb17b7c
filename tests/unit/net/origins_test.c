/* How many come from each address, and who has the most. */
#include "server/net/connection/origins.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static const uint64_t seed[2] = {42, 43};

static void joins(struct origins *c, uint64_t key, uint32_t times)
{
    while (times-- > 0)
        assert_int_equal(origins_join(c, key)->key, key);
}

static void leaves(struct origins *c, uint64_t key, uint32_t times)
{
    while (times-- > 0)
        origins_leave(c, origins_find(c, key));
}

TEST(each_address_is_counted_and_forgotten_at_zero)
{
    struct origins c;
    int64_t live = heap_live();

    origins_init(&c, seed);
    for (uint64_t key = 0; key < 5000; key++)
        joins(&c, key, 2);
    for (uint64_t key = 0; key < 5000; key++) {
        assert_int_equal(origins_find(&c, key)->count, 2);
        leaves(&c, key, 1);
        assert_int_equal(origins_find(&c, key)->count, 1);
        leaves(&c, key, 1);
        assert_null(origins_find(&c, key));
    }
    assert_int_equal(c.by_key.count, 0);
    assert_null(origins_largest(&c));
    assert_true(heap_live() <= live + 1); /* the buckets stay */
    joins(&c, 7, 1);
    heap_fail_at(1);
    assert_null(origins_join(&c, 8));
    assert_null(origins_find(&c, 8));
    origins_fini(&c);
    assert_int_equal(heap_live(), live);
}

/* Against a plain count. */
TEST(the_largest_is_known_at_any_time)
{
    enum { KEYS = 40, MOVES = 20000 };
    uint32_t counts[KEYS] = {0};
    uint64_t random = 1;
    struct origins c;

    origins_init(&c, seed);
    for (int i = 0; i < MOVES; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t key = (random >> 33) % KEYS;
        if (random >> 63 != 0 && counts[key] > 0) {
            leaves(&c, key, 1);
            counts[key]--;
        } else {
            joins(&c, key, 1);
            counts[key]++;
        }
        uint32_t most = 0;
        for (int k = 0; k < KEYS; k++)
            most = counts[k] > most ? counts[k] : most;
        assert_int_equal(most == 0 ? 0 : origins_largest(&c)->count, most);
    }
    origins_fini(&c);
}

TEST(of_equal_ones_the_older_is_the_largest)
{
    struct origins c;

    origins_init(&c, seed);
    joins(&c, 5, 2);
    joins(&c, 6, 2);
    assert_int_equal(origins_largest(&c)->key, 5);
    joins(&c, 6, 1);
    assert_int_equal(origins_largest(&c)->key, 6);
    leaves(&c, 6, 1);
    assert_int_equal(origins_largest(&c)->key, 5);
    origins_fini(&c);
}
