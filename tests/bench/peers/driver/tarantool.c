/* Tarantool's iproto: CALL of a procedure, {code, sync} {name, arguments}; the sync number comes
 * back. */
#include "tests/bench/peers/common/pack.h"
#include "tests/bench/peers/driver/protocol.h"

enum {
    KEY_CODE = 0x00,
    KEY_SYNC = 0x01,
    KEY_ARGUMENTS = 0x21,
    KEY_FUNCTION = 0x22,
    CODE_CALL = 0x0a,
    MAP_OF_TWO = 0x82,
    GREETING = 128,
    LENGTH = 5, /* 0xce and four bytes */
};

static void request(const struct request *r, struct outgoing *out)
{
    const struct shape *s = r->work;
    char *to = outgoing_at(out);
    size_t n = LENGTH;

    to[n++] = (char)MAP_OF_TWO;
    to[n++] = KEY_CODE;
    to[n++] = CODE_CALL;
    to[n++] = KEY_SYNC;
    n += pack_u32(to + n, r->slot);
    to[n++] = (char)MAP_OF_TWO;
    to[n++] = KEY_FUNCTION;
    n += pack_str(to + n, s->method);
    to[n++] = KEY_ARGUMENTS;
    to[n++] = (char)0x91;
    n += pack_bytes(to + n, 0xd9, r->payload.len);
    pack_u32(to, (uint32_t)(n - LENGTH + r->payload.len));
    protocol_add(out, n, r->payload, "");
}

/* The header, a map of small keys to integers. */
static enum answer_kind header(const char *at, const char *end, struct answer *a)
{
    uint64_t code = 1, value;
    int pairs = (unsigned char)*at++ & 0x0f;

    while (pairs-- > 0) {
        if (end - at < 2)
            return ANSWER_PARTIAL;
        char key = *at++;
        if (!unpack_uint(&at, end, &value))
            return at ? ANSWER_PARTIAL : ANSWER_WRONG;
        if (key == KEY_CODE)
            code = value;
        else if (key == KEY_SYNC)
            a->slot = (uint32_t)value;
    }
    return code == 0 ? ANSWER_GOOD : ANSWER_WRONG;
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    if (n < LENGTH + 1)
        return ANSWER_PARTIAL;
    if ((unsigned char)at[0] != 0xce)
        return ANSWER_WRONG;
    a->size = LENGTH + (size_t)be32_get(at + 1);
    return header(at + LENGTH, at + n, a);
}

const struct protocol protocol_tarantool = {
    .name = "Tarantool",
    .greeting = GREETING,
    .request = request,
    .parse = parse,
};
