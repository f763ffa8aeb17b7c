/* The pure parts of libergon: URL, back-off, buffer, table of calls. */
/* Both in one file, for a module may be a client too; and before cmocka, which defines fail(). */
#include <ergon/client.h>
#include <ergon/handler.h>

#include "client/lib/backoff.h"
#include "client/lib/calls.h"
#include "client/lib/buffer.h"
#include "tests/support/cmocka_env.h"

/* ---- back-off ---- */

TEST(the_delay_doubles_up_to_its_limit)
{
    for (uint32_t random = 0; random < 20000; random += 77) {
        for (uint32_t attempt = 0; attempt < 80; attempt++) {
            uint64_t full = attempt < 10 ? UINT64_C(100) << attempt : 10000;
            uint32_t delay = backoff_delay(attempt, 100, 10000, random);
            full = full > 10000 ? 10000 : full;
            assert_in_range(delay, full / 2, full);
        }
    }
    assert_int_equal(backoff_delay(0, 100, 10000, 0), 50);
    assert_int_equal(backoff_delay(0, 100, 10000, 50), 100);
    assert_in_range(backoff_delay(UINT32_MAX, UINT32_MAX, UINT32_MAX, 12345), UINT32_MAX / 2,
                    UINT32_MAX);
}

/* ---- buffer ---- */

TEST(bytes_leave_a_buffer_as_they_came)
{
    struct buffer b = {0};
    uint32_t in = 0;
    uint32_t out = 0;
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < round % 97; i++, in++)
            assert_true(buffer_append(&b, span_of(&in, sizeof in)));
        for (int i = 0; i < round % 89 && buffer_length(&b) > 0; i++, out++) {
            uint32_t first;
            memcpy(&first, buffer_span(&b).at, sizeof first);
            assert_int_equal(first, out);
            buffer_drop(&b, sizeof first);
        }
    }
    assert_int_equal(buffer_length(&b), (in - out) * sizeof in);
    buffer_fini(&b);
    assert_null(b.at);
}

TEST(an_empty_buffer_gives_a_large_block_back)
{
    struct buffer b = {0};
    assert_non_null(buffer_reserve(&b, 1 << 20));
    buffer_filled(&b, 1 << 20);
    buffer_drop(&b, 1 << 20);
    assert_int_equal(b.cap, 0);
    assert_null(buffer_reserve(&b, SIZE_MAX));
}

/* ---- table of calls ---- */

TEST(calls_are_found_by_both_ids)
{
    enum { COUNT = 1000 };
    static struct call calls[COUNT];
    struct calls t;
    call_table_init(&t);
    for (size_t i = 0; i < COUNT; i++) {
        calls[i] = (struct call){.id = calls_next_id(&t), .place = CALL_WAITING};
        calls_add(&t, &calls[i]);
    }
    assert_int_equal(t.counts[CALL_WAITING], COUNT);
    for (size_t i = 0; i < COUNT; i += 2)
        calls_sent(&t, &calls[i]);
    assert_int_equal(t.counts[CALL_IN_FLIGHT], COUNT / 2);
    for (size_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(calls_by_id(&t, calls[i].id), &calls[i]);
        assert_ptr_equal(calls_by_message(&t, (uint32_t)calls[i].id), &calls[i]);
        assert_null(calls_by_id(&t, calls[i].id + (UINT64_C(1) << 32)));
        calls_remove(&t, &calls[i]);
        assert_null(calls_by_id(&t, calls[i].id));
    }
    assert_int_equal(t.counts[CALL_IN_FLIGHT], 0);
    call_table_fini(&t);
}

TEST(message_ids_in_use_are_not_given_again)
{
    struct call old = {.place = CALL_IN_FLIGHT};
    struct calls t;
    call_table_init(&t);
    old.id = calls_next_id(&t);
    calls_add(&t, &old);
    t.last_id = (UINT64_C(1) << 32); /* the next would end in the same 32 bits */
    assert_int_equal(calls_next_id(&t), (UINT64_C(1) << 32) + 2);
    calls_remove(&t, &old);
    call_table_fini(&t);
}
