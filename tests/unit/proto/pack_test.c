/* Blobs within what is packed: copied when small, shared when large, always at their place. */
#include <stdlib.h>

#include "proto/pack.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static struct blob *value(size_t len)
{
    uint8_t *block = malloc(len);
    memset(block, 0x2a, len);
    return blob_take(block, len);
}

TEST(a_small_value_is_copied)
{
    struct pack p;
    struct blob *b = value(PACK_SHARED_MIN - 1);
    pack_init(&p);
    pack_blob(&p, b);
    assert_int_equal(b->refs, 1);
    assert_int_equal(p.share_count, 0);
    assert_int_equal(pack_bytes(&p).len, PACK_SHARED_MIN - 1);
    pack_fini(&p);
    blob_unref(b);
}

TEST(a_small_value_takes_little_memory)
{
    struct pack p;
    pack_init(&p);
    pack_uint(&p, 7);
    assert_in_range(p.buffer.alloc, 1, 128);
    for (uint32_t i = 0; i < 1000; i++)
        pack_uint(&p, 7);
    assert_int_equal(pack_bytes(&p).len, 1001);
    pack_fini(&p);
}

TEST(large_values_are_shared_and_keep_their_places)
{
    struct pack p;
    struct blob *a = value(PACK_SHARED_MIN), *b = value(3 * PACK_SHARED_MIN);
    pack_init(&p);
    pack_array(&p, 4);
    pack_blob(&p, a);
    pack_uint(&p, 7);
    pack_blob(&p, b);
    pack_blob(&p, a);
    assert_int_equal(a->refs, 3);
    assert_int_equal(b->refs, 2);
    assert_int_equal(pack_size(&p), 2 + 5 * PACK_SHARED_MIN);
    assert_int_equal(p.share_count, 3);
    assert_ptr_equal(p.shares[1].blob, b);
    assert_true(span_is(pack_part(&p, 0), "\x94"));
    assert_true(span_is(pack_part(&p, 1), "\x07"));
    assert_int_equal(pack_part(&p, 2).len, 0);
    assert_int_equal(pack_part(&p, 3).len, 0);
    pack_fini(&p);
    assert_int_equal(a->refs + b->refs, 2);
    blob_unref(a);
    blob_unref(b);
}

TEST(without_memory_for_a_share_it_has_failed)
{
    struct pack p;
    struct blob *b = value(PACK_SHARED_MIN);
    pack_init(&p);
    heap_fail_at(1);
    pack_blob(&p, b);
    assert_true(p.failed);
    assert_int_equal(b->refs, 1);
    pack_fini(&p);
    blob_unref(b);
}
