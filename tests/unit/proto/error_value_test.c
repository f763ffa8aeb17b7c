/* What the error of a response says, in each of its shapes and in none. */
#include "proto/error_value.h"

#include "tests/support/cmocka_env.h"

static void check(struct span raw, const char *code, const char *text)
{
    struct error_value said;
    memset(&said, 'x', sizeof said);
    error_value_read(raw, &said);
    assert_string_equal(said.code, code);
    assert_string_equal(said.text, text);
}

/* A constant without its NUL. */
#define CHECK_ERROR(raw, code, text) check(span_of((raw), sizeof(raw) - 1), code, text)

TEST(a_text_names_its_code_before_a_colon)
{
    CHECK_ERROR("\xaa"
                "BUSY: full",
                "BUSY", "full");
    CHECK_ERROR("\xc4\x0a" /* bytes, of who knows no text */
                "BUSY: full",
                "BUSY", "full");
    CHECK_ERROR("\xa3"
                "A:b",
                "A", "b");
    CHECK_ERROR("\xa2"
                "A:",
                "A", "");
    CHECK_ERROR("\xa9no colons", "", "no colons");
    CHECK_ERROR("\xa8me: text", "", "me: text");
    CHECK_ERROR("\xa5"
                "1A: b",
                "", "1A: b");
    CHECK_ERROR("\xa3: b", "", ": b");
    CHECK_ERROR("\xa0", "", "");
}

TEST(a_pair_has_a_number_or_the_code)
{
    CHECK_ERROR("\x92\x02\xaa"
                "BUSY: full",
                "BUSY", "full");
    CHECK_ERROR("\x92\xd1\x80\x00\xa4"
                "full",
                "", "full");
    CHECK_ERROR("\x92\xa4"
                "BUSY\xa4"
                "full",
                "BUSY", "full");
    CHECK_ERROR("\x92\xa4"
                "BUSY\xa7"
                "A: full", /* only one of them is the code */
                "BUSY", "A: full");
    CHECK_ERROR("\x92\xa3low\xa4"
                "full",
                "", "low: full");
    CHECK_ERROR("\x92\xa0\xa4"
                "full",
                "", "full");
}

TEST(a_map_has_code_and_message)
{
    CHECK_ERROR("\x83\xa4"
                "code\xa4"
                "BUSY\xa4"
                "data\x91\x01\xa7message\xa4"
                "full",
                "BUSY", "full");
    CHECK_ERROR("\x82\x05\x06\xa7message\xa4"
                "full",
                "", "full");
    CHECK_ERROR("\x82\xa4"
                "code\x05\xa7message\xa4"
                "full",
                "", "full");
    CHECK_ERROR("\x81\xa4"
                "code\xa4"
                "BUSY",
                "BUSY", "");
    CHECK_ERROR("\x82\xa4"
                "code\xa3low\xa7message\xa4"
                "full",
                "", "low: full");
}

TEST(a_map_with_a_number_names_its_code_in_the_message)
{
    CHECK_ERROR("\x82\xa4"
                "code\x02\xa7message\xaa"
                "BUSY: full",
                "BUSY", "full");
}

TEST(what_has_no_shape_says_so)
{
    static const char none[] = "an error value that is no text";
    CHECK_ERROR("\x05", "", none);
    CHECK_ERROR("\xc3", "", none);
    CHECK_ERROR("\x90", "", none);
    CHECK_ERROR("\x80", "", none);
    CHECK_ERROR("\x93\x01\xa1"
                "a\xa1"
                "b",
                "", none);
    CHECK_ERROR("\x92\xa1"
                "A\x05",
                "", none);
    CHECK_ERROR("\x81\xa4"
                "data\xa1"
                "A",
                "", none);
    CHECK_ERROR("\x82\xa4"
                "code\xa1"
                "A", /* a map that ends before its time */
                "", none);
    check(span_of(NULL, 0), "", none);
}

TEST(a_text_cannot_steer_a_terminal)
{
    CHECK_ERROR("\xa5"
                "A: \n\x1b",
                "A", "  ");
    CHECK_ERROR("\xaa"
                "A: b\xc2\x9b\xe2\x80\xae"
                "c",
                "A", "b  c");
    CHECK_ERROR("\x92\xa3"
                "A\x1b[\xa1"
                "b",
                "", "A [: b");
    CHECK_ERROR("\xa5"
                "A: \x00z",
                "A", " z");
}

/* A str of `len` bytes that begins with `front` and goes on with one character of two bytes. */
static struct span long_text(uint8_t *raw, size_t len, const char *front)
{
    size_t n = strlen(front);
    raw[0] = 0xda;
    raw[1] = (uint8_t)(len >> 8);
    raw[2] = (uint8_t)len;
    memcpy(raw + 3, front, n);
    for (size_t i = n; i < len; i++)
        raw[3 + i] = (i - n) % 2 == 0 ? 0xc3 : 0xa9;
    return span_of(raw, 3 + len);
}

TEST(long_texts_are_cut_between_characters)
{
    struct error_value said;
    uint8_t raw[3 + 2000];
    error_value_read(long_text(raw, 2000, ""), &said);
    assert_int_equal(strlen(said.text), ERROR_TEXT_MAX - 1);
    error_value_read(long_text(raw, 2000, "A: b"), &said);
    assert_string_equal(said.code, "A");
    assert_int_equal(strlen(said.text), ERROR_TEXT_MAX);
}

TEST(a_name_that_is_no_code_cannot_overrun)
{
    struct error_value said;
    uint8_t raw[1 + 2 * (3 + 2000)] = {0x92};
    struct span first = long_text(raw + 1, 2000, "low");
    struct span second = long_text(raw + 1 + first.len, 2000, "full");
    error_value_read(span_of(raw, 1 + first.len + second.len), &said);
    assert_string_equal(said.code, "");
    assert_in_range(strlen(said.text), ERROR_TEXT_MAX - 1, ERROR_TEXT_MAX);
}

/* The longest name that a response can carry is read back. */
TEST(what_is_written_is_read)
{
    static const char name[] = "A_NAME_OF_THIRTY_TWO_CHARACTERS_";
    uint8_t id = 7;
    _Static_assert(sizeof name - 1 == ERROR_NAME_MAX, "the longest");
    for (int shape = ERROR_SHAPE_TEXT; shape <= ERROR_SHAPE_MAP; shape++) {
        uint8_t bytes[256];
        struct error_answer answer = {ERGON_E_FAILED, span_text(name), span_text("no room: 5")};
        uint8_t *end = enc_error_response(bytes, sizeof bytes, span_of(&id, 1),
                                          (enum error_shape)shape, &answer);
        check(span_of(bytes + 3, (size_t)(end - bytes) - 4), name, "no room: 5");
    }
}

TEST(a_code_is_of_capitals_digits_and_underscores)
{
    assert_true(error_code_valid(span_text("NO_SPACE")));
    assert_true(error_code_valid(span_text("_1")));
    assert_true(error_code_valid(span_text("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345")));
    assert_false(error_code_valid(span_text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456")));
    assert_false(error_code_valid(span_text("")));
    assert_false(error_code_valid(span_text("1")));
    assert_false(error_code_valid(span_text("A:")));
    assert_false(error_code_valid(span_text("a")));
}
