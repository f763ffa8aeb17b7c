/* How a MessagePack value starts, and what its first bytes say.  For the files of proto/
 * only.  Pure; any thread. */
#ifndef ERGON_PROTO_WIRE_H
#define ERGON_PROTO_WIRE_H

#include "base/span.h"

#include <endian.h>

enum wire_byte {
    WIRE_FIXMAP = 0x80,
    WIRE_FIXARRAY = 0x90,
    WIRE_FIXSTR = 0xa0,
    WIRE_NIL = 0xc0,
    WIRE_FALSE = 0xc2,
    WIRE_TRUE = 0xc3,
    WIRE_BIN8 = 0xc4,
    WIRE_BIN16 = 0xc5,
    WIRE_BIN32 = 0xc6,
    WIRE_EXT8 = 0xc7,
    WIRE_EXT32 = 0xc9,
    WIRE_FLOAT = 0xca,
    WIRE_DOUBLE = 0xcb,
    WIRE_UINT8 = 0xcc,
    WIRE_UINT16 = 0xcd,
    WIRE_UINT32 = 0xce,
    WIRE_UINT64 = 0xcf,
    WIRE_INT8 = 0xd0,
    WIRE_INT16 = 0xd1,
    WIRE_INT32 = 0xd2,
    WIRE_INT64 = 0xd3,
    WIRE_FIXEXT1 = 0xd4,
    WIRE_FIXEXT16 = 0xd8,
    WIRE_STR8 = 0xd9,
    WIRE_STR16 = 0xda,
    WIRE_STR32 = 0xdb,
    WIRE_ARRAY16 = 0xdc,
    WIRE_ARRAY32 = 0xdd,
    WIRE_MAP16 = 0xde,
    WIRE_MAP32 = 0xdf,
    WIRE_NEGATIVE = 0xe0 /* negative fixint, to 0xff */
};

/* What the first byte says.  WIRE_BAD: 0xc1.  Below WIRE_SIZED: length of the whole value.
 * Otherwise WIRE_SIZED, one kind, and one width: where the length or the count stands. */
enum wire_hint {
    WIRE_BAD = 0,
    WIRE_SIZED = 0x80,
    WIRE_KIND = 0x0c, /* mask */
    WIRE_BYTES = 0x00,
    WIRE_EXT = 0x04,
    WIRE_ARRAY = 0x08,
    WIRE_MAP = 0x0c,
    WIRE_WIDTH = 0x03, /* mask */
    WIRE_IN_BYTE = 0,  /* the low four bits of the first byte */
    WIRE_NEXT_8 = 1,
    WIRE_NEXT_16 = 2,
    WIRE_NEXT_32 = 3
};

extern const uint8_t wire_hints[256];

static inline uint16_t wire_load16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return be16toh(v);
}

static inline uint32_t wire_load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return be32toh(v);
}

static inline uint64_t wire_load64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return be64toh(v);
}

/* Bytes of a header of this hint. */
static inline uint32_t wire_head_size(uint8_t hint)
{
    uint32_t width = hint & WIRE_WIDTH;

    return hint < WIRE_SIZED ? 1 : width < WIRE_NEXT_32 ? width + 1 : 5;
}

/* The length or count in a header that is all there; hint >= WIRE_SIZED. */
static inline uint32_t wire_head_length(const uint8_t *p, uint8_t hint)
{
    switch (hint & WIRE_WIDTH) {
    case WIRE_IN_BYTE:
        return *p & 0x0f;
    case WIRE_NEXT_8:
        return p[1];
    case WIRE_NEXT_16:
        return wire_load16(p + 1);
    default:
        return wire_load32(p + 1);
    }
}

struct wire_head {
    uint32_t size;  /* bytes of the header */
    uint64_t body;  /* bytes behind it that belong to this element */
    uint64_t count; /* elements behind it that belong to this element */
};

/* Reads the rest of a header: h->size bytes stand at p. */
static inline void wire_head_read(const uint8_t *p, uint8_t hint, struct wire_head *h)
{
    h->body = 0;
    h->count = 0;
    if (hint < WIRE_SIZED) {
        h->body = hint - 1u;
        return;
    }
    uint64_t length = wire_head_length(p, hint);
    switch (hint & WIRE_KIND) {
    case WIRE_BYTES:
        h->body = length;
        return;
    case WIRE_EXT: /* its type byte counts to the body */
        h->body = length + 1;
        return;
    case WIRE_ARRAY:
        h->count = length;
        return;
    default:
        h->count = 2 * length;
    }
}

/* One element at the front of `bytes`: its header, and true when all of header and body is there.
 */
static inline bool wire_element(struct span bytes, struct wire_head *h)
{
    if (bytes.len == 0)
        return false;
    uint8_t hint = wire_hints[*bytes.at];
    h->size = wire_head_size(hint);
    if (hint == WIRE_BAD || bytes.len < h->size)
        return false;
    wire_head_read(bytes.at, hint, h);
    return bytes.len - h->size >= h->body;
}

#endif
