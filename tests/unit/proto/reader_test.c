#include "proto/reader.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/proto/hex.h"

static void int_is(const char *text, int64_t expected)
{
    struct hex h = hex(text);
    struct reader r = reader_of(hex_span(&h));
    int64_t v = 77;

    assert_true(read_int(&r, &v));
    assert_int_equal(v, expected);
    assert_true(reader_at_end(&r));
}

static void uint_is(const char *text, uint64_t expected)
{
    struct hex h = hex(text);
    struct reader r = reader_of(hex_span(&h));
    uint64_t v = 77;

    assert_true(read_uint(&r, &v));
    assert_int_equal(v, expected);
    assert_true(reader_at_end(&r));
}

TEST(integers_of_any_encoding)
{
    int_is("05", 5);
    int_is("cc 05", 5);
    int_is("cd 0005", 5);
    int_is("ce 00000005", 5);
    int_is("cf 0000000000000005", 5);
    int_is("d0 05", 5);
    int_is("d1 0005", 5);
    int_is("d2 00000005", 5);
    int_is("d3 0000000000000005", 5);
    int_is("ff", -1);
    int_is("e0", -32);
    int_is("d0 80", INT8_MIN);
    int_is("d1 8000", INT16_MIN);
    int_is("d2 80000000", INT32_MIN);
    int_is("d3 8000000000000000", INT64_MIN);
    uint_is("cf ffffffffffffffff", UINT64_MAX);
    uint_is("d3 7fffffffffffffff", INT64_MAX);
}

TEST(integral_floats_are_integers)
{
    int_is("ca 40a00000", 5);
    int_is("cb 4014000000000000", 5);
    int_is("cb c014000000000000", -5);
    int_is("cb c3e0000000000000", INT64_MIN);
    uint_is("cb 43e0000000000000", UINT64_C(1) << 63);
    uint_is("cb 8000000000000000", 0); /* -0.0 */
}

static void int_refuses(const char *text)
{
    struct hex h = hex(text);
    struct reader r = reader_of(hex_span(&h));
    int64_t i = 77;

    if (read_int(&r, &i))
        fail_msg("read_int took %s", text);
    assert_int_equal(i, 77);
    assert_ptr_equal(r.at, h.at);
}

static void uint_refuses(const char *text)
{
    struct hex h = hex(text);
    struct reader r = reader_of(hex_span(&h));
    uint64_t u = 77;

    if (read_uint(&r, &u))
        fail_msg("read_uint took %s", text);
    assert_int_equal(u, 77);
    assert_ptr_equal(r.at, h.at);
}

TEST(what_is_no_integer_is_refused)
{
    static const char *const neither[] = {
        "",
        "c0",
        "c3",
        "a1 '5'",
        "91 05",
        "c4 01 05",
        "cc",
        "d3 000000",
        "cb 4016000000000000" /* 5.5 */,
        "cb 7ff8000000000000" /* nan */,
        "cb 7ff0000000000000" /* inf */,
        "cb 43f0000000000000" /* 2^64 */,
        "c1",
    };
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++) {
        int_refuses(neither[i]);
        uint_refuses(neither[i]);
    }
    int_refuses("cf 8000000000000000");
    int_refuses("cb 43e0000000000000");
    uint_refuses("ff");
    uint_refuses("d0 80");
    uint_refuses("cb bff0000000000000"); /* -1.0 */
}

TEST(numbers_are_any_integer_or_float)
{
    struct hex h = hex("05 ff cb 4016000000000000 ca 3f800000 cf ffffffffffffffff c0");
    struct reader r = reader_of(hex_span(&h));
    double v[5];

    for (size_t i = 0; i < 5; i++)
        assert_true(read_number(&r, &v[i]));
    assert_true(v[0] == 5 && v[1] == -1 && v[2] == 5.5 && v[3] == 1 && v[4] == 0x1p64);
    assert_false(read_number(&r, &v[0]));
    assert_true(read_nil(&r));
    assert_true(reader_at_end(&r));
}

TEST(text_is_str_or_bin)
{
    static const char *const texts[] = {"a3 'abc'",          "d9 03 'abc'", "da 0003 'abc'",
                                        "db 00000003 'abc'", "c4 03 'abc'", "c5 0003 'abc'",
                                        "c6 00000003 'abc'"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hex h = hex(texts[i]);
        struct reader r = reader_of(hex_span(&h));
        struct span s;
        assert_true(read_text(&r, &s));
        assert_true(span_is(s, "abc"));
        assert_true(reader_at_end(&r));
    }
}

