/* Erlang's {packet, 4}: length and payload, sent back as they came. */
#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/protocol.h"

enum { LENGTH = 4 };

static void request(const struct request *r, struct outgoing *out)
{
    be32_put(outgoing_at(out), (uint32_t)r->payload.len);
    protocol_add(out, LENGTH, r->payload, "");
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    const struct shape *s = work;

    if (n < LENGTH)
        return ANSWER_PARTIAL;
    a->size = LENGTH + (size_t)be32_get(at);
    return a->size == LENGTH + s->payload ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_packet4 = {
    .name = "{packet, 4}",
    .ordered = true,
    .request = request,
    .parse = parse,
};
