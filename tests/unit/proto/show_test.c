/* Values as texts for people. */
#include <string.h>

#include "proto/show.h"
#include "tests/support/cmocka_env.h"

static char buf[64];

static const char *shown(const char *bytes, size_t len, uint32_t count, size_t size)
{
    struct reader r = reader_of(span_of(bytes, len));
    size_t n = show_values(&r, count, buf, size);
    assert_int_equal(n, strlen(buf));
    assert_true(n < size);
    return buf;
}
#define SHOWN(bytes, count, size) shown(bytes, sizeof bytes - 1, count, size)

TEST(values_are_shown_as_json)
{
    assert_string_equal(SHOWN("\xa1x", 1, 64), "\"x\"");
    assert_string_equal(SHOWN("\xa1x\x07\xff\xc0\xc3", 5, 64), "\"x\" 7 -1 nil true");
    assert_string_equal(SHOWN("\x82\xa1k\x01\xa1l\x92\x01\x02", 1, 64),
                        "{\"k\": 1, \"l\": [1, 2]}");
    assert_string_equal(SHOWN("\xd4\x05x", 1, 64), "(3 bytes)");
    assert_string_equal(SHOWN("", 0, 64), "");
}

TEST(what_does_not_fit_is_cut)
{
    assert_string_equal(SHOWN("\xaa"
                              "0123456789",
                              1, 12),
                        "\"0123456...");
    for (size_t size = 8; size < 40; size++)
        SHOWN("\x82\xa3key\xa9"
              "123456789\xa1l\x92\x01\xaa\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
              1, size);
}

TEST(what_steers_a_terminal_and_what_is_deep_does_no_harm)
{
    assert_string_equal(SHOWN("\xa3"
                              "a\x1b"
                              "b",
                              1, 64),
                        "\"a b\"");
    assert_string_equal(SHOWN("\x91\x91\x91\x91\x91\x91\x01", 1, 64), "[[[[(3 bytes)]]]]");
    assert_string_equal(SHOWN("\x92\x01", 1, 64), "[1, ...");
}