TEST(what_is_no_text_is_refused)
{
    static const char *const others[] = {
        "", "05", "c0", "91 a0", "80", "c7 01 05 00", "d4 01 00", "a3 'ab'", "d9 03 'ab'"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct hex h = hex(others[i]);
        struct reader r = reader_of(hex_span(&h));
        struct span s;
        assert_false(read_text(&r, &s));
        assert_ptr_equal(r.at, h.at);
    }
}

TEST(a_map_is_read_pair_by_pair)
{
    struct hex h = hex("de 0002 a1 'a' 93 01 02 03 c4 01 'b' c3");
    struct reader r = reader_of(hex_span(&h));
    uint32_t n;
    struct span key;
    struct span raw;
    bool b = false;

    assert_false(read_array(&r, &n));
    assert_true(read_map(&r, &n));
    assert_int_equal(n, 2);
    assert_true(read_text(&r, &key) && span_is(key, "a"));
    assert_true(read_any(&r, &raw));
    assert_int_equal(raw.len, 4);
    assert_true(read_text(&r, &key) && span_is(key, "b"));
    assert_true(read_bool(&r, &b) && b);
    assert_true(reader_at_end(&r));
    assert_false(read_any(&r, &raw));
    assert_false(read_bool(&r, &b));
    assert_false(read_nil(&r));
}

static void duration_is(const char *text, uint64_t expected)
{
    struct hex h = hex(text);
    struct reader r = reader_of(hex_span(&h));
    uint64_t ns = 77;

    if (!read_duration(&r, &ns))
        fail_msg("no duration: %s", text);
    assert_int_equal(ns, expected);
    assert_true(reader_at_end(&r));
}

TEST(durations_are_milliseconds_or_text)
{
    duration_is("00", 0);
    duration_is("05", 5000000);
    duration_is("d0 05", 5000000);
    duration_is("cb 3fe0000000000000", 500000); /* 0.5 */
    duration_is("cb 4014000000000000", 5000000);
    duration_is("a5 '250ms'", 250000000);
    duration_is("c4 04 '50us'", 50000);
}

TEST(what_is_no_duration_is_refused)
{
    static const char *const bad[] = {"ff",
                                      "cb bfe0000000000000",
                                      "cb 7ff8000000000000",
                                      "cb 7ff0000000000000",
                                      "cf ffffffffffffffff",
                                      "cb 43f0000000000000",
                                      "a1 '5'",
                                      "a3 '-5s'",
                                      "c0",
                                      "90",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hex h = hex(bad[i]);
        struct reader r = reader_of(hex_span(&h));
        uint64_t ns = 77;
        if (read_duration(&r, &ns))
            fail_msg("taken for a duration: %s", bad[i]);
        assert_int_equal(ns, 77);
        assert_ptr_equal(r.at, h.at);
    }
}

TEST(sizes_are_bytes_or_text)
{
    struct hex h = hex("cd 0400 a3 '64k' cb 4014000000000000 a1 '5' ff");
    struct reader r = reader_of(hex_span(&h));
    uint64_t n;
    int64_t i;

    assert_true(read_size(&r, &n) && n == 1024);
    assert_true(read_size(&r, &n) && n == 65536);
    assert_true(read_size(&r, &n) && n == 5);
    const uint8_t *at = r.at;
    assert_false(read_size(&r, &n));
    assert_ptr_equal(r.at, at);
    r.at += 2;
    assert_false(read_size(&r, &n));
    assert_true(read_int(&r, &i) && i == -1);
}

static void params_are(const char *text, uint32_t expected)
{
    struct hex h = hex(text);
    struct reader r;
    uint32_t count;

    read_params(hex_span(&h), &r, &count);
    assert_int_equal(count, expected);
    for (uint32_t i = 0; i < count; i++) {
        struct span raw;
        assert_true(read_any(&r, &raw));
    }
    assert_true(reader_at_end(&r));
}

TEST(params_may_be_a_bare_value)
{
    params_are("90", 0);
    params_are("92 01 a1 'x'", 2);
    params_are("dd 00000001 05", 1);
    params_are("c0", 0);
    params_are("05", 1);
    params_are("81 a1 'k' 91 05", 1);
    params_are("a3 'abc'", 1);
    params_are("", 0);
}
