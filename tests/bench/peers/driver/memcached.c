/* memcached: "mg k v" of a value as long as the payload, which each connection stores first.  The
 * request carries no payload: it is less work than an echo. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

static size_t hello(const struct shape *s, uint32_t connection, char *to)
{
    size_t n = line_put(to, "set k 0 0 ");

    (void)connection;
    n += line_put_number(to + n, s->payload);
    return n + line_put(to + n, "\r\n");
}

static size_t head(const struct shape *s, struct place p, char *to)
{
    (void)s;
    (void)p;
    return line_put(to, "mg k v\r\n");
}

static enum answer_kind parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    size_t line = line_size(at, n);

    (void)s;
    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line;
    if (line_starts(at, n, "STORED"))
        return ANSWER_NONE;
    if (!line_starts(at, n, "VA "))
        return ANSWER_WRONG;
    a->size += line_number(at + strlen("VA ")) + 2;
    return ANSWER_TASK;
}

const struct protocol protocol_memcached = {
    .name = "memcached",
    .task = "mg k v: the answer carries the payload, the request does not",
    .method = "",
    .ordered = true,
    .bare = true,
    .hello = hello,
    .hello_payload = true,
    .head = head,
    .tail = "",
    .parse = parse,
};
