/* Text protocols: lines that end in CRLF, and numbers in them. */
#ifndef ERGON_PEERS_LINE_H
#define ERGON_PEERS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length of the line, CRLF included; 0: it is not here whole. */
static inline size_t line_size(const char *at, size_t n)
{
    const char *end = memchr(at, '\n', n);

    return end ? (size_t)(end + 1 - at) : 0;
}

static inline bool line_starts(const char *at, size_t n, const char *with)
{
    size_t len = strlen(with);

    return n >= len && memcmp(at, with, len) == 0;
}

/* The number in digits at `at`; a line ends it. */
static inline size_t line_number(const char *at)
{
    size_t v = 0;

    while (*at >= '0' && *at <= '9')
        v = v * 10 + (size_t)(*at++ - '0');
    return v;
}

/* The number that ends the line of `size` bytes. */
static inline size_t line_last_number(const char *at, size_t size)
{
    const char *digit = at + size - 2; /* CRLF */

    while (digit > at && digit[-1] >= '0' && digit[-1] <= '9')
        digit--;
    return line_number(digit);
}

/* Writes digits and gives their number. */
static inline size_t line_put_number(char *to, size_t v)
{
    char digits[24];
    size_t n = 0;

    do
        digits[sizeof digits - ++n] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    memcpy(to, digits + sizeof digits - n, n);
    return n;
}

static inline size_t line_put(char *to, const char *text)
{
    size_t len = strlen(text);

    memcpy(to, text, len);
    return len;
}

#endif
