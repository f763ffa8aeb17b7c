/* Shared bytes: freed with the last reference, together with their other form. */
#include <stdlib.h>

#include "base/blob.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

TEST(bytes_stay_until_the_last_reference_goes)
{
    int64_t before = heap_live();
    char text[] = "what was said";
    struct blob *b = blob_copy(span_text(text));
    text[0] = 'W';
    assert_ptr_equal(blob_ref(b), b);
    blob_unref(b);
    assert_true(span_is(blob_bytes(b), "what was said"));
    blob_release(b);
    assert_int_equal(heap_live(), before);
    blob_unref(NULL);
}

TEST(a_block_is_taken_over_and_not_copied)
{
    int64_t before = heap_live();
    uint8_t *block = malloc(100);
    struct blob *b = blob_take(block, 40);
    assert_ptr_equal(blob_bytes(b).at, block);
    assert_int_equal(blob_bytes(b).len, 40);
    assert_true(blob_size(b) > 40);
    blob_unref(b);
    assert_int_equal(heap_live(), before);
}

TEST(nothing_is_also_something)
{
    struct blob *b = blob_copy((struct span){0});
    assert_int_equal(blob_bytes(b).len, 0);
    blob_unref(b);
}

TEST(the_first_twin_is_kept_and_goes_with_it)
{
    int64_t before = heap_live();
    struct blob *b = blob_copy(span_text("one form"));
    struct blob *twin = blob_copy(span_text("another"));
    assert_null(blob_twin(b));
    assert_ptr_equal(blob_keep_twin(b, twin), twin);
    assert_ptr_equal(blob_keep_twin(b, blob_copy(span_text("late"))), twin);
    assert_ptr_equal(blob_twin(b), twin);
    blob_unref(b);
    assert_int_equal(heap_live(), before);
}

TEST(without_memory_there_is_none_and_the_block_stays_the_callers)
{
    uint8_t block[8];
    heap_fail_at(1);
    assert_null(blob_copy(span_text("text")));
    heap_fail_at(1);
    assert_null(blob_take(block, sizeof block));
}
