/* Tasks that Ergon keeps: [0, slot, "task.submit", [method, [payload], {options}]] answered by
 * [1, slot, nil, {"id": ..., ...}], in any order. */
#include "tests/bench/peers/common/pack.h"
#include "tests/bench/peers/driver/protocol.h"

static size_t head(const struct shape *s, struct place p, char *to)
{
    size_t n = 0;

    to[n++] = (char)0x94;
    to[n++] = 0;
    n += pack_u32(to + n, p.slot);
    n += pack_str(to + n, "task.submit");
    to[n++] = (char)0x93;
    n += pack_str(to + n, s->method);
    to[n++] = (char)0x91;
    return n + pack_bytes(to + n, 0xc4, s->payload);
}

/* A key or a value of the answer: text, bytes, an unsigned integer, a boolean or nil.  NULL: it is
 * not here whole; *wrong: it is another. */
static const char *skip(const char *at, const char *end, bool *wrong)
{
    uint64_t v;

    if (at == end)
        return NULL;
    if ((unsigned char)*at == 0xc0 || ((unsigned char)*at & 0xfe) == 0xc2)
        return at + 1;
    size_t size = unpack_bytes_size(at, end);
    if (size > 0)
        return size <= (size_t)(end - at) ? at + size : NULL;
    if (((unsigned char)*at & 0xe0) == 0xa0 || (unsigned char)(*at - 0xc4) < 3 ||
        (unsigned char)(*at - 0xd9) < 3)
        return NULL;
    if (unpack_uint(&at, end, &v))
        return at;
    *wrong = at == NULL;
    return NULL;
}

static enum answer_kind parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    enum { FEW = 2 + 5 + 1 + 1 }; /* so many are needed for the head; no answer has fewer */
    const char *end = at + n, *now = at + 2;
    bool wrong = false;
    uint64_t slot;

    (void)s;
    if (n < FEW)
        return ANSWER_PARTIAL;
    if ((unsigned char)at[0] != 0x94 || at[1] != 1 || !unpack_uint(&now, end, &slot) ||
        (unsigned char)*now++ != 0xc0 || ((unsigned char)*now & 0xf0) != 0x80)
        return ANSWER_WRONG;
    for (int left = 2 * (*now++ & 0x0f); left > 0 && now; left--)
        now = skip(now, end, &wrong);
    if (!now)
        return wrong ? ANSWER_WRONG : ANSWER_PARTIAL;
    a->size = (size_t)(now - at);
    a->slot = (uint32_t)slot;
    return ANSWER_TASK;
}

const struct protocol protocol_submit = {
    .name = "submit",
    .task = "task.submit",
    .method = "echo",
    .head = head,
    .tail = "\x80",
    .parse = parse,
};

const struct protocol protocol_submit_fsync = {
    .name = "submit-fsync",
    .task = "task.submit with durable: fsync",
    .method = "echo",
    .head = head,
    .tail = "\x81\xa7"
            "durable"
            "\xa5"
            "fsync",
    .parse = parse,
};
