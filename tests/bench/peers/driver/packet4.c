/* Erlang's {packet, 4}: length and payload, sent back as they came. */
#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/protocol.h"

enum { LENGTH = 4 };

static size_t head(const struct shape *s, struct place p, char *to)
{
    (void)p;
    be32_put(to, (uint32_t)s->payload);
    return LENGTH;
}

static enum answer_kind parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    if (n < LENGTH)
        return ANSWER_PARTIAL;
    a->size = LENGTH + (size_t)be32_get(at);
    return a->size == LENGTH + s->payload ? ANSWER_TASK : ANSWER_WRONG;
}

const struct protocol protocol_packet4 = {
    .name = "packet4",
    .task = "echo of a packet",
    .method = "",
    .ordered = true,
    .head = head,
    .tail = "",
    .parse = parse,
};
