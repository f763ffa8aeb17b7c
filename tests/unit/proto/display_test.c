/* Packed values for people: hostile and huge ones, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proto/display.h"
#include "tests/support/cmocka_env.h"

static char shown[DISPLAY_MAX + 1];

static const char *show(struct span value)
{
    uint32_t work = 0;
    size_t len = display_value(value, shown, &work);
    assert_true(len <= DISPLAY_MAX);
    assert_true(utf8_valid(span_of(shown, len)));
    shown[len] = '\0';
    assert_int_equal(strlen(shown), len);
    return shown;
}
#define SHOWN(bytes) show(span_of(bytes, sizeof bytes - 1))

TEST(values_are_json_on_one_line)
{
    assert_string_equal(SHOWN("\x95\x01\xff\xa1x\xc0\xc3"), "[1, -1, \"x\", null, true]");
    assert_string_equal(SHOWN("\x82\xa1k\x90\x05\x80"), "{\"k\": [], 5: {}}");
    assert_string_equal(SHOWN("\xcb\x3f\xf8\0\0\0\0\0\0"), "1.5");
    assert_string_equal(SHOWN("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.1");
    assert_string_equal(SHOWN("\xcb\x40\x14\0\0\0\0\0\0"), "5.0");
    assert_string_equal(SHOWN("\xca\x7f\xc0\0\0"), "nan");
    assert_string_equal(SHOWN("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615");
    assert_string_equal(SHOWN("\xd3\x80\0\0\0\0\0\0\0"), "-9223372036854775808");
}

TEST(bytes_are_hexadecimal_with_their_length)
{
    assert_string_equal(SHOWN("\xc4\x02\x89P"), "h'8950' (2 bytes)");
    assert_string_equal(SHOWN("\xa2\xff\xfe"), "h'fffe' (2 bytes)"); /* no UTF-8 */
    assert_string_equal(SHOWN("\xd4\x05\x07"), "ext(5, h'07' (1 bytes))");
    assert_string_equal(SHOWN("\xc7\x01\xff\x08"), "ext(-1, h'08' (1 bytes))");
    static uint8_t value[5 + 1000] = {0xc6, 0, 0, 0x03, 0xe8, 0xab};
    show(span_of(value, sizeof value));
    assert_memory_equal(shown, "h'ab00", 6);
    assert_string_equal(strstr(shown, "\u2026"), "\u2026' (1000 bytes)");
}

TEST(what_would_steer_a_terminal_is_escaped)
{
    assert_string_equal(SHOWN("\xa5\x1b[0m\n"), "\"\\u001b[0m\\n\"");
    assert_string_equal(SHOWN("\xa3\xe2\x80\xae"), "\"\\u202e\"");
    assert_string_equal(SHOWN("\xa4\"\\</"), "\"\\\"\\\\</\"");
    assert_string_equal(SHOWN("\x81\xa1\x07\x01"), "{\"\\u0007\": 1}");
}

/* An array of so many elements of this one. */
static struct span many(uint32_t count, const char *element)
{
    static uint8_t bytes[5 + 2000000];
    size_t len = strlen(element);
    assert_true(5 + count * len <= sizeof bytes);
    bytes[0] = 0xdd;
    for (int i = 0; i < 4; i++)
        bytes[1 + i] = (uint8_t)(count >> (24 - 8 * i));
    for (uint32_t i = 0; i < count; i++)
        memcpy(bytes + 5 + i * len, element, len);
    return span_of(bytes, 5 + count * len);
}

TEST(a_text_is_cut_at_a_character_and_says_so)
{
    show(many(1000000, "\x01"));
    assert_in_range(strlen(shown), DISPLAY_MAX - 8, DISPLAY_MAX);
    assert_string_equal(shown + strlen(shown) - 3, "\u2026");
    show(many(100000, "\xa3\xe2\x82\xac"));
    assert_in_range(strlen(shown), DISPLAY_MAX - 16, DISPLAY_MAX);
    assert_string_equal(shown + strlen(shown) - 3, "\u2026");
    show(many(100, "\x91\x91\x91\x91\x90"));
    assert_memory_equal(shown + strlen(shown) - 1, "]", 1);
}

TEST(a_long_string_leaves_room_for_the_others)
{
    static uint8_t value[1 + 5 + 100000 + 1] = {0x92, 0xdb, 0x00, 0x01, 0x86, 0xa0};
    memset(value + 6, 'x', 100000);
    value[sizeof value - 1] = 7;
    show(span_of(value, sizeof value));
    assert_string_equal(strstr(shown, "\u2026"), "\u2026\" (100000 bytes), 7]");
}

TEST(levels_are_bounded)
{
    static uint8_t value[100];
    memset(value, 0x91, sizeof value - 1);
    show(span_of(value, sizeof value));
    assert_string_equal(shown + strlen(shown) - 4, "[\u2026");
}

