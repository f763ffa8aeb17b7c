/* memcached: "mg k v" of a value as long as the payload, which each connection stores first.  The
 * request carries no payload: it is less work than an echo. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

static void hello(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "set k 0 0 ");

    n += line_put_number(to + n, r->payload.len);
    protocol_add(out, n + line_put(to + n, "\r\n"), r->payload, "\r\n");
}

static void request(const struct request *r, struct outgoing *out)
{
    outgoing_wrote(out, line_put(outgoing_at(out), "mg k v\r\n"));
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line;
    if (line_starts(at, n, "STORED"))
        return ANSWER_NONE;
    if (!line_starts(at, n, "VA "))
        return ANSWER_WRONG;
    a->size += line_number(at + strlen("VA ")) + 2;
    return ANSWER_GOOD;
}

const struct protocol protocol_memcached = {
    .name = "memcached",
    .ordered = true,
    .hello = hello,
    .request = request,
    .parse = parse,
};
