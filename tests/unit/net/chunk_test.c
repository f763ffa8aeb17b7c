/* Output chains: order, partial writes, blocks handed over, and what becomes of the memory. */
#include <stdlib.h>
#include <string.h>

#include "server/net/connection/chunk.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static int released;

static void release(void *block)
{
    released++;
    free(block);
}

static void put(struct chunk_chain *chain, struct chunk_pool *pool, uint8_t byte, size_t len)
{
    uint8_t *p = chunk_reserve(chain, pool, len + 10); /* never all that was reserved */

    memset(p, byte, len);
    chunk_commit(chain, p + len);
}

/* Takes the chain's bytes in writes of `piece`, and compares. */
static void expect_bytes(struct chunk_chain *chain, struct chunk_pool *pool, const uint8_t *bytes,
                         size_t len, size_t piece)
{
    struct iovec parts[4];
    size_t at = 0;

    assert_int_equal(chain->bytes, len);
    while (chain->bytes > 0) {
        size_t done = 0;
        int count = chunk_parts(chain, parts, 4);
        assert_true(count > 0);
        for (int i = 0; i < count && done < piece; i++) {
            size_t n = parts[i].iov_len < piece - done ? parts[i].iov_len : piece - done;
            assert_memory_equal(parts[i].iov_base, bytes + at + done, n);
            done += n;
        }
        at += done;
        chunk_consume(chain, pool, done);
    }
    assert_int_equal(at, len);
    assert_null(chain->last);
}

TEST(bytes_come_out_in_order)
{
    static const size_t pieces[] = {1, 7, 2000, 1000000};
    static uint8_t expected[40000];
    struct chunk_pool pool = {0};

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct chunk_chain chain = {0};
        size_t len = 0;
        for (uint8_t k = 1; k <= 50; k++) {
            size_t n = k % 10 == 0 ? 3000u : k * 7u;
            put(&chain, &pool, k, n);
            memset(expected + len, k, n);
            len += n;
        }
        expect_bytes(&chain, &pool, expected, len, pieces[i]);
    }
    chunk_pool_fini(&pool);
}

TEST(blocks_are_released_when_written)
{
    struct chunk_pool pool = {0};
    struct chunk_chain chain = {0};
    uint8_t *block = malloc(100);
    uint8_t expected[110];

    released = 0;
    memset(block, 2, 100);
    put(&chain, &pool, 1, 5);
    assert_true(chunk_append_block(&chain, block, span_of(block, 100), release));
    put(&chain, &pool, 3, 5);
    memset(expected, 1, 5);
    memset(expected + 5, 2, 100);
    memset(expected + 105, 3, 5);
    expect_bytes(&chain, &pool, expected, 110, 50);
    assert_int_equal(released, 1);

    block = malloc(1);
    assert_true(chunk_append_block(&chain, block, span_of(block, 1), release));
    chunk_drop_all(&chain, &pool);
    assert_int_equal(released, 2);
    chunk_pool_fini(&pool);
}

TEST(bytes_of_another_are_copied_when_they_are_to_go)
{
    struct chunk_pool pool = {0};
    struct chunk_chain chain = {0};
    uint8_t own[60], expected[100];
    int64_t before = heap_live();

    memset(own, 'b', sizeof own);
    memset(expected, 'a', 40);
    memset(expected + 40, 'b', 60);
    put(&chain, &pool, 'a', 50);
    assert_true(chunk_append_block(&chain, NULL, span_of(own, sizeof own), NULL));
    chunk_consume(&chain, &pool, 10);
    heap_fail_at(1);
    assert_false(chunk_keep(&chain));
    assert_true(chunk_keep(&chain));
    memset(own, 'x', sizeof own);
    expect_bytes(&chain, &pool, expected, sizeof expected, 7);
    chunk_pool_fini(&pool);
    assert_int_equal(heap_live(), before);
}

TEST(a_pool_keeps_a_bounded_number)
{
    struct chunk_pool pool = {0};
    struct chunk_chain chain = {0};
    int64_t live = heap_live();

    for (int i = 0; i < CHUNK_POOL + 100; i++)
        put(&chain, &pool, 1, CHUNK_SIZE - sizeof(struct chunk) - 10);
    chunk_drop_all(&chain, &pool);
    assert_int_equal(pool.count, CHUNK_POOL);
    assert_int_equal(heap_live() - live, CHUNK_POOL);
    put(&chain, &pool, 1, 1);
    assert_int_equal(heap_live() - live, CHUNK_POOL); /* from the pool */
    chunk_drop_all(&chain, &pool);
    chunk_pool_fini(&pool);
    assert_int_equal(heap_live(), live);
}

TEST(without_memory_nothing_changes)
{
    struct chunk_pool pool = {0};
    struct chunk_chain chain = {0};
    uint8_t byte = 0;

    put(&chain, &pool, 1, 10);
    heap_fail_at(1);
    assert_null(chunk_reserve(&chain, &pool, 5000));
    heap_fail_at(1);
    assert_false(chunk_append_block(&chain, &byte, span_of(&byte, 1), release));
    heap_fail_at(0);
    assert_int_equal(chain.bytes, 10);
    chunk_drop_all(&chain, &pool);
    chunk_pool_fini(&pool);
}
