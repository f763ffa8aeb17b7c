/* Blocks that grow without being copied, and go from hand to hand. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/block.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static void fill(const struct block *b, size_t from)
{
    for (size_t i = from; i < b->size; i++)
        ((uint8_t *)b->at)[i] = (uint8_t)(i * 31 >> 3);
}

static void assert_filled(const struct block *b, size_t to)
{
    for (size_t i = 0; i < to; i++)
        if (((uint8_t *)b->at)[i] != (uint8_t)(i * 31 >> 3))
            fail_msg("byte %zu is another", i);
}

TEST(its_bytes_stay_as_it_grows)
{
    struct block b = block_new(1);
    fill(&b, 0);
    for (size_t size = 3; size < (8 << 20); size = size * 3 / 2 + 1) {
        size_t before = b.size;
        assert_true(block_grow(&b, size));
        assert_int_equal(b.size, size);
        assert_filled(&b, before);
        fill(&b, before);
    }
    block_free(&b);
    assert_null(b.at);
    assert_int_equal(b.size, 0);
    block_free(&b);
}

static bool is_pages(const struct block *b)
{
    return (uintptr_t)b->at % (uintptr_t)sysconf(_SC_PAGESIZE) == 0;
}

/* Whatever malloc has learnt from what was freed before: it serves from what it keeps, which it
 * copies as it grows. */
TEST(a_long_one_is_pages_that_are_not_copied)
{
    for (int i = 0; i < 4; i++)
        free(malloc(16 << 20));
    int64_t live = heap_live();
    struct block b = block_new(BLOCK_PAGES - 1);
    assert_int_equal(heap_live(), live + 1);
    assert_true(block_grow(&b, BLOCK_PAGES));
    assert_int_equal(heap_live(), live);
    assert_true(is_pages(&b));
    for (size_t size = 1 << 20; size <= (16 << 20); size += 1 << 20) {
        assert_true(block_grow(&b, size));
        assert_int_equal(heap_live(), live);
        assert_true(is_pages(&b));
    }
    block_free(&b);
    b = block_new(BLOCK_PAGES);
    assert_int_equal(heap_live(), live);
    assert_true(is_pages(&b));
    block_free(&b);
}

/* A process may have only so many mappings. */
TEST(beyond_so_many_long_ones_are_not_pages)
{
    static struct block blocks[BLOCKS_OF_PAGES];
    for (unsigned i = 0; i < BLOCKS_OF_PAGES; i++)
        blocks[i] = block_new(BLOCK_PAGES);
    assert_true(blocks[BLOCKS_OF_PAGES - 1].pages);
    struct block b = block_new(BLOCK_PAGES), small = block_new(10);
    assert_true(b.at && !b.pages);
    fill(&b, 0);
    assert_true(block_grow(&b, 3 * BLOCK_PAGES) && !b.pages);
    assert_filled(&b, BLOCK_PAGES);
    block_trim(&b, BLOCK_PAGES);
    assert_int_equal(b.size, 3 * BLOCK_PAGES);
    assert_true(block_grow(&small, BLOCK_PAGES) && !small.pages);
    block_free(&blocks[0]);
    assert_true(block_grow(&b, 4 * BLOCK_PAGES) && b.pages);
    assert_filled(&b, BLOCK_PAGES);
    block_free(&b);
    block_free(&small);
    for (unsigned i = 1; i < BLOCKS_OF_PAGES; i++)
        block_free(&blocks[i]);
    b = block_new(BLOCK_PAGES);
    assert_true(b.pages);
    block_free(&b);
}

TEST(what_lies_beyond_is_given_back)
{
    struct block b = block_new(4 << 20);
    void *at = b.at;
    fill(&b, 0);
    block_trim(&b, 1000001);
    assert_ptr_equal(b.at, at);
    assert_int_equal(b.size, 1000001);
    assert_filled(&b, b.size);
    assert_true(block_grow(&b, 2 << 20));
    assert_filled(&b, 1000001);
    block_trim(&b, 10);
    assert_int_equal(b.size, BLOCK_PAGES);
    block_free(&b);
    b = block_new(100);
    block_trim(&b, 10);
    assert_int_equal(b.size, 100);
    block_free(&b);
}

TEST(without_memory_it_stays)
{
    static const size_t sizes[] = {10, BLOCK_PAGES - 10, BLOCK_PAGES, 2 * BLOCK_PAGES};
    for (size_t i = 0; i + 1 < sizeof sizes / sizeof sizes[0]; i++) {
        heap_fail_at(1);
        assert_null(block_new(sizes[i]).at);
        struct block b = block_new(sizes[i]);
        fill(&b, 0);
        heap_fail_at(1);
        assert_false(block_grow(&b, sizes[i + 1]));
        assert_int_equal(b.size, sizes[i]);
        assert_filled(&b, sizes[i]);
        assert_true(block_grow(&b, sizes[i + 1]));
        assert_filled(&b, sizes[i]);
        block_free(&b);
    }
}
