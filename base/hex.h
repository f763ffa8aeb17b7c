/* Bytes as lower-case hexadecimal digits, two a byte.  Pure; any thread. */
#ifndef ERGON_BASE_HEX_H
#define ERGON_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes 2 * len characters, without an end. */
static inline void hex_write(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

/* -1: it is none, or an upper-case one. */
static inline int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads `len` bytes from 2 * len characters.  False: one of them is neither a digit nor a letter
 * from a to f in lower case; the bytes read before it stay in `out`. */
static inline bool hex_read(const uint8_t *text, uint8_t *out, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

#endif
