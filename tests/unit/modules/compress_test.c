/* compress and decompress. */
#include "proto/encoder.h"
#include "proto/reader.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/modules/builtin_world.h"

enum {
    LARGE = 900000,  /* bytes; a message of the world has at most a mebibyte */
    HUGE = 16 << 20, /* bytes; beyond it */
};

static uint8_t plain[LARGE], params[BUILTIN_RESULT_MAX + 100];

static struct span call_of(struct span data)
{
    uint8_t *p = enc_bin(enc_array(params, 1), data);
    return span_of(params, (size_t)(p - params));
}

static struct span last_bytes(void)
{
    struct reader r = reader_of(span_of(builtin.result, builtin.result_len));
    struct span got;
    assert_true(read_text(&r, &got));
    return got;
}

/* Something that compresses, but not to nothing. */
static void fill_plain(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof plain; i++) {
        x = x * 1664525 + 1013904223;
        plain[i] = (uint8_t)('a' + (x >> 30));
    }
}

BUILTIN_TEST(there_and_back)
{
    fill_plain();
    assert_int_equal(builtin_call("compress", call_of(span_of(plain, sizeof plain))), 0);
    struct span packed = last_bytes();
    assert_true(packed.len < sizeof plain / 2);
    assert_int_equal(builtin_call("decompress", call_of(packed)), 0);
    builtin_expect_bytes(span_of(plain, sizeof plain));
}

BUILTIN_TEST(compress_without_memory)
{
    fill_plain();
    builtin_call_without_memory("compress", call_of(span_of(plain, 100000)));
}

BUILTIN_TEST(decompress_without_memory)
{
    fill_plain();
    assert_int_equal(builtin_call("compress", call_of(span_of(plain, sizeof plain))), 0);
    builtin_call_without_memory("decompress", call_of(last_bytes()));
    builtin_expect_bytes(span_of(plain, sizeof plain));
}

static unsigned looks;
static bool (*really_cancelled)(struct ergon_task *task);

/* The client changes its mind while the handler is at work. */
static bool cancel_at_the_second_look(struct ergon_task *task)
{
    if (++looks == 2)
        home_cancel(tasks_home(w.tasks, 0), tasks_world_find(w.begun));
    return really_cancelled(task);
}

BUILTIN_TEST(decompress_is_cancelled_in_the_middle)
{
    fill_plain();
    assert_int_equal(builtin_call("compress", call_of(span_of(plain, sizeof plain))), 0);
    struct span again = call_of(last_bytes());
    looks = 0;
    really_cancelled = builtin.host.cancelled;
    builtin.host.cancelled = cancel_at_the_second_look;
    assert_int_equal(builtin_call("decompress", again), -1);
    assert_int_equal(builtin.error, ERGON_E_CANCELLED);
    assert_int_equal(looks, 2); /* it did not go on */
    assert_int_equal(w.told[w.begun], 1);
}

BUILTIN_TEST(a_bomb_ends_at_the_limit)
{
    static uint8_t bomb[HUGE / 500];
    /* Sixteen members, each of a large piece: more than a message in all. */
    memset(plain, 0, sizeof plain);
    assert_int_equal(builtin_call("compress", call_of(span_of(plain, sizeof plain))), 0);
    struct span one = last_bytes();
    size_t len = 0;
    for (int i = 0; i < 16; i++, len += one.len) {
        assert_true(len + one.len <= sizeof bomb);
        memcpy(bomb + len, one.at, one.len);
    }
    assert_int_equal(builtin_call("decompress", call_of(span_of(bomb, len))), -1);
    builtin_expect_failure("TOO_LARGE", "1048576 bytes");
}
