/* The little of MessagePack that two protocols need: each function gives the length. */
#ifndef ERGON_PEERS_PACK_H
#define ERGON_PEERS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tests/bench/peers/common/socket.h"

/* A string of at most 255 bytes. */
static inline size_t pack_str(char *to, const char *s)
{
    size_t len = strlen(s);

    if (len < 32) {
        to[0] = (char)(0xa0 | len);
        memcpy(to + 1, s, len);
        return 1 + len;
    }
    to[0] = (char)0xd9;
    to[1] = (char)len;
    memcpy(to + 2, s, len);
    return 2 + len;
}

static inline size_t pack_u32(char *to, uint32_t v)
{
    to[0] = (char)0xce;
    be32_put(to + 1, v);
    return 5;
}

/* The header of so many bytes, as `bin` where first is 0xc4, as `str` where it is 0xd9. */
static inline size_t pack_bytes(char *to, unsigned char first, size_t len)
{
    if (len < 0x100) {
        to[0] = (char)first;
        to[1] = (char)len;
        return 2;
    }
    if (len < 0x10000) {
        to[0] = (char)(first + 1);
        be16_put(to + 1, (uint16_t)len);
        return 3;
    }
    to[0] = (char)(first + 2);
    be32_put(to + 1, (uint32_t)len);
    return 5;
}

/* Reads an unsigned integer at *at, below end.  False: it is not here whole, or is none; then *at
 * is NULL if none. */
static inline bool unpack_uint(const char **at, const char *end, uint64_t *v)
{
    unsigned char first = (unsigned char)**at;
    size_t len = first < 0x80                     ? 0
                 : first >= 0xcc && first <= 0xcf ? (size_t)1 << (first - 0xcc)
                                                  : 9;

    if (len == 9)
        return *at = NULL, false;
    if ((size_t)(end - *at) < 1 + len)
        return false;
    *v = len == 0 ? first : 0;
    for (size_t i = 1; i <= len; i++)
        *v = *v << 8 | (unsigned char)(*at)[i];
    *at += 1 + len;
    return true;
}

/* The whole length of the string or bytes at `at`.  0: the header is not here, or it is none of
 * them. */
static inline size_t unpack_bytes_size(const char *at, const char *end)
{
    size_t n = (size_t)(end - at);
    unsigned char first = n > 0 ? (unsigned char)*at : 0;

    if ((first & 0xe0) == 0xa0)
        return (size_t)1 + (first & 0x1f);
    if ((first == 0xc4 || first == 0xd9) && n >= 2)
        return (size_t)2 + (unsigned char)at[1];
    if ((first == 0xc5 || first == 0xda) && n >= 3)
        return (size_t)3 + be16_get(at + 1);
    if ((first == 0xc6 || first == 0xdb) && n >= 5)
        return (size_t)5 + be32_get(at + 1);
    return 0;
}

#endif
