/* MessagePack-RPC: [0, slot, method, [payload]] answered by [1, slot, nil, payload], in any order.
 */
#include "tests/bench/peers/common/pack.h"
#include "tests/bench/peers/driver/protocol.h"

static size_t head(const struct shape *s, struct place p, char *to)
{
    size_t n = 0;

    to[n++] = (char)0x94;
    to[n++] = 0;
    n += pack_u32(to + n, p.slot);
    n += pack_str(to + n, s->method);
    to[n++] = (char)0x91;
    return n + pack_bytes(to + n, 0xc4, s->payload);
}

static enum answer_kind parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    enum {
        FEW = 2 + 5 + 1 + 5
    }; /* with so many bytes everything can be told; no answer has fewer */
    const char *end = at + n, *now = at + 2;
    uint64_t slot;

    (void)s;
    if (n < FEW)
        return ANSWER_PARTIAL;
    if ((unsigned char)at[0] != 0x94 || at[1] != 1 || !unpack_uint(&now, end, &slot))
        return ANSWER_WRONG;
    if ((unsigned char)*now++ != 0xc0)
        return ANSWER_WRONG;
    size_t size = unpack_bytes_size(now, end);
    if (size == 0)
        return ANSWER_WRONG;
    a->size = (size_t)(now - at) + size;
    a->slot = (uint32_t)slot;
    return ANSWER_TASK;
}

const struct protocol protocol_msgpack_rpc = {
    .name = "msgpack-rpc",
    .task = "call of a method that gives back its parameter",
    .method = "echo",
    .head = head,
    .tail = "",
    .parse = parse,
};
