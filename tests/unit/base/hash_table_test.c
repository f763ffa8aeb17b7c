#include "base/hash_table.h"

#include "base/siphash.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

enum { MANY = 5000 };

static struct hash_link links[MANY];

static void add_all(struct hash_table *t, uint64_t (*hash_of)(uint64_t i))
{
    hash_table_init(t);
    for (uint64_t i = 0; i < MANY; i++) {
        links[i].hash = hash_of(i);
        hash_add(t, &links[i]);
    }
    assert_int_equal(t->count, MANY);
}

static uint64_t counted_up(uint64_t i)
{
    return (UINT64_C(777) << 40) + i * 3;
}

static uint64_t scattered(uint64_t i)
{
    static const uint64_t seed[2] = {7, 11};
    return siphash(seed, span_of(&i, sizeof i));
}

TEST(a_table_with_room_for_all_is_as_any)
{
    struct hash_table t;
    hash_table_init(&t);
    for (uint32_t room = 1; room < MANY; room = room * 3 + 2) {
        hash_reserve(&t, room);
        const uint32_t size = t.size;
        assert_true(room < 16 || size == room);
        for (uint64_t i = 0; i < MANY; i++) {
            links[i].hash = scattered(i);
            hash_add(&t, &links[i]);
            assert_int_equal(t.size, i < size ? size : i + 1);
        }
        for (uint64_t i = 0; i < MANY; i++)
            assert_ptr_equal(hash_first(&t, scattered(i)), &links[i]);
        hash_reserve(&t, 2 * MANY); /* it is not empty */
        assert_int_equal(t.size, MANY);
        while (hash_pop(&t))
            ;
        assert_int_equal(t.count, 0);
        hash_table_fini(&t);
    }
}

TEST(a_table_without_memory_for_room_grows)
{
    struct hash_table t;
    hash_table_init(&t);
    heap_fail_at(1);
    hash_reserve(&t, MANY);
    assert_true(heap_failed());
    assert_int_equal(t.size, 1);
    links[0].hash = 7;
    hash_add(&t, &links[0]);
    assert_ptr_equal(hash_first(&t, 7), &links[0]);
    hash_table_fini(&t);
}

TEST(every_link_is_found_while_the_table_grows)
{
    struct hash_table t;
    hash_table_init(&t);
    for (uint64_t i = 0; i < MANY; i++) {
        links[i].hash = counted_up(i);
        assert_null(hash_first(&t, counted_up(i)));
        hash_add(&t, &links[i]);
        assert_ptr_equal(hash_first(&t, counted_up(i / 2)), &links[i / 2]);
    }
    for (uint64_t i = 0; i < MANY; i += 2)
        assert_true(hash_remove(&t, &links[i]));
    assert_int_equal(t.count, MANY / 2);
    for (uint64_t i = 0; i < MANY; i++)
        assert_ptr_equal(hash_first(&t, counted_up(i)), i % 2 ? &links[i] : NULL);
    hash_table_fini(&t);
}

TEST(links_of_one_hash_come_one_after_the_other)
{
    struct hash_link same[3] = {{.hash = 5}, {.hash = 5}, {.hash = 5}}, other = {.hash = 5 + 16};
    struct hash_table t;
    unsigned seen = 0;
    hash_table_init(&t);
    for (int i = 0; i < 3; i++)
        hash_add(&t, &same[i]);
    hash_add(&t, &other);
    for (struct hash_link *l = hash_first(&t, 5); l; l = hash_next(l))
        seen |= 1u << (l - same);
    assert_int_equal(seen, 7);
    hash_table_fini(&t);
}

TEST(one_that_is_not_inside_may_be_removed)
{
    struct hash_link in = {.hash = 1}, out = {.hash = 1};
    struct hash_table t;
    hash_table_init(&t);
    hash_add(&t, &in);
    assert_false(hash_remove(&t, &out));
    assert_true(hash_remove(&t, &in));
    assert_false(hash_remove(&t, &in));
    assert_int_equal(t.count, 0);
    hash_table_fini(&t);
}

/* No link that is added moves more than those of one bucket. */
TEST(a_bucket_more_moves_only_its_half)
{
    for (uint32_t size = 1; size < 200; size++) {
        struct hash_link *buckets[200];
        uint32_t split = size - (UINT32_C(1) << (31 - __builtin_clz(size)));
        struct hash_table before = {
            .buckets = buckets, .size = size, .mask = UINT32_MAX >> __builtin_clz(size)};
        struct hash_table after = {
            .buckets = buckets, .size = size + 1, .mask = UINT32_MAX >> __builtin_clz(size + 1)};
        for (uint64_t hash = 0; hash < 1000; hash++) {
            struct hash_link **old = hash_bucket(&before, hash), **new = hash_bucket(&after, hash);
            assert_true(old - buckets < size);
            assert_true(new == old || (new == &buckets[size] && old == &buckets[split]));
        }
    }
}

TEST(a_table_is_as_large_as_its_links_are_many)
{
    struct hash_table t;
    uint32_t longest = 0;
    add_all(&t, scattered);
    assert_in_range(t.size, MANY, MANY + 1);
    for (uint32_t b = 0; b < t.size; b++) {
        uint32_t length = 0;
        for (struct hash_link *l = t.buckets[b]; l; l = l->next)
            length++;
        longest = length > longest ? length : longest;
    }
    assert_in_range(longest, 1, 16);
    hash_table_fini(&t);
}

TEST(without_memory_chains_grow_longer)
{
    struct hash_table t;
    hash_table_init(&t);
    for (uint64_t i = 0; i < 100; i++) {
        links[i].hash = counted_up(i);
        heap_fail_at(1);
        hash_add(&t, &links[i]);
        heap_fail_at(0);
    }
    assert_int_equal(t.size, 1);
    for (uint64_t i = 0; i < 100; i++)
        assert_ptr_equal(hash_first(&t, counted_up(i)), &links[i]);
    hash_table_fini(&t);
}

TEST(a_table_is_emptied_link_by_link)
{
    static bool popped[MANY];
    int64_t live = heap_live();
    struct hash_table t;
    struct hash_link *l;
    add_all(&t, scattered);
    for (int i = 0; i < MANY / 2; i++) {
        l = hash_pop(&t);
        popped[l - links] = true;
    }
    for (uint64_t i = 0; i < MANY; i++)
        assert_true((hash_first(&t, scattered(i)) == NULL) == popped[i]);
    for (uint64_t i = 0; i < MANY; i++)
        if (popped[i])
            hash_add(&t, &links[i]);
    for (uint64_t i = 0; i < MANY; i++)
        assert_ptr_equal(hash_first(&t, scattered(i)), &links[i]);
    while (hash_pop(&t))
        ;
    assert_int_equal(t.count, 0);
    hash_table_fini(&t);
    assert_int_equal(heap_live(), live);
}
