/* Bytes written as people read them: "94 00 01 a4 'echo'".  For tests only. */
#ifndef ERGON_TESTS_UNIT_PROTO_HEX_H
#define ERGON_TESTS_UNIT_PROTO_HEX_H

#include "base/span.h"

#include <assert.h>
#include <stdlib.h>

enum { HEX_MAX = 512 }; /* bytes */

struct hex {
    uint8_t at[HEX_MAX];
    size_t len;
};

/* Hex digits in pairs, blanks between them as one likes, 'text' between single quotes. */
static inline struct hex hex(const char *text)
{
    struct hex h = {.len = 0};

    while (*text != '\0') {
        assert(h.len < HEX_MAX);
        if (*text == ' ') {
            text++;
        } else if (*text == '\'') {
            for (text++; *text != '\''; text++)
                h.at[h.len++] = (uint8_t)*text;
            text++;
        } else {
            h.at[h.len++] = (uint8_t)strtoul((char[]){text[0], text[1], 0}, NULL, 16);
            text += 2;
        }
    }
    return h;
}

static inline struct span hex_span(const struct hex *h)
{
    return span_of(h->at, h->len);
}

#endif
