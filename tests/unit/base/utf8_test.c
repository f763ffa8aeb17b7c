#include "base/utf8.h"
#include "tests/support/cmocka_env.h"

#define INSTEAD "\xef\xbf\xbd"

TEST(what_is_utf8_stays)
{
    static const char *const good[] = {"",
                                       "plain",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "Größe 5 €"};
    char out[32];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct span text = span_text(good[i]);
        assert_true(utf8_valid(text));
        assert_int_equal(utf8_clean(out, sizeof out, text), text.len);
        assert_memory_equal(out, good[i], text.len);
    }
    assert_true(utf8_valid(span_of("a\0b", 3)));
}

TEST(what_is_none_is_replaced)
{
    static const struct {
        const char *text, *clean;
    } bad[] = {
        {"\x80", INSTEAD},
        {"\xff", INSTEAD},
        {"caf\xe9", "caf" INSTEAD},                /* Latin-1 */
        {"a\xe9z", "a" INSTEAD "z"},               /* what follows is kept */
        {"\xc0\xaf", INSTEAD INSTEAD},             /* could be said shorter */
        {"\xe0\x9f\xbf", INSTEAD INSTEAD INSTEAD}, /* the same */
        {"\xf0\x8f\xbf\xbf", INSTEAD INSTEAD INSTEAD INSTEAD},
        {"\xed\xa0\x80", INSTEAD INSTEAD INSTEAD},             /* a surrogate */
        {"\xf4\x90\x80\x80", INSTEAD INSTEAD INSTEAD INSTEAD}, /* beyond U+10FFFF */
        {"\xe2\x82", INSTEAD INSTEAD},                         /* torn */
    };
    char out[32];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct span text = span_text(bad[i].text);
        assert_false(utf8_valid(text));
        size_t len = utf8_clean(out, sizeof out, text);
        assert_int_equal(len, strlen(bad[i].clean));
        assert_memory_equal(out, bad[i].clean, len);
        assert_true(utf8_valid(span_of(out, len)));
    }
}

TEST(what_a_database_does_not_keep)
{
    char out[8];
    assert_true(utf8_is_name(span_text("caf\xc3\xa9"), 5));
    assert_false(utf8_is_name(span_text("caf\xc3\xa9"), 4));
    assert_false(utf8_is_name(span_text("caf\xe9"), 5));
    assert_false(utf8_is_name(span_text(""), 5));
    assert_false(utf8_is_name(span_of("a\0", 2), 5));
    assert_int_equal(utf8_text(out, sizeof out, span_of("\0a\nb\0\xff", 6)), 8);
    assert_memory_equal(out, " a\nb " INSTEAD, 8);
    assert_int_equal(utf8_clean(out, sizeof out, span_of("a\0b", 3)), 3);
    assert_memory_equal(out, "a\0b", 3);
}

TEST(a_cut_is_between_characters)
{
    char out[8];
    assert_int_equal(utf8_clean(out, 8, span_text("€€€")), 6);
    assert_int_equal(utf8_clean(out, 5, span_text("ab\xff\xff")), 5);
    assert_int_equal(utf8_clean(out, 4, span_text("ab\xff\xff")), 2);
    assert_int_equal(utf8_clean(out, 0, span_text("a")), 0);
}

static bool steers(const char *character)
{
    return utf8_steers(span_text(character));
}

TEST(what_steers_a_terminal_or_turns_text)
{
    static const char *const those[] = {
        "\x01",         "\x1b",         "\n",           "\x7f",         "\xc2\x80",
        "\xc2\x9b",     "\xc2\x9f",     "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f",
        "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
    static const char *const others[] = {" ",
                                         "~",
                                         "a",
                                         "\xc2\xa0",
                                         "\xc3\xa9",
                                         "\xd8\x9b",
                                         "\xd8\x9d",
                                         "\xd7\x90",
                                         "\xe2\x80\x8d",
                                         "\xe2\x80\x90",
                                         "\xe2\x80\xa7",
                                         "\xe2\x80\xaf",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80"};

    for (size_t i = 0; i < sizeof those / sizeof *those; i++)
        assert_true(steers(those[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(steers(others[i]));
}

TEST(code_points)
{
    assert_int_equal(utf8_code(span_text("a")), 'a');
    assert_int_equal(utf8_code(span_text("\xc3\xa9")), 0xe9);
    assert_int_equal(utf8_code(span_text("\xe2\x82\xac")), 0x20ac);
    assert_int_equal(utf8_code(span_text("\xf0\x9f\x98\x80")), 0x1f600);
}

TEST(plain_text_steers_nothing)
{
    char out[64];
    size_t len = utf8_plain(out, sizeof out,
                            span_text("a\x1b[31m\xc2\x9b\xe2\x80\xae"
                                      "b\xff\n€"));

    assert_int_equal(len, strlen("a [31m  b" INSTEAD " €"));
    assert_memory_equal(out, "a [31m  b" INSTEAD " €", len);
}

TEST(a_tail_tears_no_character)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac";
    static const size_t kept[] = {0, 0, 0, 3, 3, 5, 6, 6};
    for (size_t max = 0; max < sizeof kept / sizeof *kept; max++) {
        struct span tail = utf8_tail(span_text(text), max);
        assert_int_equal(tail.len, kept[max]);
        assert_true(utf8_valid(tail));
        assert_ptr_equal(tail.at + tail.len, text + strlen(text));
    }
}

TEST(a_cut_tears_no_character)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"; /* 1, 2, 3, 4 bytes */
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < sizeof kept / sizeof *kept; max++) {
        struct span cut = utf8_cut(span_text(text), max);
        assert_int_equal(cut.len, kept[max]);
        assert_true(utf8_valid(cut));
    }
}

TEST(lines_of_others_steer_nothing_and_keep_their_end)
{
    uint8_t out[12];
    size_t len = utf8_plain_end(out, sizeof out, span_text("a\tb\n\x1b[0m\r\n"));
    assert_memory_equal(out, "a\tb\n [0m \n", len);
    assert_int_equal(len, 10);
    len = utf8_plain_end(out, sizeof out,
                         span_text("begin\xc3\xa4"
                                   "23456789012"));
    assert_int_equal(len, 11); /* half of a character does not count */
    assert_memory_equal(out, "23456789012", len);
    len = utf8_plain_end(out, sizeof out,
                         span_text("begin\xff\xff\xff"
                                   "a"));
    assert_memory_equal(out, INSTEAD INSTEAD INSTEAD, len - 1);
    assert_int_equal(out[len - 1], 'a');
}
