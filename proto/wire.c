#include "proto/wire.h"

#define SIZED(kind, width) (WIRE_SIZED | (kind) | (width))

/* Eight short strings, each a byte longer than the one before. */
#define EIGHT(b, n)                                                                                \
    [b] = n, [b + 1] = n + 1, [b + 2] = n + 2, [b + 3] = n + 3, [b + 4] = n + 4, [b + 5] = n + 5,  \
    [b + 6] = n + 6, [b + 7] = n + 7

const uint8_t wire_hints[256] = {
    [0x00 ... 0x7f] = 1,
    [0x80 ... 0x8f] = SIZED(WIRE_MAP, WIRE_IN_BYTE),
    [0x90 ... 0x9f] = SIZED(WIRE_ARRAY, WIRE_IN_BYTE),
    EIGHT(0xa0, 1),
    EIGHT(0xa8, 9),
    EIGHT(0xb0, 17),
    EIGHT(0xb8, 25),
    [0xc0] = 1,
    [0xc1] = WIRE_BAD,
    [0xc2] = 1,
    [0xc3] = 1,
    [0xc4] = SIZED(WIRE_BYTES, WIRE_NEXT_8),
    [0xc5] = SIZED(WIRE_BYTES, WIRE_NEXT_16),
    [0xc6] = SIZED(WIRE_BYTES, WIRE_NEXT_32),
    [0xc7] = SIZED(WIRE_EXT, WIRE_NEXT_8),
    [0xc8] = SIZED(WIRE_EXT, WIRE_NEXT_16),
    [0xc9] = SIZED(WIRE_EXT, WIRE_NEXT_32),
    [0xca] = 5, /* float */
    [0xcb] = 9,
    [0xcc] = 2, /* uint8 ... uint64 */
    [0xcd] = 3,
    [0xce] = 5,
    [0xcf] = 9,
    [0xd0] = 2, /* int8 ... int64 */
    [0xd1] = 3,
    [0xd2] = 5,
    [0xd3] = 9,
    [0xd4] = 3, /* fixext1 ... fixext16: type byte and body */
    [0xd5] = 4,
    [0xd6] = 6,
    [0xd7] = 10,
    [0xd8] = 18,
    [0xd9] = SIZED(WIRE_BYTES, WIRE_NEXT_8),
    [0xda] = SIZED(WIRE_BYTES, WIRE_NEXT_16),
    [0xdb] = SIZED(WIRE_BYTES, WIRE_NEXT_32),
    [0xdc] = SIZED(WIRE_ARRAY, WIRE_NEXT_16),
    [0xdd] = SIZED(WIRE_ARRAY, WIRE_NEXT_32),
    [0xde] = SIZED(WIRE_MAP, WIRE_NEXT_16),
    [0xdf] = SIZED(WIRE_MAP, WIRE_NEXT_32),
    [0xe0 ... 0xff] = 1,
};
