/* Hexadecimal digits: what is written, and what is read. */
#include "base/hex.h"
#include "tests/support/cmocka_env.h"

#include <string.h>
TEST(bytes_are_written_as_two_digits_each)
{
    static const uint8_t bytes[] = {0x00, 0x9f, 0xa0, 0xff};
    char text[9] = "........";
    hex_write(bytes, sizeof bytes, text);
    assert_string_equal(text, "009fa0ff");
}

TEST(what_was_written_is_read_as_the_same)
{
    for (unsigned n = 0; n < 256; n++) {
        uint8_t byte = (uint8_t)n, read = (uint8_t)~n;
        char text[2];
        hex_write(&byte, 1, text);
        assert_true(hex_read((const uint8_t *)text, &read, 1));
        assert_int_equal(read, n);
    }
}

TEST(nothing_but_lower_case_digits_is_read)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned n = 0; n < 256; n++) {
        uint8_t byte, first[2] = {(uint8_t)n, '0'}, second[2] = {'0', (uint8_t)n};
        bool is_digit = n != 0 && strchr(digits, (int)n) != NULL;
        assert_int_equal(hex_read(first, &byte, 1), is_digit);
        assert_int_equal(hex_read(second, &byte, 1), is_digit);
    }
}