/* --- Search --- */

static bool finds_in(struct span value, const char *text)
{
    struct search s;
    enum search_outcome all, parts = SEARCH_MORE;
    struct search_place place = {0}, again = {0};
    int64_t work = INT64_MAX;
    search_init(&s, span_text(text));
    all = search_value(&s, value, &place, &work);
    assert_true(all != SEARCH_MORE);
    for (int steps = 0; parts == SEARCH_MORE; steps++) {
        work = 1;
        assert_true(steps < 3000000);
        parts = search_value(&s, value, &again, &work);
    }
    assert_int_equal(all, parts);
    return all == SEARCH_YES;
}

TEST(strings_and_keys_are_found_at_any_depth)
{
    static const char bytes[] = "\x94\xa8order-17\x81\xa8"
                                "customer\x94\xa3"
                                "Ada\x0c\xfd"
                                "\xcb\x3f\xf8\0\0\0\0\0\0\xc3\xc0";
    struct span value = span_of(bytes, sizeof bytes - 1);
    static const char *const there[] = {"order-17", "rder", "customer", "Ada", "a",
                                        "12",       "-3",   "1.5",      "17",  "-"};
    static const char *const not_there[] = {"ada", "Ada1", "true", "nil", "3",
                                            "-12", "012",  "+12",  "2",   "order-18"};
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        if (!finds_in(value, there[i]))
            fail_msg("%s", there[i]);
    for (size_t i = 0; i < sizeof not_there / sizeof not_there[0]; i++)
        if (finds_in(value, not_there[i]))
            fail_msg("%s", not_there[i]);
}

TEST(numbers_are_found_by_their_whole_text)
{
    assert_true(
        finds_in(span_of("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9), "18446744073709551615"));
    assert_true(finds_in(span_of("\xd3\x80\0\0\0\0\0\0\0", 9), "-9223372036854775808"));
    assert_false(finds_in(span_of("\xd3\x80\0\0\0\0\0\0\0", 9), "9223372036854775808"));
    assert_true(finds_in(span_of("\x00", 1), "0"));
    assert_false(finds_in(span_of("\x00", 1), "-0"));
    assert_true(finds_in(span_of("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", 9), "0.1"));
    assert_true(finds_in(span_of("\xca\x7f\xc0\0\0", 5), "nan"));
    assert_false(finds_in(span_of("\xca\x7f\xc0\0\0", 5), "-nan"));
    assert_true(finds_in(span_of("\xca\x3f\xc0\0\0", 5), "1.5"));
    assert_false(finds_in(span_of("\xca\x3f\xc0\0\0", 5), "1.50"));
    assert_true(finds_in(span_of("\xca\x3d\xcc\xcc\xcd", 5), "0.10000000149011612"));
    assert_true(finds_in(span_of("\xcb\x80\0\0\0\0\0\0\0", 9), "-0.0"));
    assert_false(finds_in(span_of("\xcb\x80\0\0\0\0\0\0\0", 9), "0.0"));
    assert_true(finds_in(span_of("\xcb\xff\xf0\0\0\0\0\0\0", 9), "-inf"));
    assert_false(finds_in(span_of("\xd4\x05\x31", 3), "1")); /* of another's making */
}

/* The heads of values are no text: a length of 65 is no 'A'. */
TEST(what_is_between_the_values_is_not_found)
{
    assert_false(finds_in(span_of("\x91\xcc\x41", 3), "A"));
    assert_false(finds_in(span_of("\x92\xa1x\xa1y", 5), "xy"));
    assert_false(finds_in(span_of("\x92\xa1x\xa1y", 5), "x\xa1y"));
    assert_true(finds_in(span_of("\xc4\x03\x00\xff\x41", 5), "\xff\x41"));
}

TEST(a_text_is_found_where_two_chunks_meet)
{
    enum { LENGTH = 3 * 4096 };
    static uint8_t value[5 + LENGTH] = {0xdb, 0, 0, 0x30, 0};
    for (size_t at = 4000; at < 4200; at += 3) {
        memset(value + 5, 'x', LENGTH);
        memcpy(value + 5 + at, "needle", 6);
        assert_true(finds_in(span_of(value, sizeof value), "needle"));
        value[5 + at + 5] = 'x';
        assert_false(finds_in(span_of(value, sizeof value), "needle"));
    }
}

TEST(a_search_stops_when_its_work_is_done)
{
    struct search s;
    struct search_place place = {0};
    search_init(&s, span_text("y"));
    struct span value = many(1000000, "\xa1x");
    int64_t work = 100000;
    assert_int_equal(search_value(&s, value, &place, &work), SEARCH_MORE);
    assert_in_range(place.at, 100, 100000);
    assert_true(work <= 0);
}
