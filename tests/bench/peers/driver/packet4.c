/* Erlang's {packet, 4}: length and payload, sent back as they came; or a number for the gen_server
 * of a key. */
#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/keys.h"
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

/* --- A number to add to that of a key: [slot, number, key], answered by [slot, sum] --- */

enum { SLOT = 4, NUMBER = 4, SUM = 8 };

static void add(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);

    be32_put(to, SLOT + NUMBER + KEY_LENGTH);
    be32_put(to + LENGTH, r->slot);
    be32_put(to + LENGTH + SLOT, 1);
    key_put(to + LENGTH + SLOT + NUMBER, r);
    outgoing_wrote(out, LENGTH + SLOT + NUMBER + KEY_LENGTH);
}

static enum answer_kind parse_sum(const void *work, struct scanner *scanner, const char *at,
                                  size_t n, struct answer *a)
{
    if (n < LENGTH + SLOT)
        return ANSWER_PARTIAL;
    a->size = LENGTH + (size_t)be32_get(at);
    a->slot = be32_get(at + LENGTH);
    return a->size == LENGTH + SLOT + SUM ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_packet4_add = {
    .name = "{packet, 4}",
    .request = add,
    .parse = parse_sum,
};
