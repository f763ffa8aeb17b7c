/* Tasks that Ergon keeps: [0, slot, "task.submit", [method, [payload], {options}]] answered by
 * [1, slot, nil, {"id": ..., ...}], in any order. */
#include "client/bench/rpc.h"
#include "tests/bench/peers/common/pack.h"
#include "tests/bench/peers/driver/protocol.h"

static void add(const struct request *r, struct outgoing *out, const char *options)
{
    const struct shape *s = r->work;
    char *to = outgoing_at(out);
    size_t n = 0;

    to[n++] = (char)0x94;
    to[n++] = 0;
    n += pack_u32(to + n, r->slot);
    n += pack_str(to + n, "task.submit");
    to[n++] = (char)0x93;
    n += pack_str(to + n, s->method);
    to[n++] = (char)0x91;
    protocol_add(out, n + pack_bytes(to + n, 0xc4, r->payload.len), r->payload, options);
}

static void submit(const struct request *r, struct outgoing *out)
{
    add(r, out, "\x80");
}

static void submit_fsync(const struct request *r, struct outgoing *out)
{
    add(r, out,
        "\x81\xa7"
        "durable"
        "\xa5"
        "fsync");
}

const struct protocol protocol_submit = {
    .name = "MessagePack-RPC",
    .request = submit,
    .parse = rpc_parse,
};

const struct protocol protocol_submit_fsync = {
    .name = "MessagePack-RPC",
    .request = submit_fsync,
    .parse = rpc_parse,
};
