#include "base/recorder.h"

#include <pthread.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

/* A word of the tests: its own place, so that whoever reads it knows whether it belongs there. */
static uint64_t word_of(uint64_t place)
{
    return RECORDER_TASK | place;
}

static void put_upto(struct recorder *r, uint64_t count)
{
    for (uint64_t i = recorder_written(r); i < count; i++)
        recorder_put(r, word_of(i));
}

TEST(a_new_one_has_nothing)
{
    struct recorder *r = recorder_new();
    uint64_t from = 0, out[4];
    assert_int_equal(recorder_written(r), 0);
    assert_int_equal(recorder_copy(r, &from, UINT64_MAX, out, 4), 0);
    recorder_free(r);
}

TEST(words_are_copied_in_their_order_and_in_parts)
{
    struct recorder *r = recorder_new();
    uint64_t from = 0, out[4];
    put_upto(r, 6);
    assert_int_equal(recorder_copy(r, &from, UINT64_MAX, out, 4), 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(out[i], word_of(i));
    from = 4;
    assert_int_equal(recorder_copy(r, &from, 5, out, 4), 1);
    assert_int_equal(out[0], word_of(4));
    from = 6;
    assert_int_equal(recorder_copy(r, &from, UINT64_MAX, out, 4), 0);
    recorder_free(r);
}

/* The very oldest may be just being overwritten, so it is left out. */
TEST(of_a_full_ring_all_but_the_oldest_are_copied)
{
    static uint64_t out[RECORDER_WORDS];
    struct recorder *r = recorder_new();
    uint64_t from = 0, count = 3 * (uint64_t)RECORDER_WORDS + 17;
    put_upto(r, count);
    assert_int_equal(recorder_copy(r, &from, UINT64_MAX, out, RECORDER_WORDS), RECORDER_WORDS - 1);
    assert_int_equal(from, count - RECORDER_WORDS + 1);
    for (uint64_t i = 0; i < RECORDER_WORDS - 1; i++)
        assert_int_equal(out[i], word_of(from + i));
    recorder_free(r);
}

TEST(one_clock_after_another_is_one)
{
    struct recorder *r = recorder_new();
    uint64_t from = 0, out[8];
    recorder_clock(r, 100);
    recorder_clock(r, 200);
    assert_int_equal(recorder_written(r), 1);
    recorder_task(r, recorder_method(3), 7);
    recorder_clock(r, 300);
    assert_int_equal(recorder_copy(r, &from, UINT64_MAX, out, 8), 3);
    assert_int_equal(out[0], (uint64_t)RECORDER_CLOCK << RECORDER_VALUE_BITS | 200);
    assert_int_equal(out[1], RECORDER_TASK | UINT64_C(3) << RECORDER_NUMBER_BITS | 7);
    assert_int_equal(out[2], (uint64_t)RECORDER_CLOCK << RECORDER_VALUE_BITS | 300);
    recorder_free(r);
}

TEST(what_is_too_large_is_the_largest)
{
    struct recorder *r = recorder_new();
    uint64_t from = 0, out[3];
    recorder_note(r, RECORDER_SLEPT, UINT64_MAX);
    recorder_span(r, RECORDER_RUN, UINT64_MAX, UINT64_MAX);
    assert_int_equal(recorder_copy(r, &from, UINT64_MAX, out, 3), 2);
    assert_int_equal(out[0], (uint64_t)RECORDER_SLEPT << RECORDER_VALUE_BITS | RECORDER_VALUE_MAX);
    assert_int_equal(out[1] & RECORDER_SPAN_MAX, RECORDER_SPAN_MAX);
    assert_int_equal(out[1] >> RECORDER_VALUE_BITS, RECORDER_RUN);
    assert_int_equal(recorder_method(1000000), recorder_method(RECORDER_METHODS));
    recorder_free(r);
}

enum { LAPS = 40, PART = 512 };

static void *write_laps(void *arg)
{
    put_upto(arg, (uint64_t)LAPS * RECORDER_WORDS);
    return NULL;
}

/* Whatever the writer overwrites meanwhile: no word is taken for that of another place. */
TEST(who_reads_beside_the_writer_gets_each_word_at_its_place)
{
    struct recorder *r = recorder_new();
    pthread_t writer;
    uint64_t out[PART], end = (uint64_t)LAPS * RECORDER_WORDS, seen = 0;
    assert_int_equal(pthread_create(&writer, NULL, write_laps, r), 0);
    for (uint64_t from = 0; from < end;) {
        uint32_t count = recorder_copy(r, &from, UINT64_MAX, out, PART);
        for (uint32_t i = 0; i < count; i++)
            if (out[i] != word_of(from + i))
                fail_msg("place %lu holds %lx", (unsigned long)(from + i), (unsigned long)out[i]);
        from += count;
        seen += count;
    }
    pthread_join(writer, NULL);
    assert_true(seen > 0);
    recorder_free(r);
}
